"""Benchmark files and tables; figures of compilation and memory."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from portagpu.bench import compiling, soak
from portagpu.bench.cells import Cell, worst
from portagpu.bench.results import SCHEMA, Results, load, machine_facts, markdown, save
from portagpu.errors import StoreError
from portagpu.runtime.context import Context

pytestmark = pytest.mark.one_device

NEW = ("m", "n", "k", "batch", "out", "precision", "peer_arithmetic", "peer_error")


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
