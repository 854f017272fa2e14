"""Random numbers beside CuPy's (Philox, XORWOW) or NumPy's: ``python -m portagpu.bench.random_numbers [SIZE]``.

Peers take turns; each time is the least of several rounds, of a call that makes a new array, with its launch. What is
compared is CuPy where it is importable and sees a card, else NumPy.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.random.generator import default_rng

_ROUNDS = 7
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


def peers() -> dict[str, tuple[Any, Callable[[], None]]]:
    """Generators to compare with, and what waits for their work."""
    try:
        cupy = importlib.import_module("cupy")
        cupy.cuda.runtime.getDeviceCount()
    except Exception:  # CuPy has errors of its own for each driver that is missing
        return {"numpy": (np.random.default_rng(1), lambda: None)}
    wait = cupy.cuda.Device().synchronize
    philox = cupy.random.Generator(cupy.random.Philox4x3210(1))
    return {"cupy-philox": (philox, wait), "cupy-xorwow": (cupy.random.Generator(cupy.random.XORWOW(1)), wait)}


def least_times(calls: dict[str, tuple[Callable[[], Any], Callable[[], None]]]) -> dict[str, float]:
    """Seconds of each, in turns."""
    found = dict.fromkeys(calls, float("inf"))
    for turn in range(_ROUNDS + 1):
        for name, (run, wait) in calls.items():
            wait()
            begin = time.perf_counter()
            run()
            wait()
            if turn:
                found[name] = min(found[name], time.perf_counter() - begin)
    return found


def main(arguments: list[str]) -> int:
    """Print a line for each method: milliseconds, and how many times as fast as the fastest peer ours is."""
    size = int(float(arguments[0])) if arguments else 2**24
    print(f"{size} numbers on {cuda.get_current_device().name}, ms")
    others = peers()
    ours = default_rng(1)
    for name, parameters, dtype in _CASES:
        calls: dict[str, tuple[Callable[[], Any], Callable[[], None]]] = {
            "portagpu": (lambda n=name, p=parameters, d=dtype: call(ours, n, p, d, size), cuda.synchronize)  # type: ignore[misc]
        }
        for peer, (generator, wait) in others.items():
            if hasattr(generator, name):
                calls[peer] = (
                    lambda g=generator, n=name, p=parameters, d=dtype: call(g, n, p, d, size),  # type: ignore[misc]
                    wait,
                )
        times = least_times(calls)
        own = times.pop("portagpu")
        shown = "  ".join(f"{peer} {1e3 * seconds:9.3f}" for peer, seconds in times.items())
        ratio = f"x{min(times.values()) / own:.2f}" if times else ""
        print(f"{name:22}{dtype or '':10}{1e3 * own:9.3f}  {shown}  {ratio}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
