"""Triangular solves as devices with shared memory have them, on every device."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.linalg import blas as scipy_blas

from portagpu import blas, cuda
from portagpu.blas.level2 import solving

pytestmark = [pytest.mark.one_device(fast=True), pytest.mark.oclgrind]


@pytest.mark.parametrize("warp", [False, True])
@pytest.mark.parametrize("letter", ["s", "z"])
def test_trsv(device, monkeypatch, letter, warp):
    """Steps that are whole and not, both triangles and orders; nothing else is read."""
    predict = solving._solve_of

    def of_gpus(dtype, caps):
        caps = dataclasses.replace(caps, local_memory_dedicated=True, warp_instructions=warp)
        return predict(dtype, caps)._replace(width=16, threads=64)

    monkeypatch.setattr(solving, "_solve_of", of_gpus)
    generator = np.random.default_rng(4)
    n, dtype = 37, np.dtype({"s": "float32", "z": "complex128"}[letter])
    a = (generator.standard_normal((n, n)) / n + 2 * np.eye(n)).astype(dtype)
    x = generator.standard_normal(n).astype(dtype)
    if letter == "z":
        a, x = a + 1j * a[::-1] / 4, x + 1j * x[::-1]
    ours, theirs = getattr(blas, letter + "trsv"), getattr(scipy_blas, letter + "trsv")
    bound = 100 * np.finfo(dtype).eps
    for lower, trans, diag in [(0, 0, 0), (1, 0, 0), (0, 1, 1), (1, 2, 0)]:
        hidden = a.copy()
        hidden[np.triu_indices(n, 1) if lower else np.tril_indices(n, -1)] = np.nan
        if diag:
            hidden[np.diag_indices(n)] = np.nan
        for order in ("C", "F"):
            matrix, vector = cuda.to_device(np.asarray(hidden, order=order)), cuda.to_device(x)
            found = ours(matrix, vector, lower=lower, trans=trans, diag=diag).copy_to_host()
            wanted = theirs(a, x, lower=lower, trans=trans, diag=diag)
            assert np.allclose(found, wanted, rtol=bound, atol=bound)
