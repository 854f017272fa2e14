"""Cases of BLAS, LAPACK and `portagpu.linalg`: every function, with arguments after the names of its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from portagpu import blas, cuda, lapack, linalg
from portagpu.checking.shipped.launches import Case
from portagpu.device.capabilities import Capabilities

GROUP = "blas"
_SIZES = (300, 3000)
_LONG = 1_000_000  # elements of vectors
_BAND = 7  # rows of banded storage
_BATCH = (1000, 16)  # matrices, and their rows
_BANDED = ("gbmv", "sbmv", "hbmv", "tbmv", "tbsv")
_HALVES = ("matmul", "matvec", "vecmat", "axpy", "scal", "norm", "vecdot")  # of `linalg`, which take float16, too


def cases(caps: Capabilities) -> Iterator[Case]:
    """All of them for a device."""
    for library in (blas, lapack):
        for name in library.ROUTINES:
            function = getattr(library, name)
            if caps.fp64 or function.dtype.name not in ("float64", "complex128"):
                sizes = _SIZES if library is lapack or "level1" not in function.__module__ else (*_SIZES, _LONG)
                for n in sizes:
                    yield Case(GROUP, f"{library.__name__.rpartition('.')[2]}.{name} {n}", partial(_call, function, n))
    for name in linalg.__all__:
        for dtype in ("float32", "float64", "complex64", "complex128", *(("float16",) if name in _HALVES else ())):
            if caps.fp64 or dtype not in ("float64", "complex128"):
                function = getattr(linalg, name)
                text = f"linalg.{name} {dtype}"
                yield Case(GROUP, f"{text} {_SIZES[0]} x {_SIZES[0]}", partial(_solve, function, dtype, ()))
                yield Case(GROUP, f"{text} batch of {_BATCH[0]}", partial(_solve, function, dtype, _BATCH[:1]))


def _array(shape: int | tuple[int, ...], dtype: Any, order: str = "F") -> Any:
    return cuda.device_array(shape, dtype, order=order)


def _call(function: Callable[..., Any], n: int) -> None:
    """A function of BLAS's or LAPACK's names."""
    dtype, name = np.dtype(function.dtype), function.__name__  # type: ignore[attr-defined]
    given = {
        parameter.name: _argument(parameter.name, name, n, dtype)
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is parameter.empty
    }
    function(**given)


_NUMBERS = {
    "lwork": 1 << 20,
    "k": _BAND // 2,
    "kl": 2,
    "ku": 2,
    "alpha": 2.0,
    "beta": 0.5,
    "s": 0.5,
    "d1": 1.0,
    "d2": 2.0,
}
_NUMBERS |= {"x1": 1.0, "y1": 2.0}
_WORDS = {"side": "L", "trans": "N"}
_SIZES_OF = ("m", "n")
_VECTORS, _MATRICES = ("x", "y", "tau"), ("a", "b", "c", "lu")
PARAMETERS = frozenset({*_NUMBERS, *_WORDS, *_SIZES_OF, *_VECTORS, *_MATRICES, "ap", "param", "piv"})
"""Names of parameters that have values here."""


def _argument(parameter: str, routine: str, n: int, dtype: np.dtype[Any]) -> Any:
    """What a parameter of this name takes; letters of the routine's name decide where that differs."""
    assert parameter in PARAMETERS, (routine, parameter)
    if routine.endswith("rotg"):
        return 1.0
    if (routine.endswith("scal") and parameter == "a") or (routine.endswith("rot") and parameter == "c"):
        return 0.5
    if parameter in _SIZES_OF:
        return n
    if parameter in _NUMBERS or parameter in _WORDS:
        return {**_NUMBERS, **_WORDS}[parameter]
    if parameter == "param":
        return np.array([-1, 1, 2, 3, 4], dtype)
    if parameter == "piv":
        return _array(n, np.int32)
    if parameter == "ap":
        return _array(n * (n + 1) // 2, dtype)
    if parameter in _VECTORS:
        return _array(n, dtype)
    banded = routine[1:] in _BANDED and parameter == "a"
    return _array((_BAND, n) if banded else (n, n), dtype)


def _solve(function: Callable[..., Any], dtype: str, batch: tuple[int, ...]) -> None:
    """A function of `linalg`, of one matrix or of a batch of small ones."""
    n = _BATCH[1] if batch else _SIZES[0]
    matrix, vector = _array((*batch, n, n), dtype, "C"), _array((*batch, n), dtype, "C")
    known: dict[str, Any] = {"a": matrix, "b": matrix, "x": vector, "x1": vector, "x2": vector, "y": vector}
    known |= {"alpha": 2.0, "factors": (matrix, _array((*batch, n), np.int32, "C"))}
    if function.__name__.endswith("_batched"):
        known |= {name: [_array((n, n) if name in "ab" else n, dtype, "C") for _ in range(3)] for name in "abx"}
    parameters = inspect.signature(function).parameters.values()
    function(*(known[p.name] for p in parameters if p.default is p.empty))
