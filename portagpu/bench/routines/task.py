"""What is measured of a routine: operands, the call, what it has to compute and move, and the check of its result.

A call is written once: `portagpu.blas` and `portagpu.lapack` have the functions of SciPy's modules, so that the same
call is ours with device arrays, and SciPy's. Checks compute in float64. What takes O(n^3) work is checked with random
sign vectors (Freivalds): ``C v`` against the operands applied to v one after the other.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from portagpu.bench.method.turns import Call, Clock
from portagpu.runtime.arrays.array import DeviceNDArray

Array = np.ndarray[Any, Any]
Arrays = dict[str, Any]
Check = Callable[[Any], float]

VECTORS = 4
_LAMBDA = 8.0  # tolerances hold except with a probability that falls exponentially with its square
LETTERS = {"float32": "s", "float64": "d"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What NumPy or SciPy is told to do: its name, and ``prepare(arrays)``, which makes the call that is timed."""

    name: str
    prepare: Callable[[Arrays], Callable[[], Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A routine with operands.

    ``library``: "blas", "lapack" or "linalg"; ``arrays``: by name, matrices in Fortran order, batches in C order;
    ``call(function, arrays)`` computes once and returns what the function does; ``error(result)``: the largest error
    of a first call's result, relative to the tolerance. ``work``: operations if ``unit`` is "GFLOP/s", bytes that must
    be moved if it is "GB/s". ``own``: our function, where it has no name of BLAS or LAPACK; ``on_numpy``: what NumPy
    and SciPy compute it with, if not with one call of the function of that name.
    """

    name: str
    dtype: str
    n: int
    size: str
    library: str
    arrays: Arrays
    call: Callable[[Callable[..., Any], Arrays], Any]
    error: Check
    work: float
    unit: str
    own: str = ""
    on_numpy: Program | None = None

    @property
    def function(self) -> str:
        """The function's name: "saxpy"."""
        if self.own:
            return self.own
        letter = LETTERS[self.dtype]
        return f"i{letter}amax" if self.name == "amax" else letter + self.name.partition("-")[0]


def call_of(
    function: Callable[..., Any],
    task: Task,
    arrays: Arrays,
    wait: Callable[[], Any] = lambda: None,
    clock: Clock | None = None,
) -> Call:
    """A task's call of a function on these arrays, ready to be repeated."""
    held: dict[str, Any] = {}

    def enqueue() -> None:
        held["result"] = task.call(function, arrays)

    return Call(enqueue=enqueue, wait=wait, fetch=lambda: _on_host(held["result"]), clock=clock)


def _on_host(found: Any) -> Any:
    if isinstance(found, tuple):
        return tuple(map(_on_host, found))
    return found.copy_to_host() if isinstance(found, DeviceNDArray) else found


def copies(task: Task) -> Arrays:
    """The task's arrays, for calls that write into them."""
    return {name: x.copy(order="K") for name, x in task.arrays.items()}


def scipy_call(task: Task) -> Call:
    """SciPy's call, or NumPy's, on copies of the task's arrays. Raises ImportError where it is not installed."""
    if task.on_numpy is not None:
        return call_of(task.on_numpy.prepare(copies(task)), replace(task, call=lambda program, _: program()), {})
    library = importlib.import_module(f"scipy.linalg.{task.library}")
    return call_of(getattr(library, task.function), task, copies(task))


def rounding(dtype: str) -> float:
    """What tolerances are multiples of: the dtype's rounding, and that of the check itself, which is in float64."""
    return _LAMBDA * float(np.finfo(dtype).eps + 2 * np.finfo(np.float64).eps)


def random(seed: int, shape: tuple[int, ...], dtype: str) -> Array:
    """Normally distributed numbers; matrices in Fortran order."""
    found: Array = np.random.default_rng(seed).standard_normal(shape[::-1], np.dtype(dtype).type).T
    return found


def largest(found: Any, expected: Array, tolerance: Any) -> float:
    """The largest error relative to the tolerance."""
    return float(np.max(np.abs(np.asarray(found, np.float64) - expected) / tolerance, initial=0.0))


def matrix_of(n: int, dtype: str, *, dominant: bool = False) -> Array:
    """A square matrix, if wanted with triangles that are well conditioned."""
    a = random(3, (n, n), dtype)
    if dominant:
        a /= n
        a[np.arange(n), np.arange(n)] = 2.0
    return a


def magnitudes(a: Array, x: Array) -> Array:
    """The sums of a product's terms' magnitudes."""
    found: Array = np.abs(a) @ np.abs(x)
    return found
