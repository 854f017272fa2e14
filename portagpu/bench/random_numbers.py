"""Random numbers beside CuPy's on a card (Philox, XORWOW), beside NumPy's elsewhere.

Run it as ``python -m portagpu.bench.random_numbers [--size N]... [DEVICE]``.

Peers take turns. What is told is the median of the turns, in milliseconds of a call that makes a new array, and the
fastest peer's time over ours.
"""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable
from typing import Any

import click
import numpy as np

from portagpu import cuda
from portagpu.bench.program import Program, chosen, device_argument
from portagpu.device.capabilities import DeviceType
from portagpu.random.generator import default_rng

_TURNS = 9
Call = tuple[Callable[[], Any], Callable[[], None]]  # and what waits for its work
_CASES: tuple[tuple[str, tuple[Any, ...], str | None], ...] = (
    ("random", (), "float32"),
    ("random", (), "float64"),
    ("standard_normal", (), "float32"),
    ("standard_normal", (), "float64"),
    ("standard_exponential", (), "float32"),
    ("standard_exponential", (), "float64"),
    ("integers", (0, 1000), None),
    ("standard_gamma", (2.5,), "float32"),
    ("poisson", (100.0,), None),
    ("permutation", (), None),
)


def call(generator: Any, name: str, parameters: tuple[Any, ...], dtype: str | None, size: int) -> Any:
    """One call of a generator's method."""
    if name == "permutation":
        return generator.permutation(size)
    keywords = {} if dtype is None else {"dtype": np.dtype(dtype)}
    return getattr(generator, name)(*parameters, size=size, **keywords)


def peers(device_type: DeviceType) -> dict[str, tuple[Any, Callable[[], None]]]:
    """Generators to compare with, and what waits for their work: CuPy's where the device is a GPU that it finds."""
    numpy = {"numpy": (np.random.default_rng(1), lambda: None)}
    if device_type is not DeviceType.GPU:
        return numpy
    try:
        cupy = importlib.import_module("cupy")
        wait = cupy.cuda.Device().synchronize
        philox = cupy.random.Generator(cupy.random.Philox4x3210(1))
        return {"philox": (philox, wait), "xorwow": (cupy.random.Generator(cupy.random.XORWOW(1)), wait)}
    except Exception:  # CuPy's own errors, of whatever kind, mean that there is no peer
        return numpy


def in_turns(calls: dict[str, Call]) -> dict[str, float]:
    """Seconds of each."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(_TURNS + 1):
        for name, (run, wait) in calls.items():
            wait()
            begin = time.perf_counter()
            run()
            wait()
            if turn:  # the first one compiles
                found[name].append(time.perf_counter() - begin)
    return {name: statistics.median(times) for name, times in found.items()}


def _calling(generator: Any, case: tuple[str, tuple[Any, ...], str | None], size: int) -> Callable[[], Any]:
    return lambda: call(generator, *case, size)


@click.command(cls=Program)
@click.option("--size", "sizes", type=click.IntRange(1, 2**30), multiple=True, default=(2**16, 2**24))
@device_argument
def main(sizes: tuple[int, ...], selector: str | None) -> None:
    """Measure and print."""
    device = chosen(selector)
    others = peers(device.device_type)
    click.echo(f"{device.name}, beside {', '.join(others)}")
    with cuda.select_device(device):
        ours = default_rng(1)
        for size in sizes:
            for case in _CASES:
                calls: dict[str, Call] = {"portagpu": (_calling(ours, case, size), cuda.synchronize)}
                for peer, (generator, wait) in others.items():
                    if hasattr(generator, case[0]):
                        calls[peer] = _calling(generator, case, size), wait
                times = in_turns(calls)
                own = times.pop("portagpu")
                ratio = f" ({min(times.values()) / own:.3f})" if times else ""
                click.echo(f"{size} {case[0]} {case[2] or ''}: {own * 1e3:.4g} ms{ratio}")


if __name__ == "__main__":
    main()
