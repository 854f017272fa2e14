"""Operations of several threads, for every dtype that they take: atomics and exchanges of a warp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from differences import excused
from operands import Array, combinations, supported, values

from portagpu import cuda
from portagpu.device import DeviceRecord

ATOMIC_DTYPES = ("int32", "uint32", "int64", "uint64", "float32", "float64")
FULL = 0xFFFFFFFF


def _keep(choose: Callable[..., Array]) -> Callable[..., Array]:
    """Memory stays as it is where either number is nan."""
    return lambda old, x: np.where(np.isnan(old) | np.isnan(x), old, choose(old, x))


# what is in memory afterwards
REAL: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "max": _keep(np.maximum),
    "min": _keep(np.minimum),
    "nanmax": np.fmax,
    "nanmin": np.fmin,
    "exch": lambda old, x: x,
}
INTEGER: dict[str, Callable[..., Any]] = {
    "and_": np.bitwise_and,
    "or_": np.bitwise_or,
    "xor": np.bitwise_xor,
    "inc": lambda old, x: np.where(old >= x, 0, old + 1),
    "dec": lambda old, x: np.where((old == 0) | (old > x), x, old - 1),
}
ATOMICS = (*REAL, *INTEGER, "cas", "compare_and_swap")


@pytest.mark.parametrize("dtype", ATOMIC_DTYPES)
def test_atomics(device: DeviceRecord, dtype: str) -> None:
    """One thread for each pair of numbers: old value, and what is in memory afterwards, global and shared."""
    caps = device.capabilities
    assert caps is not None
    if dtype not in supported(device) or (np.dtype(dtype).itemsize == 8 and not caps.int64_atomics):
        return  # the error is tested in tests/kernels/arrays/test_memory_spaces.py
    names = [*REAL, *(INTEGER if np.dtype(dtype).kind in "iu" else ())]
    operations = tuple(getattr(cuda.atomic, name) for name in names)

    @cuda.jit
    def kernel(before, operand, cells, olds, shared_cells, shared_olds):
        i, t = cuda.grid(1), cuda.threadIdx.x
        block = cuda.shared.array(32, dtype)
        for n, operation in enumerate(operations):
            if i < before.size:
                block[t] = before[i]
                olds[n, i] = operation(cells, (n, i), operand[i])
                shared_olds[n, i] = operation(block, t, operand[i])
                shared_cells[n, i] = block[t]
        if i < before.size:
            n = len(operations)
            olds[n, i] = cuda.atomic.cas(cells, (n, i), operand[i], before[0])
            block[t] = before[i]
            shared_olds[n, i] = cuda.atomic.cas(block, t, operand[i], before[0])
            shared_cells[n, i] = block[t]
            olds[n + 1, i] = cuda.atomic.compare_and_swap(cells[n + 1, i:], operand[i], before[0])
            shared_cells[n + 1, i] = cells[n + 1, i]
            shared_olds[n + 1, i] = olds[n + 1, i]

    before, operand = combinations(dtype, dtype)
    shape = (len(names) + 2, before.size)
    cells = np.broadcast_to(before, shape).copy()
    olds, shared_cells, shared_olds = (np.zeros(shape, dtype) for _ in range(3))
    kernel[-(-before.size // 32), 32](before, operand, cells, olds, shared_cells, shared_olds)
    for n, name in enumerate([*names, "cas", "compare_and_swap"]):
        with np.errstate(all="ignore"):
            function = (REAL | INTEGER).get(name)
            if function is not None:
                expected = function(before, operand)
            else:  # bits are compared: nan is equal to itself, and 0.0 is not -0.0
                bits = f"u{before.dtype.itemsize}"
                expected = np.where(before.view(bits) == operand.view(bits), before[0], before)
        for found, wanted in (
            (olds[n], before),
            (shared_olds[n], before),
            (cells[n], expected),
            (shared_cells[n], expected),
        ):
            with np.errstate(all="ignore"):
                bad = ~((found == wanted) | (np.isnan(found) & np.isnan(wanted)))
            bad &= ~(excused(device, f"cuda.atomic.{name}", (before, operand, wanted), bad) & (dtype == "float32"))
            assert not bad.any(), (f"{name} of {dtype}", before[bad], operand[bad], found[bad], wanted[bad])


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("dtype", [*ATOMIC_DTYPES, "int8", "uint8", "int16", "uint16", "float16"])
def test_exchanges_of_a_warp(device: DeviceRecord, dtype: str) -> None:
    if dtype not in supported(device):
        return

    @cuda.jit
    def kernel(x, lanes, moved, votes):
        i = cuda.grid(1)
        value = x[i]
        moved[0, i] = cuda.shfl_sync(FULL, value, lanes[i])
        moved[1, i] = cuda.shfl_up_sync(FULL, value, 3)
        moved[2, i] = cuda.shfl_down_sync(FULL, value, 5)
        moved[3, i] = cuda.shfl_xor_sync(FULL, value, 9)
        votes[0, i] = cuda.all_sync(FULL, value != 0)
        votes[1, i] = cuda.any_sync(FULL, value != 0)
        votes[2, i] = cuda.eq_sync(FULL, value > 0)
        votes[3, i] = cuda.ballot_sync(FULL, value > 0)
        votes[4, i] = cuda.match_any_sync(FULL, value)
        same, agree = cuda.match_all_sync(FULL, value)
        votes[5, i] = same
        votes[6, i] = agree
        votes[7, i] = cuda.activemask()
        votes[8, i] = cuda.lanemask_lt()
        cuda.syncwarp()
        votes[9, i] = cuda.laneid

    random = np.random.default_rng(2)
    source = values(dtype)
    x = np.concatenate([random.choice(source, 32), random.choice(source[:5], 32), np.full(32, source[-1])])
    lanes = random.integers(0, 32, x.size).astype(np.int32)
    moved, votes = np.zeros((4, x.size), dtype), np.zeros((10, x.size), np.uint32)
    kernel[1, x.size](x, lanes, moved, votes)
    lane = np.arange(32)
    sources = (None, np.where(lane >= 3, lane - 3, lane), np.where(lane < 27, lane + 5, lane), lane ^ 9)
    bits = f"u{x.dtype.itemsize}"
    for first in range(0, x.size, 32):
        part = slice(first, first + 32)
        own, raw = x[part], x[part].view(bits)
        for n, where in enumerate(sources):
            where = lanes[part] if where is None else where
            nan = np.isnan(own[where])  # its bits may change
            np.testing.assert_array_equal(np.isnan(moved[n, part]), nan)
            np.testing.assert_array_equal(moved[n, part].view(bits)[~nan], raw[where][~nan], f"shuffle {n}")
        with np.errstate(invalid="ignore"):
            positive = own > 0
        equal = raw[:, None] == raw[None, :]  # the bits
        powers = np.uint64(1) << np.arange(32, dtype=np.uint64)
        expected = (
            *(own.all(), own.any(), positive.all() or not positive.any(), (positive * powers).sum()),
            *((equal * powers).sum(axis=1), FULL if equal.all() else 0, equal.all(), FULL, powers - 1, lane),
        )
        for n, wanted in enumerate(expected):
            np.testing.assert_array_equal(votes[n, part], np.broadcast_to(wanted, 32), f"vote {n}")


def test_barriers_and_fences(device: DeviceRecord) -> None:
    """What a thread wrote before is there for the others, however small the fence; counts of a block."""

    @cuda.jit
    def kernel(x, out, counts):
        block = cuda.shared.array(64, np.int32)
        i, t = cuda.grid(1), cuda.threadIdx.x
        block[t] = x[i]
        cuda.threadfence_block()
        cuda.syncthreads()
        out[0, i] = block[63 - t]
        out[1, i] = x[i]
        cuda.threadfence()
        cuda.threadfence_system()
        cuda.nanosleep(10)
        counts[0, i] = cuda.syncthreads_count(x[i] > 40)
        counts[1, i] = cuda.syncthreads_and(x[i] >= 0)
        counts[2, i] = cuda.syncthreads_or(x[i] > 126)

    x = np.arange(128, dtype=np.int32)
    out, counts = np.zeros((2, 128), np.int32), np.zeros((3, 128), np.int32)
    kernel[2, 64](x, out, counts)
    np.testing.assert_array_equal(out[0], x.reshape(2, 64)[:, ::-1].ravel())
    np.testing.assert_array_equal(out[1], x)
    np.testing.assert_array_equal(counts[0], np.repeat([23, 64], 64))
    np.testing.assert_array_equal(counts[1] != 0, True)
    np.testing.assert_array_equal(counts[2] != 0, np.repeat([False, True], 64))
