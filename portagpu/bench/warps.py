"""Costs of warp operations and shared atomics beside barriers and arrays.

Run as ``python -m portagpu.bench.warps [DEVICE [NAME...]]``. Each algorithm of `warp_kernels` is timed in both forms,
which take turns in one run, and both results are compared with NumPy's. On a device without warps, a CPU, the ratio is
what the emulation costs. There times are those of the process on all cores, which other programs disturb little.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from portagpu import cuda
from portagpu.bench import warp_kernels as kernels
from portagpu.bench.method.turns import Call
from portagpu.bench.program import Program, chosen, device_argument
from portagpu.device import DeviceType
from portagpu.runtime.execution.context import Context, current_context

_ROUNDS = 31
_TURN_SECONDS = 0.008  # of a turn at least: many short ones, as others disturb for longer than that
_ON_CPU, _ON_GPU = 1 << 17, 1 << 24
_COUNTED = 64  # elements of each thread that counts
Array = np.ndarray[Any, Any]
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One algorithm in both forms: what they are given, and what NumPy says that the result is."""

    kernels: tuple[Any, Any]
    grid: int
    block: int
    inputs: tuple[Array, ...]
    expected: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Seconds of a launch in both forms, medians of turns; on CPUs added up over all cores."""

    name: str
    seconds: float = math.nan
    array_seconds: float = math.nan
    wrong: tuple[str, ...] = ()  # kernels whose results are not NumPy's; they are not timed

    @property
    def ratio(self) -> float:
        """Times of the form with barriers and arrays that the other one takes."""
        return self.seconds / self.array_seconds


def _numbers(n: int, dtype: Any) -> Array:
    """Whole numbers whose sums are exact in every dtype."""
    return np.random.default_rng(0).integers(-8, 9, n).astype(dtype)


def _of_warps(ours: Any, array: Any, dtype: Any, result: Callable[[Array], Array]) -> Callable[[int], Pair]:
    """A thread for each element; ``result`` gets a row for each warp."""

    def make(n: int) -> Pair:
        x = _numbers(n, dtype)
        expected = np.ascontiguousarray(result(x.reshape(-1, 32))).reshape(-1)
        return Pair(
            kernels=(ours, array), grid=n // kernels.THREADS, block=kernels.THREADS, inputs=(x,), expected=expected
        )

    return make


def _sums(rows: Array) -> Array:
    sums: Array = rows.sum(axis=1, dtype=rows.dtype)
    return sums


def _everywhere(rows: Array) -> Array:
    return np.repeat(_sums(rows), 32)


def _of_blocks(rows: Array) -> Array:
    return _sums(rows.reshape(-1, kernels.THREADS))


def _scanned(rows: Array) -> Array:
    return np.cumsum(rows, axis=1, dtype=rows.dtype)


def _compacted(rows: Array) -> Array:
    result = np.zeros_like(rows)
    for row, target in zip(rows, result, strict=True):
        target[: (row > 0).sum()] = row[row > 0]
    return result


def _voted(rows: Array) -> Array:
    votes = (rows > 0).all(axis=1) + 2 * (rows > 0).any(axis=1)
    return np.repeat(votes.astype(np.int32), 32)


def _matched(rows: Array) -> Array:
    counts: Array = (rows[:, :, None] == rows[:, None, :]).sum(axis=2)
    return counts.astype(np.int32)


def _one_more(rows: Array) -> Array:
    more: Array = rows + rows.dtype.type(1)
    return more


def _counts(dtype: Any) -> Callable[[int], Pair]:
    def make(n: int) -> Pair:
        each = kernels.COUNTERS * _COUNTED
        bins = np.random.default_rng(1).integers(0, kernels.BINS, n).astype(np.int32)
        weights = _numbers(n, dtype)
        rows = zip(bins.reshape(-1, each), weights.reshape(-1, each), strict=True)
        expected = np.stack([np.bincount(b, w, kernels.BINS) for b, w in rows]).astype(dtype)
        return Pair(
            kernels=(kernels.count, kernels.count_array),
            grid=n // each,
            block=kernels.COUNTERS,
            inputs=(bins, weights),
            expected=expected,
        )

    return make


def _shared_sum(dtype: Any) -> Callable[[int], Pair]:
    def make(n: int) -> Pair:
        x = _numbers(n, dtype)
        each = kernels.THREADS * kernels.STRIDE
        return Pair(
            kernels=(kernels.sum_atomic, kernels.sum_atomic_array),
            grid=n // each,
            block=kernels.THREADS,
            inputs=(x,),
            expected=_sums(x.reshape(-1, each)),
        )

    return make


F32, F64, I32 = np.float32, np.float64, np.int32
PAIRS: dict[str, Callable[[int], Pair]] = {
    "sum-down-float32": _of_warps(kernels.sum_down, kernels.sum_down_array, F32, _sums),
    "sum-down-float64": _of_warps(kernels.sum_down, kernels.sum_down_array, F64, _sums),
    "sum-down-int32": _of_warps(kernels.sum_down, kernels.sum_down_array, I32, _sums),
    "sum-xor-float32": _of_warps(kernels.sum_xor, kernels.sum_xor_array, F32, _everywhere),
    "sum-xor-float64": _of_warps(kernels.sum_xor, kernels.sum_xor_array, F64, _everywhere),
    "sum-xor-int32": _of_warps(kernels.sum_xor, kernels.sum_xor_array, I32, _everywhere),
    "sum-block-float32": _of_warps(kernels.sum_block, kernels.sum_block_array, F32, _of_blocks),
    "scan-up-float32": _of_warps(kernels.scan_up, kernels.scan_up_array, F32, _scanned),
    "scan-up-int32": _of_warps(kernels.scan_up, kernels.scan_up_array, I32, _scanned),
    "ballot-compaction": _of_warps(kernels.compact, kernels.compact_array, F32, _compacted),
    "all-any-tree": _of_warps(kernels.vote, kernels.vote_tree, I32, _voted),
    "all-any-loop": _of_warps(kernels.vote, kernels.vote_loop, I32, _voted),
    "match-any": _of_warps(kernels.match, kernels.match_array, I32, _matched),
    "syncwarp": _of_warps(kernels.mirror, kernels.mirror_array, F32, _one_more),
    "histogram-int32": _counts(I32),
    "histogram-float32": _counts(F32),
    "shared-sum-float32": _shared_sum(F32),
    "shared-sum-int32": _shared_sum(I32),
}
"""The algorithms by name: what makes them for a number of elements."""


def cost(name: str, n: int, rounds: int = _ROUNDS) -> Cost:
    """Time both forms of an algorithm on ``n`` elements on the current device."""
    pair = PAIRS[name](n)
    inputs = [cuda.to_device(array) for array in pair.inputs]
    outs = [cuda.to_device(np.zeros_like(pair.expected)) for _ in pair.kernels]
    calls = [_call(pair, kernel, (*inputs, out)) for kernel, out in zip(pair.kernels, outs, strict=True)]
    for call in calls:
        call.product()
    right = [np.array_equal(out.copy_to_host(), pair.expected) for out in outs]
    if not all(right):
        return Cost(name=name, wrong=tuple(k.__name__ for k, ok in zip(pair.kernels, right, strict=True) if not ok))
    on_cpu = current_context().device.device_type is DeviceType.CPU
    clock = time.process_time if on_cpu else time.perf_counter
    repeats = [_repeats(call, clock) for call in calls]
    times = [[_seconds(call, count, clock) for call, count in zip(calls, repeats, strict=True)] for _ in range(rounds)]
    ours, array = (statistics.median(column) for column in zip(*times, strict=True))
    return Cost(name=name, seconds=ours, array_seconds=array)


def _call(pair: Pair, kernel: Any, arguments: tuple[Any, ...]) -> Call:
    launch = kernel[pair.grid, pair.block]
    return Call(enqueue=lambda: launch(*arguments), wait=cuda.synchronize)


def _seconds(call: Call, count: int, clock: Clock) -> float:
    """Seconds of a launch, of so many back to back."""
    begin = clock()
    for _ in range(count):
        call.enqueue()
    call.wait()
    return (clock() - begin) / count


def _repeats(call: Call, clock: Clock) -> int:
    count = 1
    while _seconds(call, count, clock) * count < _TURN_SECONDS:
        count *= 2
    return count


@click.command(cls=Program)
@device_argument
@click.argument("names", nargs=-1, type=click.Choice(list(PAIRS)))
@click.option("--elements", type=click.IntRange(min=1 << 13), help="A power of two. [default: by the device]")
def main(selector: str | None, names: tuple[str, ...], elements: int | None) -> None:
    """Print what algorithms (NAMES; all, if none is given) cost on DEVICE in both forms."""
    device = chosen(selector)
    n = elements or (_ON_GPU if device.device_type is DeviceType.GPU else _ON_CPU)
    click.echo(f"{device.name} ({device.platform} {device.driver_version}), {n} elements")
    click.echo(f"{'':20}{'operations':>12}{'arrays':>12}{'ratio':>8}")
    with Context.for_device(device):
        for name in names or PAIRS:
            found = cost(name, n)
            if found.wrong:
                click.echo(f"{name:20}  wrong result of {' and '.join(found.wrong)}")
                continue
            ours, array = (f"{s * 1e6:.0f} us" for s in (found.seconds, found.array_seconds))
            click.echo(f"{name:20}{ours:>12}{array:>12}{found.ratio:>8.2f}")


if __name__ == "__main__":
    main()
