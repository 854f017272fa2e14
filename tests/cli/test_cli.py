"""The command line, in this process where possible."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from portagpu.bench.results import Results, save
from portagpu.cli import cli
from portagpu.cli.options import time_option
from portagpu.errors import StoreError


def invoke(*arguments):
    return CliRunner().invoke(cli, list(arguments), catch_exceptions=False)


def test_help_lists_every_command():
    result = invoke("--help")
    for name in ("devices", "doctor", "tune", "bench", "matrix", "quickstart"):
        assert name in result.output


@pytest.mark.parametrize("command", [["devices"], ["doctor", "--cached"]])
def test_tables(device, command):
    result = invoke(*command)
    assert result.exit_code == 0
    assert device.name[:4] in result.output


def test_tune_bench_matrix(device, tmp_path):
    result = invoke(
        "tune", "gemm", "--budget", "2s", "--device", str(device.index), "--size", "64", "--dtype", "float32"
    )
    assert result.exit_code == 0, result.output
    assert "GFLOP/s" in result.output
    output = tmp_path / "b.json"
    result = invoke("bench", "--device", str(device.index), "--size", "64", "--dtype", "float32", "-o", str(output))
    assert result.exit_code == 0, result.output
    result = invoke("matrix", str(output), str(output))
    assert result.output.startswith("| device |")


def test_quickstart(device):
    result = invoke("quickstart", "--device", str(device.index), "--tuning-seconds", "1")
    assert result.exit_code == 0, result.output
    assert result.output.count("same as NumPy") == 3


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
    save(tmp_path / "b.json", Results(machine={}, cells=()))
    words = [word.format(file=tmp_path / "b.json") for word in command]
    result = CliRunner().invoke(cli, [*words, "-o", str(tmp_path / "b.json" / "x.json")])
    assert isinstance(result.exception, StoreError) and "cannot be written" in str(result.exception)
    assert not result.output


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
