"""Files and names of others: what they hold is refused or escaped, whatever it is."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from dataclasses import asdict

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from portagpu.bench.cells import Cell
from portagpu.bench.results import Results, load
from portagpu.bench.tables import csv_text, html_text, markdown

from portagpu.cli import cli
from portagpu.errors import StoreError
from portagpu.escaping import for_markdown, visible

EVIL = "\x1b[31mRED\x1b]0;t\x07<script>a</script>|x|\n# h [l](javascript:a) \u202e\x9b31m [red]r[/red] `c`"


def cell(**changed):
    values = {"device": "d", "driver": "v", "dtype": "float32", "m": 2, "n": 2, "k": 2, "memory": "host", "peer": "p"}
    values |= {"gflops": 2.0, "peer_gflops": 1.0, "error": 0.5, "problem": None}
    return {**asdict(Cell(**values)), **changed}


@given(st.text())
def test_escaped_texts_are_one_harmless_line(text):
    for made in (visible(text), for_markdown(text)):
        assert not any(unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for c in made)


def test_names_in_tables_stay_in_their_cells():
    names = ("device", "driver", "peer", "memory", "dtype")
    table = markdown([Results(machine={}, cells=(Cell(**cell(**dict.fromkeys(names, EVIL))),))])
    rows = table.splitlines()
    assert len(rows) == 5  # the head, its rule, the cell, an empty line, the worst cell
    assert rows[2].replace("\\|", "").count("|") == 9
    assert "\x1b" not in table and "\\<script\\>" in table and "javascript:" not in table and "\\[l\\]" in table


def test_names_in_other_tables_stay_in_their_cells():
    names = ("device", "driver", "peer", "memory", "dtype")
    results = [Results(machine={}, cells=(Cell(**cell(**dict.fromkeys(names, EVIL))),))]
    page = html_text(results)
    assert "\x1b" not in page and "<script" not in page and page.count("<tr>") == 2 and page.count("<td>") == 8
    (_, row) = csv.reader(io.StringIO(csv_text(results)))
    assert len(row) == 17 and not any("\x1b" in text or "\n" in text for text in row)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "\r=1"])
def test_no_name_is_a_formula_of_a_spreadsheet(text):
    results = [Results(machine={}, cells=(Cell(**cell(device=text, problem=text)),))]
    (_, row) = csv.reader(io.StringIO(csv_text(results)))
    assert not row[0].lstrip().startswith(("=", "+", "-", "@")) and not row[-1].startswith(("=", "+", "-", "@"))


DAMAGED = {
    "deep": "[" * 100_000,
    "deep object": '{"schema": 2, "machine": {}, "cells": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "digits": '{"schema": ' + "9" * 100_000 + ', "machine": {}, "cells": []}',
    "binary": bytes(range(256)),
    "encoding": '{"schema": 2}'.encode("utf-16"),
    "not a number": json.dumps({"schema": 2, "machine": {}, "cells": [cell(gflops=float("nan"))]}),
    "overflow": json.dumps({"schema": 2, "machine": {}, "cells": [cell()]}).replace("2.0", "1e999"),
    "schema": '{"schema": true, "machine": {}, "cells": []}',
    "cells": '{"schema": 2, "machine": {}, "cells": 3}',
    "machine": '{"schema": 2, "machine": {"a": 1}, "cells": []}',
    "own name": json.dumps({"schema": 2, "machine": {}, "cells": [cell(**{EVIL: 1})]}),
}
WRONG = [{"gflops": v} for v in (-1, 10**400, "x", [], {}, True)] + [{"m": v} for v in (0, -1, 1.5, 10**30, None, "2")]
WRONG += [{"device": None}, {"device": "x" * 10**6}, {"problem": 1}, {"dtype": []}]
TIMES = [[[-1.0]], [[0]], [[True]], [["x"]], [[None]], [[10**400]], [[1e9]], [[]], [1.0], {}, "x", 3, None, [[[1.0]]]]
WRONG += [{name: times} for name in ("samples", "peer_samples") for times in TIMES]
DAMAGED |= {
    f"samples {text}": json.dumps({"schema": 3, "machine": {}, "cells": [cell(samples="?")]}).replace('"?"', text)
    for text in ("[[NaN]]", "[[Infinity]]", "[[1e999]]", "[" * 5000 + "]" * 5000, f"[[{'1, ' * 1_000_000}1]]")
}
DAMAGED |= {f"{w!s:.40}": json.dumps({"schema": 2, "machine": {}, "cells": [cell(**w)]}) for w in WRONG}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_damaged_files_end_in_one_line(content, tmp_path):
    file = tmp_path / "r.json"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    for command in (["matrix"], ["bench", "ladder", "--compare"]):
        found = CliRunner().invoke(cli, [*command, str(file)])
        assert isinstance(found.exception, StoreError) and not found.output
        message = found.exception.message
        assert visible(message) == message and len(message) < 1000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(sorted(cell())), JSON)
def test_any_value_in_a_cell_is_refused_or_printed(tmp_path_factory, name, value):
    file = tmp_path_factory.getbasetemp() / "any.json"
    file.write_text(json.dumps({"schema": 3, "machine": {}, "cells": [cell(**{name: value})]}))
    try:
        table = markdown([load(file)])
    except StoreError:
        return
    assert "\x1b" not in table and table.splitlines()[2].replace("\\|", "").count("|") == 9
