"""dot, nrm2, asum and amax under the names of `scipy.linalg.blas`: `sdot`, `scnrm2`, `izamax` ..."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from portagpu.blas.host_arrays import on_device
from portagpu.blas.level1 import reductions
from portagpu.blas.replay.host_trace import new_host, number_in
from portagpu.blas.scipy_arguments import Routine, in_dtype
from portagpu.blas.scipy_vectors import count, section
from portagpu.errors import ShapeError
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution.stream import Stream

Array = Any


def _dot(
    routine: Routine,
    /,
    x: Array,
    y: Array,
    n: int | None = None,
    offx: int = 0,
    incx: int = 1,
    offy: int = 0,
    incy: int = 1,
    *,
    stream: Stream | None = None,
) -> Any:
    left = section(routine.vector(x, "x", stream), "x", offx, incx)
    right = section(routine.vector(y, "y", stream), "y", offy, incy)
    n = count(routine, n, left.whole_steps)
    call = partial(reductions.dot, conjugate=routine.family == "dotc")
    return _reduced("dot", call, routine, {"x": left.view(n, counted=True), "y": right.view(n, counted=True)}, stream)


def _of_one(
    routine: Routine,
    /,
    x: Array,
    n: int | None = None,
    offx: int = 0,
    incx: int = 1,
    *,
    stream: Stream | None = None,
) -> Any:
    """A routine on one vector; a negative increment means no elements, as in BLAS, or is refused."""
    given = section(routine.vector(x, "x", stream), "x", offx, incx)
    if given.increment < 0 and routine.family == "nrm2":
        raise ShapeError(
            f"incx of {routine.name} is {given.increment}", hint="it is positive: the order of elements does not matter"
        )
    vectors = {"x": given.view(count(routine, n, given.whole_steps), counted=True)}
    if given.increment < 0:
        vectors["x"] = vectors["x"][:0]
    return _reduced(routine.family, _OF_ONE[routine.family], routine, vectors, stream)


_OF_ONE: dict[str, Any] = {"nrm2": reductions.nrm2, "asum": reductions.asum, "amax": reductions.amax}


def _reduced(name: str, call: Any, routine: Routine, vectors: dict[str, Any], stream: Stream | None) -> Any:
    """The result as a number of Python's for NumPy arrays, as an array without axes for device arrays."""
    x, dtype = vectors["x"], reductions.result_dtype(name, routine.dtype)
    on_it = isinstance(x, DeviceNDArray)
    if x.size == 0:  # no element is the largest
        nothing = np.array(-1 if name == "amax" else 0, dtype)
        return to_device(nothing, context=x.context) if on_it else nothing.item()
    result: Any = device_array((1,), dtype, context=x.context) if on_it else new_host((1,), dtype)
    on_device(call, stream, reads=vectors, results={"result": result})
    return result.reshape(()) if on_it else number_in(result)


sdot = in_dtype(
    _dot,
    "sdot",
    "float32",
    """The sum of ``x * y`` in float32, as `scipy.linalg.blas.sdot`; in the same order, to the same bits, each time.

    x, y: vectors, both NumPy arrays (or what becomes some), which give a float, or both device arrays, which give a
    device array without axes, enqueued on ``stream``. NumPy arrays of other dtypes are converted, device arrays must be
    float32. ``n`` elements of each: those from ``offx`` on, ``incx`` apart, backwards where that is negative; by
    default ``(len(x) - offx) // abs(incx)``.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `OutOfMemoryError`.
    """,
)
ddot = in_dtype(_dot, "ddot", "float64", "As `sdot`, in float64.")
cdotu = in_dtype(_dot, "cdotu", "complex64", "As `sdot`, in complex64: a complex number.")
zdotu = in_dtype(_dot, "zdotu", "complex128", "As `sdot`, in complex128: a complex number.")
cdotc = in_dtype(_dot, "cdotc", "complex64", "The sum of ``conj(x) * y`` in complex64. See `sdot`.", family="dotc")
zdotc = in_dtype(_dot, "zdotc", "complex128", "The sum of ``conj(x) * y`` in complex128. See `sdot`.", family="dotc")

snrm2 = in_dtype(
    _of_one,
    "snrm2",
    "float32",
    """The Euclidean norm of x in float32, as `scipy.linalg.blas.snrm2`, without spurious overflow or underflow.

    ``incx`` is positive. See `sdot`. Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `OutOfMemoryError`.
    """,
    family="nrm2",
)
dnrm2 = in_dtype(_of_one, "dnrm2", "float64", "As `snrm2`, in float64.", family="nrm2")
scnrm2 = in_dtype(_of_one, "scnrm2", "complex64", "As `snrm2`, of complex64: a real number.", family="nrm2")
dznrm2 = in_dtype(_of_one, "dznrm2", "complex128", "As `snrm2`, of complex128: a real number.", family="nrm2")

sasum = in_dtype(
    _of_one,
    "sasum",
    "float32",
    """The sum of magnitudes of x in float32, as `scipy.linalg.blas.sasum`. 0 if ``incx`` is negative. See `sdot`.""",
    family="asum",
)
dasum = in_dtype(_of_one, "dasum", "float64", "As `sasum`, in float64.", family="asum")
scasum = in_dtype(
    _of_one, "scasum", "complex64", "The sum of ``|re| + |im|`` of complex64. See `sasum`.", family="asum"
)
dzasum = in_dtype(
    _of_one, "dzasum", "complex128", "The sum of ``|re| + |im|`` of complex128. See `sasum`.", family="asum"
)

isamax = in_dtype(
    _of_one,
    "isamax",
    "float32",
    """The index, from 0 on, of the first largest magnitude in x, as `scipy.linalg.blas.isamax`; -1 of no elements.

    Where x has nan, it is the first one's, as of `numpy.argmax`. Elements are counted in steps of ``incx``; where that
    is negative, there are none. Of device arrays it is an int64 in a device array without axes. See `sdot`.
    """,
    family="amax",
)
idamax = in_dtype(_of_one, "idamax", "float64", "As `isamax`, in float64.", family="amax")
icamax = in_dtype(_of_one, "icamax", "complex64", "As `isamax`, of ``|re| + |im|`` of complex64.", family="amax")
izamax = in_dtype(_of_one, "izamax", "complex128", "As `isamax`, of ``|re| + |im|`` of complex128.", family="amax")
