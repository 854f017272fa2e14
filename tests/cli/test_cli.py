"""The command line, in this process where possible."""

from __future__ import annotations

import importlib
import io
import re
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner
from rich.table import Table

from portagpu.backends.survey import diagnose
from portagpu.bench.records.files import save
from portagpu.bench.records.run import Run
from portagpu.cli import cli, quickstart
from portagpu.cli.options import time_option
from portagpu.cli.output import console as new_console
from portagpu.device import devices, registry
from portagpu.errors import NoDeviceError, StoreError
from portagpu.settings import Settings

pytestmark = pytest.mark.one_device(fast=True)


EMPTY = Run(identity="0", started="then")


def invoke(*arguments):
    return CliRunner().invoke(cli, list(arguments), catch_exceptions=False)


def test_help_lists_every_command():
    result = invoke("--help")
    for name in ("devices", "doctor", "tune", "bench", "matrix", "quickstart"):
        assert name in result.output


@pytest.mark.each_value
@pytest.mark.parametrize("columns", ["40", "80"])
@pytest.mark.parametrize("command", [["devices"], ["doctor", "--cached"]])
def test_devices_are_legible_at_any_width(device, command, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    result = invoke(*command)
    assert result.exit_code == 0
    assert f"{device.index}  {device.name} ({device.platform})\n" in result.output  # names stay whole
    lines = [line.split() for line in result.output.splitlines()]
    words = [word for line in lines for word in line]
    assert "in float32" in " ".join(words)
    assert ("int64-atomics" in words) == any(d.capabilities.int64_atomics for d in devices() if d.capabilities)
    if command == ["doctor", "--cached"]:
        paths = [driver.path for driver in diagnose(Settings.from_environment()).drivers if driver.path]
        assert all(path in words for path in paths)


@pytest.mark.thorough
def test_tune_bench_matrix(device, tmp_path):
    result = invoke(
        "tune", "gemm", "--budget", "1s", "--device", str(device.index), "--size", "64", "--dtype", "float32"
    )
    assert result.exit_code == 0, result.output
    assert "GFLOP/s" in result.output
    output = tmp_path / "b.json"
    result = invoke("bench", "--device", str(device.index), "--size", "64", "--dtype", "float32", "-o", str(output))
    assert result.exit_code == 0, result.output
    result = invoke("matrix", str(output), str(output))
    assert "gemm/matmul/float32/64" in result.output and device.name[:20] in result.output


@pytest.mark.thorough
def test_quickstart(device, monkeypatch):
    monkeypatch.setattr(quickstart, "_SIZE", 96)  # the matrices of its search and benchmark
    result = invoke("quickstart", "--device", str(device.index), "--tuning-seconds", "0.5")
    assert result.exit_code == 0, result.output
    assert result.output.count("same as NumPy") == 3
    assert not [line for line in result.output.splitlines() if line.startswith("|")]  # a Markdown table is for files


@pytest.mark.parametrize("columns", ["40", "80", "200"])
@pytest.mark.parametrize("command", [["devices"], ["doctor", "--cached"], ["check", "--list"]])
def test_lines_end_without_blanks(command, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    lines = invoke(*command).output.split("\n")
    assert len(lines) > 3 and not [line for line in lines if line != line.rstrip()]


@pytest.mark.parametrize("forced", [False, True])
def test_blanks_are_dropped_before_ends_of_lines_only(forced, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    console = new_console()
    console._force_terminal = forced
    table = Table(box=None)
    table.add_row("[red]a[/red]", "b c")
    table.add_row("long", "")
    console.print(table)
    console.print("kept ", end="")
    console.print("x")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue())
    assert plain.split("\n")[-4:] == [" a     b c", " long", "kept x", ""]


@pytest.mark.parametrize("command", ["tune gemm --budget", "tune gemm --trial-limit", "quickstart --tuning-seconds"])
@pytest.mark.parametrize("text", ["soon", "-1s", "0", "nan"])
def test_bad_times(command, text):
    result = CliRunner().invoke(cli, [*command.split(), text])
    assert result.exit_code == 2 and "no time" in result.output


def test_times_have_units():
    @click.command()
    @time_option("--budget", default="90")
    def show(budget):
        click.echo(budget)

    found = [CliRunner().invoke(show, words).output for words in ([], ["--budget", "2m"], ["--budget", "0.5 h"])]
    assert found == ["90.0\n", "120.0\n", "1800.0\n"]


@pytest.mark.parametrize("command", [["bench"], ["matrix", "{file}"]])
def test_a_file_that_cannot_be_written_is_named_before_anything_is_measured(command, tmp_path):
    save(tmp_path / "b.json", EMPTY)
    words = [word.format(file=tmp_path / "b.json") for word in command]
    result = CliRunner().invoke(cli, [*words, "-o", str(tmp_path / "b.json" / "x.md")])
    assert isinstance(result.exception, StoreError) and "cannot be written" in str(result.exception)
    assert not result.output


def test_the_table_takes_no_result_files_place(tmp_path):
    results = tmp_path / "b.json"
    save(results, EMPTY)
    (tmp_path / "link.json").symlink_to(results)
    before = results.read_text()
    for output in ("b.json", "link.json"):
        result = CliRunner().invoke(cli, ["matrix", str(results), "-o", str(tmp_path / output)])
        assert result.exit_code == 2 and "is one of the result files" in result.output
    assert results.read_text() == before
    table = tmp_path / "new" / "table.md"
    assert CliRunner().invoke(cli, ["matrix", str(results), "-o", str(table)]).exit_code == 0
    assert table.read_text() and [*table.parent.iterdir()] == [table]


def test_earlier_results_stay_until_there_are_new_ones(device, tmp_path, monkeypatch):
    results = tmp_path / "b.json"
    results.write_text("earlier ones")

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("portagpu.bench.running.session.measured", interrupted)
    result = CliRunner().invoke(cli, ["bench", "--device", str(device.index), "--size", "64", "-o", str(results)])
    assert result.exit_code != 0 and results.read_text() == "earlier ones"


def test_without_devices_nothing_is_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "_devices", {"opencl": ()})
    result = CliRunner().invoke(cli, ["bench", "-o", str(tmp_path / "b.json")])
    assert isinstance(result.exception, NoDeviceError) and not [*tmp_path.iterdir()]


@pytest.mark.parametrize("name", ["soak", "accuracy", "strategies"])
def test_programs_of_the_benchmarks_tell_errors_in_one_message(name, tmp_path):
    main = importlib.import_module(f"portagpu.bench.{name}").main
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0 and result.output.startswith("Usage:")
    if name != "strategies":
        words = ["--device", "nothing like it"] if name == "accuracy" else ["nothing like it"]
        result = CliRunner().invoke(main, words)
        assert result.exit_code == 1 and result.output.startswith("Error: no device matches 'nothing like it'")
    if name == "soak":
        assert "is not a valid integer range" in CliRunner().invoke(main, ["cpu", "many"]).output


def test_our_errors_end_in_one_message():
    done = subprocess.run(
        [sys.executable, "-m", "portagpu", "tune", "gemm", "--device", "no such device"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: no device matches")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{}", "it names no schema"),
        ("[]", "it has a JSON array, not an object"),
        ('{"schema": 1, "kind": "ladder"}', "it is one of the ladder, which is another kind of file"),
    ],
)
def test_files_that_are_no_benchmark_results_are_told_apart(tmp_path, text, why):
    file = tmp_path / "r.json"
    file.write_text(text)
    with pytest.raises(StoreError, match=f"is no benchmark result: {why}"):
        CliRunner().invoke(cli, ["matrix", str(file)], catch_exceptions=False)
    file.write_text('{"schema": 2, "machine": {}, "cells": []}')
    with pytest.raises(StoreError, match="is no result of the ladder: it names no kind"):
        CliRunner().invoke(cli, ["bench", "ladder", "--compare", str(file)], catch_exceptions=False)


def test_a_plot_that_cannot_be_written_is_named_by_its_option(tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError) as caught:
        command = ["bench", "ladder", "--plot", str(tmp_path / "file" / "p.png")]
        CliRunner().invoke(cli, command, catch_exceptions=False)
    assert "--plot" in caught.value.hint
