"""Benchmark files and tables; figures of compilation and memory."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict

import numpy as np
import pytest
from click.testing import CliRunner
from portagpu.bench.cells import Cell, quartiles, worst
from portagpu.bench.results import SCHEMA, Results, load, machine_facts, save
from portagpu.bench.tables import UNSTEADY, markdown
from rich.console import Console

from portagpu.bench import compiling, soak
from portagpu.cli.bench import matrix, show
from portagpu.errors import StoreError
from portagpu.runtime.execution.context import Context

pytestmark = pytest.mark.one_device

NEW = ("m", "n", "k", "batch", "out", "precision", "peer_arithmetic", "peer_error", "samples", "peer_samples")


def cell(**changes):
    values = {
        "device": "GPU",
        "driver": "1.0",
        "dtype": "float32",
        "m": 256,
        "n": 256,
        "k": 256,
        "memory": "device arrays",
        "peer": "lib 2",
        "gflops": 50.0,
        "peer_gflops": 100.0,
        "error": 0.1,
        "problem": None,
    }
    return Cell(**{**values, **changes})


def test_files_round_trip_and_merge(tmp_path):
    one = Results(machine=machine_facts(), cells=(cell(), cell(m=128, gflops=None, problem="no memory")))
    two = Results(machine=machine_facts(), cells=(cell(device="CPU", gflops=150.0),))
    save(tmp_path / "a.json", one)
    save(tmp_path / "b.json", two)
    assert load(tmp_path / "a.json") == one
    table = markdown([load(tmp_path / "a.json"), load(tmp_path / "b.json")])
    assert "| CPU (1.0) | float32 | 256 | 150 | 100 | 1.50 | 0.1 |" in table
    assert "no memory" in table
    assert table.index("| CPU") < table.index("| GPU")


def test_devices_of_one_name_are_told_apart_by_their_files():
    one, two = (Results(machine={}, cells=(cell(gflops=g), cell(device="CPU " + str(g)))) for g in (50.0, 20.0))
    table = markdown([one, two], ["a.json", "b.json"])
    assert (
        "| GPU of a.json (1.0) | float32 | 256 | 50 |" in table
        and "| GPU of b.json (1.0) | float32 | 256 | 20 |" in table
    )
    assert "| CPU 50.0 (1.0) |" in table and "on GPU of b.json: 0.20 of lib 2" in table
    assert " of a.json" not in markdown([one, one], ["a.json", "a.json"])  # the same file twice


def test_files_of_square_matrices_stay_readable(tmp_path):
    old = {name: value for name, value in asdict(cell()).items() if name not in NEW}
    old["size"] = 512
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"schema": 1, "machine": {"date": "then"}, "cells": [old]}))
    (found,) = load(path).cells
    assert (found.m, found.n, found.k, found.batch, found.shape) == (512, 512, 512, 1, "512")
    assert "| float32 | 512 | 50 | 100 | 0.50 |" in markdown([load(path)])


STEADY = ((1.0, 1.01, 1.02), (1.0, 1.03))
DISTURBED = ((1.0, 1.4), (1.0, 1.5))


def test_files_hold_every_sample_and_their_quartiles(tmp_path):
    path = tmp_path / "a.json"
    results = Results(machine={}, cells=(cell(samples=STEADY, peer_samples=DISTURBED), cell(m=1)))
    save(path, results)
    assert load(path) == results
    data = json.loads(path.read_text())
    assert data["schema"] == SCHEMA
    first, second = data["cells"]
    assert first["samples"] == [list(turn) for turn in STEADY]
    seconds = np.array([*DISTURBED[0], *DISTURBED[1]])
    assert first["peer_quartiles"] == pytest.approx(np.percentile(seconds, [25, 50, 75]))
    assert second["quartiles"] is None
    assert path.read_text().count("\n") < 15  # a cell is a line, however many samples it has
    changed = path.read_text().replace('"peer_quartiles": [1', '"peer_quartiles": [9')
    path.write_text(changed)
    assert load(path) == results  # they are computed, not believed


def test_files_without_samples_stay_readable(tmp_path):
    path = tmp_path / "a.json"
    old = {name: value for name, value in asdict(cell()).items() if name not in ("samples", "peer_samples")}
    path.write_text(json.dumps({"schema": 2, "machine": {}, "cells": [old]}))
    (found,) = load(path).cells
    assert found == cell() and not found.unsteady and quartiles(found.samples) is None


def test_one_sample_is_its_own_quartiles():
    assert quartiles(((2.0,),)) == (2.0, 2.0, 2.0)


def test_cells_whose_times_vary_are_marked():
    cells = (cell(samples=STEADY, peer_samples=DISTURBED), cell(m=1, samples=DISTURBED, peer_samples=STEADY))
    text = markdown([Results(machine={}, cells=cells)])
    assert "| 50 | 100\\~ | 0.50 |" in text and "| 50\\~ | 100 | 0.50 |" in text and UNSTEADY[2:] in text
    assert "~" not in markdown([Results(machine={}, cells=(cell(samples=STEADY, peer_samples=STEADY),))])
    shown = io.StringIO()
    show(Console(file=shown, width=100), cells)
    assert "100~" in shown.getvalue() and "50~" in shown.getvalue() and UNSTEADY in shown.getvalue()
    gone = cell(gflops=None, peer_gflops=None, problem="x", samples=DISTURBED, peer_samples=DISTURBED)
    assert "-~" not in markdown([Results(machine={}, cells=(gone,))])


@pytest.mark.parametrize(
    "name, start",
    [("t.md", "| device |"), ("t", "| device |"), ("t.CSV", "device,driver"), ("t.html", "<!DOCTYPE html>")],
)
def test_tables_are_what_their_names_say(tmp_path, name, start):
    save(tmp_path / "a.json", Results(machine={}, cells=(cell(samples=STEADY, peer_samples=STEADY),)))
    done = CliRunner().invoke(matrix, [str(tmp_path / "a.json"), "-o", str(tmp_path / name)])
    assert done.exit_code == 0, done.output
    text = (tmp_path / name).read_text()
    assert text.startswith(start) and "GPU" in text and "50" in text
    if start.startswith("device"):
        (row,) = csv.DictReader(io.StringIO(text))
        assert float(row["gflops"]) == 50.0 and float(row["seconds_median"]) == 1.01 and row["library"] == "lib 2"


def test_other_kinds_of_tables_are_refused_before_a_file_is_read(tmp_path):
    (tmp_path / "a.json").write_text("{}")
    done = CliRunner().invoke(matrix, [str(tmp_path / "a.json"), "-o", str(tmp_path / "t.pdf")])
    assert done.exit_code == 2 and "name a file that ends in one of .md, .markdown, .csv, .html" in done.output
    assert not (tmp_path / "t.pdf").exists()


def test_the_worst_cell_is_named():
    cells = (cell(), cell(m=1, gflops=7.0, precision="tf32"), cell(gflops=None, problem="no memory"))
    assert worst(cells) is cells[1]
    assert markdown([Results(machine={}, cells=cells)]).endswith(
        "\nworst of 3: float32/tf32 1 x 256 x 256 on GPU: 0.07 of lib 2\n"
    )
    assert worst(cells[2:]) is None
    assert "worst" not in markdown([Results(machine={}, cells=cells[2:])])


def test_newer_and_damaged_files(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"schema": SCHEMA + 1, "machine": {}, "cells": []}))
    with pytest.raises(StoreError, match="update PortaGPU"):
        load(path)
    for text in ("", "[]", '{"schema": 1, "machine": {}, "cells": [{"size": 3}]}'):
        path.write_text(text)
        with pytest.raises(StoreError):
            load(path)


def test_compile_figures(device):
    assert compiling.python_seconds(Context.for_device(device)) > 0
    assert compiling.driver_seconds(Context.for_device(device)) > 0


def test_memory_does_not_grow_with_launches(device):
    with Context.for_device(device):
        for name, launch in soak.ways().items():
            grown = soak.growth(launch, 3000)
            assert grown[-1] - grown[4] < 4, name  # MiB: 4 KiB for each launch would be 6
