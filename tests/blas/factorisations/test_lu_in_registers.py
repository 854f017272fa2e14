"""LU kernels that keep matrices in registers: by all blocks of a grid together, and by threads of a warp."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from portagpu import cuda
from portagpu.blas.factorisations import lu_grid
from portagpu.blas.factorisations.lu_grid_kernels import GridPlan, Messages, factor_columns_together
from portagpu.blas.factorisations.lu_small_kernels import SmallPlan, factor_small_matrices
from portagpu.blas.factorisations.number_types import number_types
from portagpu.blas.factorisations.parameters import GridColumns, SmallMatrices
from portagpu.blas.factorisations.row_move_kernels import MovePlan, move_rows
from portagpu.blas.level3.strided_memory import strided
from portagpu.device import DeviceRecord
from portagpu.device.capabilities import DeviceType
from tests.helpers.hopper import HOPPER

lapack = pytest.importorskip("scipy.linalg.lapack")

pytestmark = pytest.mark.oclgrind

GETRF = {"float32": lapack.sgetrf, "float64": lapack.dgetrf, "complex64": lapack.cgetrf, "complex128": lapack.zgetrf}


def _random(shape: tuple[int, ...], dtype: str) -> Any:
    generator = np.random.default_rng(3)
    made = generator.standard_normal(shape)
    return (made + 1j * generator.standard_normal(shape) if dtype.startswith("c") else made).astype(dtype)


def _factored(a: Any, before: int, threads: int, blocks: int, rest: Any = None) -> tuple[Any, Any, int, Any]:
    """Factors, pivots, info, and the rows of ``rest``, moved along."""
    types, (m, n), width, kind = number_types(a.dtype), a.shape, 8, np.uint32
    words, real_words = a.itemsize // 4, np.dtype(types.real).itemsize // 4
    plan = GridPlan(
        width=width,
        threads=threads,
        doublings=(threads // 32).bit_length() - 1,
        rows=1,
        blocks=32,
        number=types.number,
        real=types.real,
        words=words,
        real_words=real_words,
        is_complex=types.is_complex,
        lanes=1,
        cell=types.number,
        polls=False,
    )
    d, pivots, info, moves = map(
        cuda.to_device, (a, np.full(before + n, -1, np.int32), np.zeros(1, np.int32), np.zeros(2 * width, np.int32))
    )
    sizes = (2 * plan.blocks**2 * (real_words + 1), 2 * plan.blocks * width * words)
    messages = Messages(*(cuda.device_array(k, np.uint64) for k in sizes))
    factor_columns_together[blocks, threads](
        strided(d, kind), kind(m), kind(n), np.int32(before), pivots, info, moves, messages, plan
    )
    rows = pivots.copy_to_host()
    assert (rows[:before] == -1).all()
    moved = None
    if rest is not None:
        # columns from 7 on lie behind 3 others, which stay
        wide = cuda.to_device(np.insert(rest, [7] * 3, 5, axis=1))
        sizes = MovePlan(rows=width, columns=16, threads=64, number=types.number, along=True)
        others = rest.shape[1]
        move_rows[-(-others // 16), 64](strided(wide, kind), kind(n), kind(others), kind(7), kind(3), moves, sizes)
        moved = wide.copy_to_host()
        assert (moved[:, 7:10] == 5).all()
        moved = np.delete(moved, slice(7, 10), axis=1)
    return d.copy_to_host(), rows[before:] - before, int(info.copy_to_host()[0]), moved


def _compare(found: tuple[Any, Any, int], a: Any) -> None:
    lu, pivots, info = GETRF[a.dtype.name](a)
    assert np.array_equal(found[1], pivots)
    assert found[2] == info
    bound = 16 * max(a.shape) * np.finfo(a.dtype).eps
    assert np.allclose(found[0], lu, rtol=bound, atol=bound * np.abs(lu).max())


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_blocks_factor_columns_together(device: DeviceRecord, dtype: str) -> None:
    """Two blocks, columns whose pivots are in either of them, equal rows, fewer columns than there is room for."""
    a = _random((90, 5), dtype)
    a[40] = a[3]
    rest = _random((90, 21), dtype)
    found = _factored(a, 2, 64, 2, rest)
    _compare(found[:3], a)
    expected = rest.copy()
    for row, other in enumerate(found[1]):
        expected[[row, other]] = expected[[other, row]]
    assert np.array_equal(found[3], expected)


def test_a_zero_column_is_told(device: DeviceRecord) -> None:
    """The number of the first pivot that is zero, as in the whole matrix; columns after it are factored."""
    a = np.diag(np.arange(5, dtype=np.float32))[:, ::-1].copy()
    a[:, 1] = 0
    _compare(_factored(a, 0, 32, 1)[:3], a)


@pytest.mark.parametrize("shape", [(70, 20), (20, 72)])
def test_parts_of_a_matrix(device: DeviceRecord, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int]) -> None:
    """Several launches of some columns each, by one block and by several; a copy whose rows are side by side."""
    monkeypatch.setattr(lu_grid, "_LARGE", 8)
    a = _random(shape, "float32")
    least = min(shape)
    how = GridColumns(width=8, blocks=32, threads=32, doublings=0, rows=1, strip=32)
    d = cuda.to_device(np.asfortranarray(a))
    pivots, info = cuda.to_device(np.zeros(least, np.int32)), cuda.to_device(np.full(1, 7, np.int32))
    lu_grid.factor_together(d, pivots, info, cuda.default_stream(), how)
    _compare((d.copy_to_host(), pivots.copy_to_host(), int(info.copy_to_host()[0])), a)


@pytest.mark.parametrize(("dtype", "shape"), [("float32", (4, 4)), ("complex64", (4, 3)), ("float64", (3, 4))])
def test_threads_of_a_warp_factor_a_matrix(device: DeviceRecord, dtype: str, shape: tuple[int, int]) -> None:
    """Matrices of both orders, one of them singular, one with equal pivots."""
    if device.backend == "sycl" and device.capabilities.device_type is DeviceType.CPU:
        pytest.skip("the compiler of SYCL's CPU driver dies of this kernel, or never ends (docs/driver-quirks.md)")
    a = _random((11, *shape), dtype)
    a[2, :, 1] = 0
    a[4, 1, 0] = a[4, 0, 0]  # the first of equal pivots
    types = number_types(a.dtype)
    least = min(shape)
    for order in ("C", "F"):
        plan = SmallPlan(
            rows=4,
            doublings=2,
            chunk=2,
            matrices=8,
            number=types.number,
            real=types.real,
            is_complex=types.is_complex,
            along=order == "C",
        )
        memory = cuda.to_device(a if order == "C" else a.swapaxes(1, 2).copy())
        d = memory if order == "C" else memory.transpose((0, 2, 1))
        pivots, info = cuda.to_device(np.zeros((11, least), np.int32)), cuda.to_device(np.full(11, 7, np.int32))
        kind = np.uint32
        sizes = (kind(shape[0]), kind(shape[1]), kind(11))
        factor_small_matrices[2, 32](strided(d, kind), *sizes, pivots, info, plan)
        results = zip(d.copy_to_host(), pivots.copy_to_host(), info.copy_to_host(), a, strict=True)
        for lu, rows, number, matrix in results:
            _compare((lu, rows, int(number)), matrix)


def test_what_a_gpu_gets() -> None:
    """Rows of all sizes have their threads, and registers are enough; few rows have no grid, large ones no warp."""
    caps = replace(HOPPER, cooperative_launch=True, warp_instructions=True)
    for dtype in GETRF:
        kind = np.dtype(dtype)
        for m in (65, 1000, 8192, 8193, 32768):
            how = GridColumns.predict(caps, m, 500, 1, kind)
            assert how is not None
            blocks = -(-m // (how.rows * how.threads))
            assert blocks <= caps.compute_units
            assert how.rows * how.width * kind.itemsize <= 512
            assert how.threads == 32 << how.doublings
        assert GridColumns.predict(caps, 10**6, 500, 1, kind) is None
        assert GridColumns.predict(caps, 64, 500, 1, kind) is None
        assert GridColumns.predict(caps, 500, 500, 2, kind) is None
        small = SmallMatrices.predict(caps, 17, 20, kind)
        assert small is not None
        assert small.doublings == 5
        assert SmallMatrices.predict(caps, 16, 33, kind) is None
