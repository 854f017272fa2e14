"""What tests of solvers share: on each device kernels for shared memory, and those of one thread with vectors."""

from __future__ import annotations

import dataclasses

import pytest

from portagpu import cuda
from portagpu.blas.factorisations.parameters import Blocks, Columns, TallColumns
from portagpu.blas.level3.column_solve import ColumnBlocks
from portagpu.blas.level3.diagonal_inverses import Inversion
from portagpu.blas.level3.substitution import Substitution


@pytest.fixture(params=["shared", "own"])
def memory(request, device, monkeypatch):
    """Kernels as for devices with shared memory, or without."""
    for kind in (Substitution, Inversion, ColumnBlocks, Blocks, Columns, TallColumns):
        predict = kind.predict.__func__

        def chosen(cls, caps, *args, _predict=predict):
            return _predict(cls, dataclasses.replace(caps, local_memory_dedicated=request.param == "shared"), *args)

        monkeypatch.setattr(kind, "predict", classmethod(chosen))
    return request.param


@pytest.fixture
def stream(device):
    """The device's default stream."""
    return cuda.default_stream()
