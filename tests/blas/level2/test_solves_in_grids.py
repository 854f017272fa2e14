"""Triangular solves by all blocks of a grid together, as GPUs have them, on every device; what GPUs they suit.

Not for Oclgrind, which takes words that blocks read until others have written them for races.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from level2_arrays import DTYPES, close, elements, host, numbers, op, spread, triangle
from option_pairs import in_short, options_of

from portagpu import blas, cuda
from portagpu.blas.level2.products.call import sheet_of
from portagpu.blas.level2.products.form import READ, UPPER
from portagpu.blas.level2.solve_grid import GridSolving, solve_in_grid
from portagpu.blas.level2.solve_kernels import Triangle
from tests.helpers.hopper import HOPPER

SIZES = (1, 63, 64, 65, 130, 200, 333)
WAYS = ("s in block", "z in block", "d in block", "c in block", "s in warp", "z in warp", "d in warp", "c in warp")


@pytest.fixture
def solve_together(monkeypatch):
    """Have systems of every size solved in a grid, with or without warp instructions."""

    of_gpus = GridSolving.predict

    def choose(warp):
        def predict(caps, n, dtype):
            return replace(of_gpus(HOPPER, 65, dtype), warp=warp)

        monkeypatch.setattr(GridSolving, "predict", predict)

    return choose


def packed(planted, lower):
    """The packed triangle of a matrix, with NaN behind it."""
    n = len(planted)
    columns = [planted[j:, j] if lower else planted[: j + 1, j] for j in range(n)]
    return np.concatenate([*columns, np.full(3, np.nan, planted.dtype)])


@pytest.mark.parametrize("way", in_short(WAYS, "s in block", "z in warp"))
def test_trsv_and_tpsv(device, solve_together, way):
    """Both triangles and orders, transposed and conjugated, and packed; nothing else is read or written."""
    solve_together(way.endswith("warp"))
    letter = way[0]
    dtype, generator = DTYPES[letter], np.random.default_rng(7)
    options = options_of(incx=(1, 2, -1), trans=(0, 1, 2), lower=(0, 1), diag=(0, 1), layout=("C", "F", "packed"))
    for turn, chosen in enumerate(options):
        n, layout = SIZES[turn % len(SIZES)], chosen.pop("layout")
        increment, trans, lower, unit = chosen.values()
        matrix = numbers(generator, (n, n), dtype) / n + np.eye(n, dtype=dtype) * 2
        exact, planted = triangle(matrix.astype(dtype), lower, unit)
        t, b = op(exact, trans), numbers(generator, n, dtype)
        dx = cuda.to_device(spread(b, increment, 1))
        if layout == "packed":
            solve, given = getattr(blas, letter + "tpsv"), (n, cuda.to_device(packed(planted, lower)))
        else:
            wide = np.full((n + 2, n + 2), np.nan, dtype, order=layout)
            wide[1:-1, 1:-1] = planted
            solve, given = getattr(blas, letter + "trsv"), (cuda.to_device(wide)[1:-1, 1:-1],)
        whole = host(solve(*given, dx, offx=1, **chosen))
        x, inside = elements(whole, n, increment, 1)
        assert np.isnan(whole[~inside]).all()
        assert close(t @ x, b, np.abs(t) @ np.abs(x) + np.abs(b)), (n, layout, chosen)
        assert np.array_equal(host(solve(*given, dx, offx=1, **chosen)), whole, equal_nan=True)  # to the last bit


@pytest.mark.one_device
@pytest.mark.parametrize("warp", [False, True])
def test_diagonals_without_reciprocals(device, solve_together, warp):
    """Numbers whose reciprocals are not normal, and a zero, which unknowns before it know nothing of."""
    solve_together(warp)
    n, zero = 150, 100
    generator = np.random.default_rng(8)
    exact, planted = triangle((numbers(generator, (n, n), np.float32) / n + 3 * np.eye(n)).astype(np.float32), True)
    b = numbers(generator, n, np.float32) / 8
    scale = np.float32(2.0**125)
    x = blas.strsv(cuda.to_device(planted * scale), cuda.to_device(b * scale), lower=1).copy_to_host()
    assert close(exact @ x, b, np.abs(exact) @ np.abs(x) + np.abs(b))
    planted[zero, zero] = 0
    found = blas.strsv(cuda.to_device(planted), cuda.to_device(b), lower=1).copy_to_host()
    assert np.allclose(found[:zero], x[:zero], rtol=1e-5)
    assert not np.isfinite(found[zero:]).any()


@pytest.mark.one_device
@pytest.mark.parametrize("order", ["C", "F"])
def test_indices_of_64_bits(device, order):
    n, dtype = 200, np.dtype(np.float32)
    generator = np.random.default_rng(9)
    exact, planted = triangle((numbers(generator, (n, n), dtype) / n + 2 * np.eye(n)).astype(dtype), False)
    b = numbers(generator, n, dtype)
    memory, x = cuda.to_device(planted.ravel(order)), cuda.to_device(b[::-1].copy())[::-1]
    given = Triangle(sheet_of(memory, np.uint64, (n, 0), UPPER, READ), np.int32(0))
    how = replace(GridSolving.predict(HOPPER, n, dtype), warp=False)
    solve_in_grid(given, x, np.uint64, cuda.default_stream(), how, rows=order == "C")
    found = x.copy_to_host()
    assert close(exact @ found, b, np.abs(exact) @ np.abs(found) + np.abs(b))


@pytest.mark.one_device
def test_solves_one_after_the_other(device, solve_together):
    """Words that blocks told before are not taken for new ones: sizes that share them, and calls that are recorded."""
    solve_together(warp=False)
    generator = np.random.default_rng(10)
    for turn in range(12):
        n, dtype = ((350, np.float32), (150, np.float64))[turn // 2 % 2]
        exact, planted = triangle((numbers(generator, (n, n), dtype) / n + 2 * np.eye(n)).astype(dtype), True)
        b = numbers(generator, n, dtype)
        found = blas.strsv if dtype is np.float32 else blas.dtrsv
        x = found(cuda.to_device(planted), cuda.to_device(b), lower=1).copy_to_host()
        assert close(exact @ x, b, np.abs(exact) @ np.abs(x) + np.abs(b)), turn


def test_gpus_that_solve_together():
    """Those whose blocks can wait for each other, and hold the diagonal's block in shared memory."""
    for name in DTYPES.values():
        dtype = np.dtype(name)
        how = GridSolving.predict(HOPPER, 65, dtype)
        assert how is not None and how.warp and how.shared_bytes(dtype, rows=False) <= HOPPER.local_memory_static
        assert GridSolving.predict(HOPPER, 64, dtype) is None
        for lacking in ("local_memory_dedicated", "cooperative_launch", "device_fences"):
            assert GridSolving.predict(replace(HOPPER, **{lacking: False}), 65, dtype) is None
        assert GridSolving.predict(replace(HOPPER, local_memory_static=8192), 65, dtype) is None
        assert GridSolving.predict(replace(HOPPER, max_work_group_size=128), 65, dtype) is None
