"""`sger`, `dger`, `cgeru`, `cgerc`, `zgeru` and `zgerc`: an outer product added to a matrix."""

from __future__ import annotations

from functools import partial
from typing import Any

from portagpu.blas.host_arrays import on_device
from portagpu.blas.level2.updates.update import Outer, add_products
from portagpu.blas.scipy_arguments import Routine, in_dtype, integer, may_overwrite
from portagpu.errors import ShapeError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

Array = Any


def ger(
    alpha: complex, x: DeviceNDArray, y: DeviceNDArray, a: DeviceNDArray, stream: Stream, *, conjugate: bool = False
) -> None:
    """``a = alpha * x * y^T + a``, with ``conjugate`` of y's conjugate; enqueued.

    x (m), y (n), a (m, n): device arrays of any strides and of one dtype; a must not overlap x or y. With ``alpha`` 0,
    nothing is read or written.
    """
    if a.size and alpha != 0:
        add_products(a, (Outer(alpha, x, y, conjugate_y=conjugate),), stream)


def _ger(
    routine: Routine,
    /,
    alpha: Any,
    x: Array,
    y: Array,
    incx: int = 1,
    incy: int = 1,
    a: Array = None,
    overwrite_x: int = 1,
    overwrite_y: int = 1,
    overwrite_a: int = 0,
    *,
    stream: Stream | None = None,
) -> Array:
    left, right = _vector(routine, x, "x", incx, stream), _vector(routine, y, "y", incy, stream)
    may_overwrite(overwrite_x, "x")  # what SciPy may do with them, and this never does
    may_overwrite(overwrite_y, "y")
    factor, overwrite = routine.scalar(alpha, "alpha"), may_overwrite(overwrite_a, "a")
    shape = (left.shape[0], right.shape[0])
    if a is None:
        result = routine.zeros(left, shape, stream)
    else:
        matrix = routine.matrix(a, "a")
        if matrix.shape != shape:
            raise ShapeError(f"a has shape {matrix.shape}; x and y make {shape}", hint="pass an a of that shape")
        result = routine.target(matrix, a, overwrite=overwrite, stream=stream)
    if factor != 0 and result.size:
        call = partial(_enqueue, factor, routine.family == "gerc")
        on_device(call, stream, reads={"x": left, "y": right}, updates={"a": result})
    return result


def _enqueue(
    alpha: complex, conjugate: bool, x: DeviceNDArray, y: DeviceNDArray, a: DeviceNDArray, stream: Stream
) -> None:
    ger(alpha, x, y, a, stream, conjugate=conjugate)


def _vector(routine: Routine, given: Array, name: str, increment: Any, stream: Stream | None) -> Array:
    """A vector as it is, or from its end. Raises `ShapeError` for an increment but 1 and -1, as SciPy has it."""
    step = integer(increment, f"inc{name}")
    if step not in (1, -1):
        raise ShapeError(
            f"inc{name} of {routine.name} is {step}", hint=f"it is 1 or -1: pass every other element as {name}[::2]"
        )
    vector = routine.vector(given, name, stream)
    return vector if step == 1 else vector[::-1]


sger = in_dtype(
    _ger,
    "sger",
    "float32",
    """``alpha * x * y^T + a`` in float32, as `scipy.linalg.blas.sger`: a matrix (m, n).

    x, y: vectors (m) and (n), read from the end where ``incx`` (``incy``) is -1. a: a matrix, or zeros without one;
    left as it is unless ``overwrite_a``. All are NumPy arrays (or what becomes some; those of other dtypes are
    converted), or all are device arrays of that dtype. ``overwrite_x`` and ``overwrite_y`` are SciPy's: x and y stay as
    they are. With ``alpha`` 0, neither x nor y is read. For device arrays the update is enqueued on ``stream``.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """,
)
dger = in_dtype(_ger, "dger", "float64", "As `sger`, in float64.")
cgeru = in_dtype(_ger, "cgeru", "complex64", "As `sger`, in complex64.", family="geru")
zgeru = in_dtype(_ger, "zgeru", "complex128", "As `sger`, in complex128.", family="geru")
cgerc = in_dtype(
    _ger, "cgerc", "complex64", "As `cgeru`, with the conjugate of y: ``alpha * x * y^H + a``.", family="gerc"
)
zgerc = in_dtype(_ger, "zgerc", "complex128", "As `cgerc`, in complex128.", family="gerc")
