"""Triangular systems that the blocks of a grid solve together, as an H100 would have them: registers suffice."""

from __future__ import annotations

import numpy as np
import pytest
from compilers import compiler_of
from hopper_builds import HOPPER, source_of

from portagpu import cuda
from portagpu.backends.opencl.offline.compilers import compile_offline
from portagpu.backends.opencl.offline.targets import TARGETS
from portagpu.blas.level2 import solve_grid
from portagpu.blas.level2.products.call import sheet_of
from portagpu.blas.level2.products.form import LOWER, READ
from portagpu.blas.level2.solve_grid_kernels import solve_together
from portagpu.blas.level2.solve_kernels import Triangle


class _Launches:
    """In the place of a kernel: what it is launched with."""

    def __getitem__(self, launch):
        self.threads = launch[1]
        return self

    def __call__(self, *given):
        self.given = given


@pytest.mark.in_turn(2)
@pytest.mark.one_device
@pytest.mark.parametrize("name", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("rows", [True, False])
def test_registers_of_a_solve(device, monkeypatch, rows, name):
    dtype, launches, target = np.dtype(name), _Launches(), compiler_of(TARGETS["sm_90"])
    monkeypatch.setattr(solve_grid, "solve_together", launches)
    a, x = cuda.device_array(256 * 256, dtype), cuda.device_array(256, dtype)
    triangle = Triangle(sheet_of(a, np.uint32, (256, 0), LOWER, READ), np.int32(0))
    how = solve_grid.GridSolving.predict(HOPPER, 256, dtype)
    solve_grid.solve_in_grid(triangle, x, np.uint32, cuda.default_stream(), how, rows=rows)
    figures = compile_offline(target, source_of(solve_together, launches.given, launches.threads), ()).figures
    assert figures.spilled < 16 and figures.scratch_bytes <= 64  # a few, where tiles are large
