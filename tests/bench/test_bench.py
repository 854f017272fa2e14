"""Benchmark files and tables; measuring itself is tried at a tiny size."""

from __future__ import annotations

import json

import pytest

from portagpu.bench import compiling, gemm, soak
from portagpu.bench.cells import Cell
from portagpu.bench.results import SCHEMA, Results, load, machine_facts, markdown, save
from portagpu.errors import StoreError
from portagpu.runtime.context import Context
from portagpu.settings import Settings


def cell(**changes):
    values = {
        "device": "GPU",
        "driver": "1.0",
        "dtype": "float32",
        "size": 256,
        "memory": "device arrays",
        "peer": "lib 2",
        "gflops": 50.0,
        "peer_gflops": 100.0,
        "error": 0.1,
        "problem": None,
    }
    return Cell(**{**values, **changes})


def test_files_round_trip_and_merge(tmp_path):
    one = Results(machine=machine_facts(), cells=(cell(), cell(size=128, gflops=None, problem="no memory")))
    two = Results(machine=machine_facts(), cells=(cell(device="CPU", gflops=150.0),))
    save(tmp_path / "a.json", one)
    save(tmp_path / "b.json", two)
    assert load(tmp_path / "a.json") == one
    table = markdown([load(tmp_path / "a.json"), load(tmp_path / "b.json")])
    assert "| CPU (1.0) | float32 | 256 | 150 | 100 | 1.50 |" in table
    assert "no memory" in table
    assert table.index("| CPU") < table.index("| GPU")


def test_newer_and_damaged_files(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"schema": SCHEMA + 1, "machine": {}, "cells": []}))
    with pytest.raises(StoreError, match="update PortaGPU"):
        load(path)
    for text in ("", "[]", '{"schema": 1, "machine": {}, "cells": [{"size": 3}]}'):
        path.write_text(text)
        with pytest.raises(StoreError):
            load(path)


def test_cells_are_measured_and_verified(device):
    (found,) = gemm.cells(device, (64,), ("float32",), Settings.from_environment())
    assert found.problem is None
    assert found.error <= 1
    assert found.ratio > 0


def test_compile_figures(device):
    assert compiling.python_seconds(Context.for_device(device)) > 0
    assert compiling.driver_seconds(Context.for_device(device)) > 0


def test_memory_does_not_grow_with_launches(device):
    with Context.for_device(device):
        for name, launch in soak.ways().items():
            grown = soak.growth(launch, 3000)
            assert grown[-1] - grown[4] < 4, name  # MiB: 4 KiB for each launch would be 6
