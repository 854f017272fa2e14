"""Result files with anything changed in them: an error of ours, or output in which nothing but text is theirs."""

from __future__ import annotations

import copy
import gzip
import json
import re
import unicodedata
from functools import lru_cache

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_runs import cell, run, vendors

from portagpu.bench.records.cell import Role, Status
from portagpu.bench.records.files import save
from portagpu.bench.records.workload import Unit
from portagpu.cli import cli
from portagpu.errors import PortaGPUError
from portagpu.report.compiled import FORMAT

pytestmark = pytest.mark.one_device

HOSTILE = (
    "<script>window.x=1</script>",
    "</script><img src=x onerror=a()>",
    "</style></noscript><!--",
    "\x1b[31mred\x1b[0m\x1b]0;title\x07\x9b2J",
    "a|b\n| c | d |\r\n# h",
    "[x](javascript:a)",
    "=cmd|'/C calc'!A0",
    "@SUM(1)",
    "+1",
    "\t=1",
    "$\\frac{1}{0}$",
    "__proto__",
    "../../etc/passwd",
    "\u202e\u2066\u200b\u2028\ufeff",
    "\ud800",
    "${7*7}<% x %>",
    "%s%n{0}{x!r}",
    "x" * 3999,
    "x" * 5000,
    "\U0001f600" * 50,
    "字" * 100,
    "4² x ٣",  # a digit that int() refuses, and one that it takes
    "\0",
    "",
)
NUMBERS = (0, -1, 1, 2**31, 2**63, 10**30, 10**400, 1e-320, 1e308, -0.0, 1.5, True)
ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.sampled_from(NUMBERS)
    | st.floats()
    | st.text(max_size=30)
    | st.sampled_from(HOSTILE),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(HOSTILE) | st.text(max_size=8), inner),
    max_leaves=6,
)


@lru_cache
def originals(folder):
    """Files of each kind that a report reads, as objects: a run, one of an older version, a check."""
    product = {"flops": 1e9, "nbytes": 1e6}
    roof = {"suite": "roofs", "name": "flops", "size": "peak", "flops": 1e12, "arithmetic": "float32"}
    copied = {"suite": "roofs", "name": "copy", "size": "1 GiB", "nbytes": 2.0**30, "unit": Unit.GBYTES, "flops": None}
    texts = {"tuning": "t", "repeat": "portagpu bench", "kernel": "abc", "stopped": "steady", "joules": 2.0}
    cells = (
        cell(work=product, conditions={"core_clock_mhz": [1, 2, 3], "note": "x"}, first_call=0.5, **texts),
        vendors(2.0, work=product),
        cell(work=product, device=1),
        cell(None, work={**product, "size": "512"}, status=Status.FAILED, reason="for a reason"),
        cell(work=roof, role=Role.ROOF, implementation="probe"),
        cell(work=copied, role=Role.ROOF, implementation="probe"),
    )
    save(folder / "original.json", run(*cells, devices=("One", "Two"), command="portagpu bench -o a.json"))
    old = {"device": "Old", "driver": "1", "dtype": "float32", "size": 512, "memory": "device arrays", "peer": "lib"}
    old |= {"gflops": 50.0, "peer_gflops": 100.0, "error": 0.1, "problem": None}
    figures = {"registers": 96, "spilled": 0, "scratch_bytes": 0, "local_bytes": 16384, "occupancy": 8, "slots": 16}
    one = {"target": "gfx1100", "title": "A product", "compiler": {"name": "clang", "version": "19.1.7"}, "ok": True}
    one |= {"group": "gemm", "case": "gemm 4096", "kernel": "tile", "signature": "(float32[:])", "status": "compiled"}
    problem = {"rule": "spill", "message": "spilled", "file": "/a/kernels.py", "line": 53}
    checks = [
        {**one, "figures": {**figures, "limiter": "registers"}, "problems": [problem]},
        {**one, "target": "sm_90"},
    ]
    return (
        json.loads((folder / "original.json").read_text()),
        {"schema": 1, "machine": {"date": "then"}, "cells": [old]},
        {"format": FORMAT, "version": 1, "results": checks},
    )


def paths(value, before=()):
    """All places of an object of JSON."""
    yield before
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths(inner, (*before, key))


def changed(value, path, act):
    """A copy of which one place is another."""
    if not path:
        return act({"": value}, "").get("")
    made = copy.deepcopy(value)
    holder = made
    for key in path[:-1]:
        holder = holder[key]
    act(holder, path[-1])
    return made


def put(new):
    def act(holder, key):
        holder[key] = new
        return holder

    return act


def leave_out(holder, key):
    del holder[key]
    return holder


def harmless(text):
    kept = text.replace("\n", "")
    return not any(unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for c in kept)


TAGS = re.compile(r"<\s*(script|img|iframe|object|svg|style|link|base|meta|form|a)\b[^>]*>", re.IGNORECASE)


@lru_cache
def tags_of_pages(folder):
    """What every page has: the template's elements."""
    save(folder / "plain.json", run(cell()))
    page = folder / "plain.html"
    invoke([folder / "plain.json", "-o", page])
    return [found[0] for found in TAGS.finditer(page.read_text())]


def invoke(arguments):
    return CliRunner().invoke(cli, ["matrix", *map(str, arguments)])


COMMANDS = ("terminal", "roof", "energy", "html", "md", "csv", "vendor.md", "compare", "compared with", "compare.json")


def arguments_of(command, good, bad, folder):
    if command == "terminal":
        return [bad]
    if command in ("roof", "energy"):
        return [good, bad, "--view", command]
    if command == "compare":
        return ["--compare", good, bad]
    if command == "compared with":
        return ["--compare", bad, good]
    if command == "compare.json":
        return ["--compare", bad, bad, "-o", folder / "compared.json"]
    view = ["--view", "vendor"] if command == "vendor.md" else []
    return [good, bad, *view, "-o", folder / f"out.{command.rpartition('.')[2]}"]


def judge(command, good, bad, folder):
    """Run it, and see that what comes of it is an error of ours or harmless."""
    output = folder / f"out.{command.rpartition('.')[2]}"
    output.unlink(missing_ok=True)
    done = invoke(arguments_of(command, good, bad, folder))
    if isinstance(done.exception, PortaGPUError):
        told = str(done.exception)
        assert harmless(told) and len(told) < 1500, told
        return
    assert done.exception is None or isinstance(done.exception, SystemExit), (command, done.exception)
    assert done.exit_code in (0, 1) and harmless(done.output)
    if not output.exists():
        return
    text = output.read_text()
    if command == "html":
        assert [found[0] for found in TAGS.finditer(text)][3:] == tags_of_pages(folder)[3:]
        data = text.partition('id="data">')[2].partition("</script>")[0]
        json.loads(data, parse_constant=pytest.fail)
    if command == "csv":
        assert not re.search(r'(?:^|,)"?\s*[=@+]', text, re.MULTILINE)
    if command.endswith("md"):
        assert harmless(text) and not re.search(r"(?<!\\)<", text) and "](" not in text.replace("\\](", "")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("mutated")


@pytest.fixture(scope="module")
def good(folder):
    originals(folder)
    return folder / "original.json"


@given(st.data())
@settings(max_examples=120)
def test_any_value_in_any_place(folder, good, data):
    original = data.draw(st.sampled_from(originals(folder)))
    path = data.draw(st.sampled_from(sorted(paths(original), key=str)))
    act = data.draw(st.one_of(ANY.map(put), st.sampled_from(HOSTILE).map(put), st.just(leave_out)))
    made = changed(original, path, act)
    bad = folder / "bad.json"
    bad.write_text(json.dumps(made))
    judge(data.draw(st.sampled_from(COMMANDS)), good, bad, folder)


@given(st.data())
@settings(max_examples=60)
def test_all_texts_hostile_at_once(folder, good, data):
    """Every text that is free is the same: nothing that one of them opens, another closes."""
    text = data.draw(st.sampled_from(HOSTILE) | st.text(max_size=50))
    kept = {"$schema", "kind", "unit", "role", "memory", "status", "caches", "format"}

    def replaced(value, key=""):
        if isinstance(value, dict):
            return {name: replaced(inner, name) for name, inner in value.items()}
        if isinstance(value, list):
            return [replaced(inner, key) for inner in value]
        return text if isinstance(value, str) and key not in kept else value

    bad = folder / "bad.json"
    bad.write_text(json.dumps(replaced(data.draw(st.sampled_from(originals(folder))))))
    judge(data.draw(st.sampled_from(COMMANDS)), good, bad, folder)


@given(st.data())
@settings(max_examples=60)
def test_any_bytes_lost_or_changed(folder, good, data):
    content = bytearray(json.dumps(data.draw(st.sampled_from(originals(folder)))).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        begin = data.draw(st.integers(0, len(content)))
        end = min(len(content), begin + data.draw(st.integers(0, 40)))
        content[begin:end] = data.draw(st.binary(max_size=6))
    bad = folder / "bad.json"
    bad.write_bytes(content)
    judge(data.draw(st.sampled_from(COMMANDS)), good, bad, folder)


def wrapped(original):
    """The same content, or one much like it, in forms that are no JSON of ours."""
    text = json.dumps(original)
    yield "bom", b"\xef\xbb\xbf" + text.encode()
    yield "utf-16", text.encode("utf-16")
    yield "latin-1", text.replace("One", "Fran\xe7ois").replace("gfx1100", "\xe7").encode("latin-1") + b"\xe7"
    yield "gzip", gzip.compress(text.encode())
    yield "twice", (text + text).encode()
    yield "duplicate keys", (text[:-1] + ", " + text[1:]).encode()
    yield "nan", re.sub(r": [0-9.]+", ": NaN", text).encode()
    yield "infinity", re.sub(r": [0-9.]+", ": -Infinity", text).encode()
    yield "huge", re.sub(r": [0-9.]+", ": 1e999", text).encode()
    yield "long number", re.sub(r": [0-9.]+", ": " + "9" * 5000, text).encode()
    yield "deep", (text[:-1] + ', "x": ' + "[" * 90_000 + "]" * 90_000 + "}").encode()
    yield "deep objects", (text[:-1] + ', "x": ' + '{"x":' * 50_000 + "1" + "}" * 50_000 + "}").encode()
    yield "empty", b""
    yield "nothing", b"\0" * 5000
    yield "null", b"null"
    yield "a text", b'"portagpu check"'


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("command", COMMANDS)
def test_forms_that_are_no_result_file(folder, good, number, command):
    for name, content in wrapped(originals(folder)[number]):
        bad = folder / f"{name}.json"
        bad.write_bytes(content)
        judge(command, good, bad, folder)


def test_a_very_large_file_is_refused_unread(folder, good):
    bad = folder / "large.json"
    with bad.open("wb") as file:
        file.write(b'{"schema": 4, "kind": "benchmark run", "cells": [')
        file.truncate(300 << 20)  # a sparse one
    for command in ("terminal", "compare"):
        judge(command, good, bad, folder)
    done = invoke([bad])
    assert isinstance(done.exception, PortaGPUError) and "larger than 256 MiB" in str(done.exception)
