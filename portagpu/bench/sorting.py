"""Sorting beside CuPy on a card, beside NumPy elsewhere.

Run it as ``python -m portagpu.bench.sorting [--size N]... [--dtype NAME]... [DEVICE]``.

Each operation takes turns with the peer's. What is told is the median of the turns, in milliseconds, and the peer's
time over ours. Results are compared with NumPy's.
"""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable
from typing import Any

import click
import numpy as np

from portagpu import cuda, primitives
from portagpu.bench.program import Program, chosen, device_argument
from portagpu.device.capabilities import DeviceType
from portagpu.errors import PortaGPUError

_TURNS = 9
_TURN_SECONDS = 5e-3
_TOP = 100
Call = Callable[[], Any]


def peer_of(device_type: DeviceType) -> Any:
    """CuPy where the device is a GPU and CuPy finds one, else NumPy."""
    if device_type is DeviceType.GPU:
        try:
            cupy = importlib.import_module("cupy")
            if cupy.cuda.runtime.getDeviceCount():
                return cupy
        except Exception:  # CuPy's own errors, of whatever kind, mean that there is no peer
            return np
    return np


def measured(x: np.ndarray[Any, Any], peer: Any) -> dict[str, tuple[float, float]]:
    """Seconds by the peer and by PortaGPU for each operation. Raises `PortaGPUError` where a result is wrong."""
    ours, theirs = cuda.to_device(x), peer.asarray(x)
    wait = cuda.synchronize
    done = wait if peer is np else peer.cuda.get_current_stream().synchronize
    few = min(_TOP, x.size)
    calls: dict[str, tuple[Call, Call]] = {
        "sort": (lambda: peer.sort(theirs), lambda: primitives.sort(ours)),
        "argsort": (lambda: peer.argsort(theirs), lambda: primitives.argsort(ours)),
        "unique": (lambda: peer.unique(theirs), lambda: primitives.unique(ours).values),
        "top": (lambda: peer.partition(theirs, -few), lambda: primitives.top_k(ours, few)[0]),
    }
    _check(x, calls)
    return {name: in_turns((their, done), (own, wait)) for name, (their, own) in calls.items()}


def _check(x: np.ndarray[Any, Any], calls: dict[str, tuple[Call, Call]]) -> None:
    expected = {
        "sort": np.sort(x),
        "argsort": np.argsort(x, kind="stable"),
        "unique": np.unique(x),
        "top": np.sort(x)[::-1][:_TOP],
    }
    for name, (_, own) in calls.items():
        if not np.array_equal(own().copy_to_host(), expected[name]):
            raise PortaGPUError(f"{name} of {x.size} elements of {x.dtype} is wrong")


def in_turns(*ways: tuple[Call, Call]) -> tuple[float, float]:
    """Seconds of two ways, the medians of turns; each is a call, and what waits for its end."""
    counts = [max(1, int(_TURN_SECONDS / _seconds(call, wait, 1))) for call, wait in ways]
    times: list[list[float]] = [[] for _ in ways]
    for _ in range(_TURNS):
        for found, (call, wait), count in zip(times, ways, counts, strict=True):
            found.append(_seconds(call, wait, count))
    their, own = (statistics.median(found) for found in times)
    return their, own


def _seconds(call: Call, wait: Call, count: int) -> float:
    wait()
    begin = time.perf_counter()
    for _ in range(count):
        call()
    wait()
    return (time.perf_counter() - begin) / count


def sample(size: int, dtype: str) -> np.ndarray[Any, Any]:
    """Random elements: normal floats, integers of all bits."""
    rng, kind = np.random.default_rng(0), np.dtype(dtype)
    if kind.kind == "f":
        return rng.standard_normal(size).astype(kind)
    limits = np.iinfo(kind)
    return rng.integers(limits.min, limits.max, size, dtype=kind, endpoint=True)


@click.command(cls=Program)
@click.option("--size", "sizes", type=click.IntRange(1, 2**30), multiple=True, default=(2**16, 2**26))
@click.option(
    "--dtype",
    "dtypes",
    type=click.Choice(("uint8", "int32", "int64", "float32", "float64")),
    multiple=True,
    default=("float32", "float64", "int32"),
)
@device_argument
def main(sizes: tuple[int, ...], dtypes: tuple[str, ...], selector: str | None) -> None:
    """Measure and print."""
    device = chosen(selector)
    peer = peer_of(device.device_type)
    click.echo(f"{device.name}, beside {peer.__name__} {peer.__version__}")
    with cuda.select_device(device):
        for size in sizes:
            for dtype in dtypes:
                found = measured(sample(size, dtype), peer)
                told = (f"{n} {own * 1e3:.4g} ms ({their / own:.3f})" for n, (their, own) in found.items())
                click.echo(f"{size} {dtype}: {'; '.join(told)}")


if __name__ == "__main__":
    main()
