"""Functions of each lane of a vector that become functions of vectors: the same numbers, whatever the function has."""

from __future__ import annotations

import math
from types import FunctionType

import numpy as np
import pytest

from portagpu import cuda
from portagpu.blas.gemm.core.fusion import Fusion
from portagpu.blas.gemm.kernels.epilogue import fused_lanes

pytestmark = [pytest.mark.one_device, pytest.mark.oclgrind]
ROWS, COLUMNS = 5, 24


@cuda.jit(block_dim=(1, 1, 1))
def apply(values, out, fused, vector: cuda.constexpr):
    row = np.int64(cuda.blockIdx.x)
    for column in range(np.int64(0), np.int64(values.shape[1]), np.int64(vector.lanes)):
        lanes = cuda.vload(values, (row, column), vector.lanes)
        found = fused_lanes(lanes, np.int64(0), row, column, fused, vector)
        cuda.vstore(found, out, (row, column))


@cuda.jit(device=True)
def halved_twice(x, times):
    return x * 0.25 if times > 0 else x


def elementwise(value, row, column, x, table):
    found = value + table[column]
    found = np.float32(math.tanh(found)) + abs(found) - found / 3 + x[row, column]
    return halved_twice(found, column - 3)


def gathers(value, row, column, x, table):
    return (
        value + x[column % 5, row] + table[column - 7] * table[-1 - row] + table[(2 * column) % 24] + table[column // 2]
    )


def branches(value, row, column, x, table):
    if row > 3:
        value = value + table[row]
    if column > 2 * row:
        return value + x[row, column]
    if value < 0 and (x[row, column] > 0 or not column > 3):
        return value * 0.5
    elif value > 1:
        value = 1
    return x[row, column + 20] if column + 20 < table.shape[0] else value + 100


def choices(value, row, column, x, table):
    big = value > 0.5
    both = big and row < column
    found = max(value, 0.25) + min(x[row, column], 0.5) + np.maximum(value, table[column]) * 2
    found += np.minimum(value, table[column]) + (4 if both else 8) + int(value * 8) // 3 + (column & 3) + (big != both)
    return found if not (both or column == 2) else -found


@cuda.jit(device=True)
def alike(first, second):
    return 1 if first == second else 2


def truths(value, row, column, x, table):
    wide, narrow = value > 0, table[column] > 0
    found = (1 if wide == narrow else 2) + (4 if wide != (row < 2) else 8) + (16 if narrow > wide else 32)
    return value * found + alike(wide, narrow) + (wide <= (x[row, column] < 0)) + alike(wide, row < 2)


def loops(value, row, column, x, table):
    for k in range(column % 4):
        value += x[row, k]
    return value


def integers(value, row, column, x, table):
    return (max(value, -2) << 2) + value // 3 - (value % 4) * row + column + (1 if value & 1 else 0)


CASES = [
    (elementwise, "float32x8"),
    (gathers, "float32x4"),
    (branches, "float32x8"),
    (branches, "float64x2"),
    (choices, "float32x8"),
    (choices, "float64x4"),
    (truths, "float32x8"),
    (truths, "float64x2"),
    (truths, "int64x4"),
    (loops, "float32x4"),
    (integers, "int32x8"),
    (integers, "int64x4"),
]


@pytest.mark.parametrize(("function", "vector"), CASES)
def test_functions_of_vectors(device, function, vector):
    """Python itself says what is right."""
    kind = np.dtype(vector.split("x")[0])
    if kind == np.float64 and not device.capabilities.fp64:
        pytest.skip("no float64")
    rng = np.random.default_rng(0)
    whole = kind.kind == "i"
    values, x = (
        rng.integers(-9, 9, (ROWS, COLUMNS)).astype(kind)
        if whole
        else rng.standard_normal((ROWS, COLUMNS)).astype(kind)
        for _ in range(2)
    )
    table = np.float32(rng.integers(-3, 4, COLUMNS) / 4)
    if function is choices:
        values[1, 3], table[5] = np.nan, np.nan
    wanted = np.zeros_like(values)
    on_host = FunctionType(function.__code__, {**globals(), **{f.__name__: f.py_func for f in (halved_twice, alike)}})
    with np.errstate(all="ignore"):
        for row, column in np.ndindex(ROWS, COLUMNS):
            value = values[row, column]
            if not math.isnan(value) or function is not choices:
                wanted[row, column] = on_host(value, row, column, x, table)
    moved = tuple(map(cuda.to_device, (x, table)))
    fused = Fusion(function=cuda.jit(device=True)(function), arguments=moved).fused()
    out = cuda.to_device(np.zeros_like(values))
    apply[ROWS, 1](cuda.to_device(values), out, fused, getattr(cuda, vector))
    found = out.copy_to_host()
    if function is choices:
        wanted[1, 3] = found[1, 3]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    if not device.capabilities.local_memory_dedicated:
        inspect = apply.inspect_sycl if device.backend == "sycl" else apply.inspect_opencl
        text = "".join(inspect().values())
        assert (f"{function.__name__}_x" in text) == (function is not loops)


@cuda.jit(device=True)
def widened(i, table):
    """Numbers of 64 bits of sums of uint32, which wrap around below 0."""
    behind = np.int64(i - 3)
    total = np.float64(behind) + np.float64(np.uint64(i + np.uint32(4294967290)))
    around = table[np.int32(i + np.uint32(4294967293))]
    return total + np.float64(around) * 0.5 if behind > 0 or i == 3 else -total + np.float64(around)


@cuda.jit
def widen(out, table, first):
    i = np.uint32(first)
    found = cuda.float64x4(widened(i, table), widened(i + 1, table), widened(i + 2, table), widened(i + 3, table))
    out[0], out[1], out[2], out[3] = found.x, found.y, found.z, found.w


def test_lanes_that_wrap_around(device):
    """Lanes count up in 32 bits: from 2**32 - 1 to 0, and not to 2**32."""
    if not device.capabilities.fp64:
        pytest.skip("no float64")
    table = np.arange(1, 9, dtype=np.int32)
    for first in (0, 1, 3, 4):
        numbers = np.uint32(first) + np.arange(4, dtype=np.uint32)
        behind, below = (numbers - np.uint32(3)), (numbers + np.uint32(4294967290))
        total = behind.astype(np.float64) + below.astype(np.float64)
        places = behind.astype(np.int32)
        around = table[places].astype(np.float64)
        wanted = np.where((behind > 0) | (numbers == 3), total + around * 0.5, -total + around)
        out = np.zeros(4)
        widen[1, 1](out, table, first)
        assert out.tolist() == wanted.tolist(), first


def tanh(value, row, column):
    return math.tanh(value)


def erf(value, row, column):
    return math.erf(value)


@pytest.mark.parametrize("function", [tanh, erf])
def test_functions_with_vectors_of_their_own(device, function):
    """Arguments of every size, to three units in the last place; signed zeros, infinities and NaN."""
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 1e-30, 30.0]
    values = np.concatenate([special, np.linspace(-12, 12, 20000), np.geomspace(1e-20, 12, 4392)]).astype(np.float32)
    values = values.reshape(50, -1)
    out = cuda.to_device(np.zeros_like(values))
    fused = Fusion(function=cuda.jit(device=True)(function)).fused()
    apply[len(values), 1](cuda.to_device(values), out, fused, cuda.float32x8)
    found = out.copy_to_host()
    wanted = np.vectorize(getattr(math, function.__name__))(values.astype(np.float64))
    ulp = np.spacing(np.abs(wanted).astype(np.float32))
    there = np.isfinite(wanted)
    assert (np.abs(found - wanted)[there] <= 3 * ulp[there]).all()
    assert np.isnan(found[~there]).all()
    assert np.array_equal(np.signbit(found[0, :2]), [False, True])
