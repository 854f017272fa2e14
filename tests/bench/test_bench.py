"""Benchmark files; figures of compilation and memory."""

from __future__ import annotations

import io
import json
from dataclasses import asdict

import numpy as np
import pytest
from rich.console import Console

from portagpu.bench import compiling, soak
from portagpu.bench.cells import Cell, quartiles, worst
from portagpu.bench.results import SCHEMA, Results, load, machine_facts, save
from portagpu.bench.tables import UNSTEADY
from portagpu.cli.bench import show
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


def test_files_round_trip(tmp_path):
    one = Results(machine=machine_facts(), cells=(cell(), cell(m=128, gflops=None, problem="no memory")))
    two = Results(machine=machine_facts(), cells=(cell(device="CPU", gflops=150.0),))
    save(tmp_path / "a.json", one)
    save(tmp_path / "b.json", two)
    assert load(tmp_path / "a.json") == one


def test_files_of_square_matrices_stay_readable(tmp_path):
    old = {name: value for name, value in asdict(cell()).items() if name not in NEW}
    old["size"] = 512
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"schema": 1, "machine": {"date": "then"}, "cells": [old]}))
    (found,) = load(path).cells
    assert (found.m, found.n, found.k, found.batch, found.shape) == (512, 512, 512, 1, "512")


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
    shown = io.StringIO()
    show(Console(file=shown, width=100), cells)
    assert "100~" in shown.getvalue() and "50~" in shown.getvalue() and UNSTEADY in shown.getvalue()


def test_the_worst_cell_is_named():
    cells = (cell(), cell(m=1, gflops=7.0, precision="tf32"), cell(gflops=None, problem="no memory"))
    assert worst(cells) is cells[1]
    assert worst(cells[2:]) is None


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
