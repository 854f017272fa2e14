"""Kernels that were compiled only, as `portagpu check` writes them, in every kind of report."""

from __future__ import annotations

import csv
import io
import json

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from sample_runs import cell, run

from portagpu.bench.records.files import save
from portagpu.cli import cli
from portagpu.errors import StoreError
from portagpu.report.compiled import is_check, load
from portagpu.report.compiled_grid import kernels, targets
from portagpu.report.terminal_compiled import show_compiled

pytestmark = pytest.mark.one_device


def result(**changes):
    figures = {"registers": 96, "spilled": 0, "scratch_bytes": 0, "local_bytes": 16384, "occupancy": 8, "slots": 16}
    values = {"target": "gfx1100", "title": "A product", "compiler": {"name": "clang", "version": "19.1.7"}}
    values |= {"group": "gemm", "case": "matmul float16 4096", "kernel": "tile_product", "signature": "(float32[:])"}
    values |= {"status": "compiled", "ok": True, "figures": {**figures, "limiter": "registers"}, "problems": []}
    return {**values, **changes}


def write(path, *results, **changes):
    data = {"format": "portagpu check", "version": 1, "results": list(results)}
    path.write_text(json.dumps({**data, **changes}, indent=2))
    return path


def test_rows_of_a_check(tmp_path):
    file = write(tmp_path / "c.json", result())
    assert is_check(file)
    (row,) = load(file)
    assert row.ok and row.group == "gemm"
    assert row.texts == (
        *("A product (gfx1100)", "clang 19.1.7", "tile_product(float32[:])", "matmul float16 4096", "compiled", "96"),
        *("none", "16384 bytes", "8 of 16 (registers)"),
    )


def test_spills_and_problems_are_told(tmp_path):
    problem = {"rule": "spill", "message": "12 registers are spilled", "file": "/a/b/kernels.py", "line": 53}
    spilled = result(figures={"spilled": 12, "scratch_bytes": 256}, ok=False, problems=[problem])
    missing = result(status="unsupported", figures=None, ok=False, problems=[{"message": "no float64", "line": None}])
    first, second = load(write(tmp_path / "c.json", spilled, missing))
    assert not first.ok and first.texts[4:7] == (
        *("compiled: 12 registers are spilled (kernels.py:53)", "-", "12 registers, 256 bytes"),
    )
    assert second.texts[4:] == ("unsupported: no float64", "-", "-", "-", "-")


def test_rows_stand_in_every_report(tmp_path):
    check = write(tmp_path / "check.json", result(), result(target="sm_90", title="Other"))
    save(tmp_path / "run.json", run(cell()))
    for name in ("t.md", "t.csv", "t.html"):
        done = CliRunner().invoke(cli, ["matrix", str(tmp_path / "run.json"), str(check), "-o", str(tmp_path / name)])
        assert done.exit_code == 0, done.output
    assert "| A product (gfx1100) | clang 19.1.7 | tile" in (tmp_path / "t.md").read_text()
    rows = list(csv.DictReader(io.StringIO((tmp_path / "t.csv").read_text())))
    assert [row["status"] for row in rows] == ["measured", "compiled", "compiled"]
    assert "registers 96" in rows[1]["reason"] and rows[1]["platform"] == "compiled offline"
    data = json.loads((tmp_path / "t.html").read_text().partition('id="data">')[2].partition("</script>")[0])
    assert len(data["compiled"]["cells"]) == 2 and len(data["compiled"]["targets"]) == 2
    done = CliRunner().invoke(cli, ["matrix", str(check), "--device", "other"])
    assert "Other (sm_90)" in done.output.replace("\n", "") or "sm_90" in done.output
    assert "gfx1100" not in done.output


def many(count=8):
    """Kernels for many targets: one is not supported on one of them, one spills on another."""
    for number in range(count):
        for name in ("saxpy", "tile_product", "float64_chain"):
            one = result(target=f"gfx{number:03d}", title=f"Product {number}", kernel=name, case=f"gemm {name}")
            if (name, number) == ("float64_chain", 2):
                problem = {"message": "the target has no float64", "file": "/k/mine.py", "line": 7}
                one = {**one, "kernel": f"gemm {name}", "signature": "", "status": "unsupported", "figures": None}
                one |= {"ok": False, "problems": [problem]}
            if (name, number) == ("tile_product", 3):
                one["figures"] = {**one["figures"], "spilled": 9}
            yield one


@pytest.mark.parametrize("width", [60, 80, 120, 300])
def test_terminals_show_kernels_by_targets(width, tmp_path):
    rows = load(write(tmp_path / "c.json", *many()))
    output = io.StringIO()
    show_compiled(Console(file=output, width=width), rows)
    text = output.getvalue()
    tables, _, rest = text.partition("registers, and")
    assert all(len(line) <= width for line in tables.splitlines()) and "…" not in text
    assert tables.count("96 8/16") == 22 and tables.count("96! 8/16") == 1 and tables.count("unsupported (1)") == 1
    assert [line.split()[0] for line in tables.splitlines() if "/16" in line][:3] == [
        "saxpy",
        "tile_product",
        "float64_chain",
    ]
    assert "(1) unsupported: the target has no float64 (mine.py:7)" in rest and "gfx007: Product 7 (gfx007)" in rest


@pytest.mark.parametrize("width", [60, 80, 120])
def test_terminals_show_all_figures_of_one_target(width, tmp_path):
    rows = [row for row in load(write(tmp_path / "c.json", *many())) if row.target == "gfx003"]
    output = io.StringIO()
    show_compiled(Console(file=output, width=width), rows)
    text = output.getvalue()
    assert "9 registers" in text and "8 of 16" in text and "…" not in text
    assert ("16384 bytes" in text) != ("no room for" in text and "local memory" in text)


def test_a_kernel_that_a_target_has_twice_has_two_lines(tmp_path):
    rows = load(write(tmp_path / "c.json", result(), result(signature="(int32[:])"), result()))
    assert [kernel.detail for kernel in kernels(rows)] == [
        *("matmul float16 4096 (float32[:])", "matmul float16 4096 (int32[:])"),
        "matmul float16 4096 (float32[:]) #2",
    ]
    assert [target.code for target in targets(rows)] == ["gfx1100"]


DAMAGED = {
    "cut": '{"format": "portagpu check", "version": 1, "results": [',
    "deep": '{"format": "portagpu check", "results": ' + "[" * 100_000,
    "version": '{"format": "portagpu check", "version": true, "results": []}',
    "newer": '{"format": "portagpu check", "version": 2, "results": []}',
    "results": '{"format": "portagpu check", "version": 1, "results": {}}',
    "no results": '{"format": "portagpu check", "version": 1}',
    "nan": '{"format": "portagpu check", "version": 1, "results": [{"ok": true, "figures": {"registers": NaN}}]}',
}


def test_files_that_cannot_be_imported_are_called_by_their_names(tmp_path):
    broken = {"kernel": "", "case": "", "group": "kernel", "signature": None, "status": "refused", "ok": False}
    file = write(tmp_path / "c.json", *(result(**broken, file=f"a/{name}.py", figures=None) for name in "xy"))
    assert [one.name for one in kernels(load(file))] == ["x.py", "y.py"]


@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
def test_damaged_checks_are_refused(text, tmp_path):
    file = tmp_path / "c.json"
    file.write_text(text)
    done = CliRunner().invoke(cli, ["matrix", str(file)])
    assert isinstance(done.exception, StoreError) and len(done.exception.message) < 1000


WRONG = [{"ok": 1}, {"kernel": 3}, {"title": []}, {"figures": 3}, {"compiler": "x"}, {"problems": 3}, {"status": {}}]
WRONG += [{"figures": {"registers": value}} for value in (-1, 1.5, True, "9", 10**30)] + [{"title": "x" * 5000}]


@pytest.mark.parametrize("changes", WRONG, ids=str)
def test_wrong_values_are_refused(changes, tmp_path):
    with pytest.raises(StoreError, match="damaged"):
        load(write(tmp_path / "c.json", result(**changes)))


@given(st.text())
def test_texts_of_checks_stay_in_their_cells(tmp_path_factory, text):
    file = write(tmp_path_factory.getbasetemp() / "c.json", result(kernel=text, title=text, case=text, status=text))
    out = file.with_name("t.md")
    done = CliRunner().invoke(cli, ["matrix", str(file), "-o", str(out)])
    assert done.exit_code == 0
    lines = out.read_text().splitlines()
    assert lines[-2].replace("\\|", "").count("|") == 10 or lines[-1].replace("\\|", "").count("|") == 10
