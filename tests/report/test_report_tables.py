"""Markdown, CSV and terminal tables of a matrix, and the command that makes them."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from sample_runs import cell, five, run, vendors

from portagpu.bench.records.cell import Status
from portagpu.bench.records.files import save
from portagpu.cli import cli
from portagpu.escaping import visible
from portagpu.report import terminal
from portagpu.report.markdown import published_table, view_table
from portagpu.report.merging import merge
from portagpu.report.spreadsheet import COLUMNS, csv_text
from portagpu.report.terminal_sheet import wrapped
from portagpu.report.text import UNSTEADY, figure_text, letter
from portagpu.report.views import VIEWS

pytestmark = pytest.mark.one_device

PLAIN = ((1.0,), (1.0,))  # too few rounds for an interval
DISTURBED = ((1.0, 1.4), (1.0, 1.5))


def shown(act, *arguments, width=120):
    output = io.StringIO()
    act(Console(file=output, width=width), *arguments)
    return output.getvalue()


def test_the_published_form():
    table = published_table(merge([run(cell(samples=PLAIN, error=0.1), vendors(0.5, samples=((0.5,), (0.5,))))]))
    assert "| GPU (p 1.0) | gemm matmul | float32 | 256 | GFLOP/s | 1 | 2 | 0.50 | 0.1 | lib 2 |" in table
    assert table.startswith("| device | problem | arithmetic | size | unit | PortaGPU | vendor library | ratio |")
    assert "geometric mean 0.50 of 1 cell; worst: gemm/matmul/float32/256 on GPU (p 1.0): 0.50 of lib 2" in table


def test_intervals_stand_beside_numbers():
    table = published_table(merge([run(cell(), vendors(2.0))]))
    assert "| 1 ±0.1% | 0.5 ±0.1% | 2.00 ±0.2% |" in table


def test_cells_whose_times_vary_are_marked():
    table = published_table(merge([run(cell(samples=PLAIN), vendors(samples=DISTURBED))]))
    assert "| 1 | 0.833\\~ |" in table and UNSTEADY[2:] in table
    assert "~" not in published_table(merge([run(cell(), vendors())]))
    assert "~" in shown(terminal.show, run(cell(samples=DISTURBED)))


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.MEASURED])
def test_a_cell_without_a_number_says_why(status):
    made = run(cell(None, status=status, reason="for a reason"), vendors())
    assert f"| - | 1 ±0.1% | - | - | PortaGPU: {status.value}: for a reason; lib 2 |" in published_table(merge([made]))
    assert "for a reason" in shown(terminal.show, made, width=200)
    (ours, _) = csv.DictReader(io.StringIO(csv_text(merge([made]))))
    assert (ours["status"], ours["reason"], ours["rate"]) == (status.value, "for a reason", "")


def test_views_are_problems_by_devices():
    matrix = merge(*five())
    table = view_table(matrix, VIEWS["vendor"])
    lines = table.splitlines()
    assert lines[0].count("|") == 8 and lines[0].endswith("| portability |")
    assert len(lines) == 2 + len(matrix.rows) + 4 and "geometric mean" in lines[-1]
    (getrf,) = [line for line in lines if "getrf" in line and "8192" in line]
    assert "wrong result" in getrf and getrf.endswith("| 0.00 |")
    assert "| unit |" in view_table(matrix, VIEWS["rate"]) and "J/TFLOP" in view_table(matrix, VIEWS["energy"])


def test_tables_for_terminals():
    runs, names = five()
    matrix = merge(runs, names)
    text = shown(terminal.show_view, matrix, VIEWS["vendor"])
    assert "A: Aurora" in text and "E: Isar(R) Zeon" in text and "wrong" in text
    text = shown(terminal.show, runs[0], width=80)
    assert "roofs: float32 59 TFLOP/s" in text and "(1) auBLAS" in text and "geometric mean" in text
    assert "Performance portability" in shown(terminal.show_devices, matrix)


WIDTHS = (40, 60, 80, 100, 120, 250)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("key", VIEWS)
def test_views_fit_any_terminal(key, width):
    """No number is cut, no column is missing, and no line of a table is longer than the terminal."""
    matrix = merge(*five())
    text = shown(terminal.show_view, matrix, VIEWS[key], width=width)
    tables = text.partition("\nP: ")[0]
    assert all(len(line) <= width for line in tables.splitlines()) and "…" not in tables
    headings = [line.split() for line in tables.splitlines() if line.lstrip().startswith("problem ")]
    assert [name for line in headings for name in line[1:]] == [*"ABCDE", "P"]
    wanted = [VIEWS[key].of(place) for place in matrix.places.values()]
    for figure in wanted:
        assert figure.value is None or figure_text(figure, VIEWS[key]).partition(" ")[0] in tables
    assert all(row.workload.name in text for row in matrix.rows)


@pytest.mark.parametrize("width", WIDTHS[2:])
def test_tables_of_devices_fit_any_terminal(width):
    runs, _ = five()
    matrix = merge(runs[:1])
    text = shown(terminal.show_devices, matrix, width=width)
    lines = text.partition("roofs:")[0].splitlines()
    assert all(len(line) <= width for line in lines) and "…" not in text
    for place in matrix.places.values():
        if place.ours is not None and place.ours.seconds is not None:
            assert figure_text(VIEWS["rate"].of(place), VIEWS["rate"]) in text
    assert "error" in text or "no room for" in text


def test_very_many_devices_are_several_tables():
    runs = [run(cell(), vendors(), devices=(f"Device {n}",)) for n in range(40)]
    text = shown(terminal.show_view, merge(runs), VIEWS["vendor"], width=80)
    assert "(1 of " in text and "AN: Device 39" in text and text.count("gemm/matmul/float32/256") > 3


@given(st.text(max_size=60), st.integers(1, 30))
def test_names_wrap_where_their_parts_end(text, width):
    lines = wrapped(text, width)
    assert all(cell_len(line) <= max(width, 2) for line in lines)
    kept = "".join(lines).replace(" ", "")
    assert kept == visible(text).replace(" ", "")
    assert wrapped("blas/axpy/float32/16777216", 20) == ["blas/axpy/float32/", "16777216"]


def test_numbers_are_in_full_in_csv():
    rows = list(csv.DictReader(io.StringIO(csv_text(merge([run(cell(1 / 3), vendors())], ["a.json"])))))
    assert list(rows[0]) == list(COLUMNS) and len(rows) == 2
    assert float(rows[0]["rate"]) == 1e9 / (1 / 3) / 1e9 and float(rows[0]["of_vendor"]) == pytest.approx(3)
    assert rows[0]["files"] == "a.json" and rows[1]["of_vendor"] == "" and rows[0]["rounds"] == "3"


def test_cells_without_a_number_have_no_times_in_csv():
    told = {"first_call": 0.5, "device_seconds": 0.5, "joules": 3.0}  # as other programs may write them
    for status in (*Status,):
        one = cell(status=status, reason="hot", samples=PLAIN if status is Status.MEASURED else (), **told)
        (row,) = csv.DictReader(io.StringIO(csv_text(merge([run(one)], ["a.json"]))))
        known = {
            name for name in ("first_call_seconds", "device_seconds", "joules", "rate", "seconds_median") if row[name]
        }
        assert bool(known) == (status is Status.MEASURED), (status, known)


@pytest.mark.parametrize("key", VIEWS)
def test_work_of_nothing_is_a_rate_of_nothing(key, file, tmp_path):
    one = cell(samples=((1.0, 1.1), (1.0, 1.2), (1.1, 1.2)))
    none = replace(one.workload, flops=0.0, nbytes=0.0)
    save(file, run(replace(one, workload=none)))
    for words in ([], ["--view", key], ["-o", str(tmp_path / "t.md")], ["-o", str(tmp_path / "t.html"), "--view", key]):
        done = CliRunner().invoke(cli, ["matrix", str(file), *words])
        assert done.exit_code == 0, done.exception


def test_a_file_without_cells_says_so(file):
    save(file, run())
    done = CliRunner().invoke(cli, ["matrix", str(file)])
    assert done.exit_code == 0 and "no cell is in the files" in done.output


def test_letters():
    assert [letter(n) for n in (0, 25, 26, 51, 52, 701, 702)] == ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]


def invoke(*arguments):
    return CliRunner().invoke(cli, ["matrix", *map(str, arguments)])


@pytest.fixture
def file(tmp_path):
    save(tmp_path / "a.json", run(cell(samples=PLAIN), vendors(samples=PLAIN)))
    return tmp_path / "a.json"


@pytest.mark.parametrize(
    ("name", "start"),
    [("t.md", "| device |"), ("t", "| device |"), ("t.CSV", "device,platform"), ("t.html", "<!DOCTYPE html>")],
)
def test_files_are_what_their_names_say(file, name, start):
    done = invoke(file, "-o", file.with_name(name))
    assert done.exit_code == 0, done.output
    text = file.with_name(name).read_text()
    assert text.startswith(start) and "GPU" in text


def test_without_a_file_the_table_is_printed(file):
    assert "gemm/matmul/float32/256" in invoke(file).output
    assert "Memory rate, GB/s" in invoke(file, "--view", "bandwidth").output


def test_other_kinds_of_tables_are_refused_before_a_file_is_read(tmp_path):
    (tmp_path / "a.json").write_text("{}")
    done = invoke(tmp_path / "a.json", "-o", tmp_path / "t.pdf")
    assert done.exit_code == 2 and "ends in one of .md, .csv, .html, .svg, .png" in done.output
    assert not (tmp_path / "t.pdf").exists()


def test_a_result_file_is_not_written_over(file):
    done = invoke(file, "-o", file)
    assert done.exit_code == 2 and "is one of the result files" in done.output and json.loads(file.read_text())
    assert invoke("--compare", file, file, "-o", file).exit_code == 2


def test_options_that_would_do_nothing_are_refused(file):
    assert invoke().exit_code == 2 and invoke(file, "--effect", "0.1").exit_code == 2
    assert invoke(file, "--compare", file, file).exit_code == 2


def test_old_files_are_merged_with_new_ones(file, tmp_path):
    old = {"device": "Old", "driver": "1", "dtype": "float32", "size": 512, "memory": "device arrays", "peer": "lib"}
    old |= {"gflops": 50.0, "peer_gflops": 100.0, "error": 0.1, "problem": None}
    (tmp_path / "old.json").write_text(json.dumps({"schema": 1, "machine": {"date": "then"}, "cells": [old]}))
    invoke(file, tmp_path / "old.json", "-o", tmp_path / "t.md")
    table = (tmp_path / "t.md").read_text()
    assert "| Old (1) | gemm matmul | float32 | 512 | GFLOP/s | 50 | 100 | 0.50 | 0.1 | lib |" in table
    assert "| GPU (p 1.0) |" in table
