"""NumPy's functions that print and save device arrays, and look at their memory: elements are read by the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu import primitives
from portagpu.errors import ShapeError
from portagpu.expressions.apply import apply
from portagpu.expressions.reductions import functions
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.numpy_dispatch import ANY_KEYWORDS, register
from portagpu.runtime.arrays.overlap import may_overlap
from portagpu.xp.conversion import array_of


def _host(value: Any) -> Any:
    return value.copy_to_host() if isinstance(value, DeviceNDArray) else value


def _of_host(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose result is text or a file."""

    def call(*args: Any, **options: Any) -> Any:
        return function(*map(_host, args), **{name: _host(value) for name, value in options.items()})

    return call


def _savetxt(fname: Any, X: Any, *args: Any, **options: Any) -> None:
    if np.ndim(X) not in (1, 2):
        raise ShapeError(f"lines of text are those of one or two axes, not of shape {np.shape(X)}")
    _of_host(np.savetxt)(fname, X, *args, **options)


register("savetxt", _savetxt, ANY_KEYWORDS)
for _function in (np.array2string, np.array_repr, np.array_str, np.savez, np.savez_compressed):
    register(_function.__name__, _of_host(_function), ANY_KEYWORDS)


def _shares(a: Any, b: Any, max_work: Any = None) -> bool:
    """Whether arrays have elements of the same memory in reach."""
    if not (isinstance(a, DeviceNDArray) and isinstance(b, DeviceNDArray)) or a.context is not b.context:
        return False
    if not a.size or not b.size or a.allocation_key != b.allocation_key:
        return bool(a.size and b.size and may_overlap((a, b)))
    return bool(np.shares_memory(np.asarray(_Lying(a)), np.asarray(_Lying(b)), max_work=max_work))


def _may_share(a: Any, b: Any, max_work: Any = None) -> bool:
    if not (isinstance(a, DeviceNDArray) and isinstance(b, DeviceNDArray)) or a.context is not b.context:
        return False
    return bool(a.size and b.size and may_overlap((a, b)))


class _Lying:
    """The array interface of memory that begins at the array's offset: NumPy only compares addresses."""

    def __init__(self, x: DeviceNDArray) -> None:
        self.__array_interface__ = {
            "version": 3,
            "shape": x.shape,
            "strides": x.strides,
            "typestr": x.dtype.str,
            "data": (2**20 + x.offset, True),
        }


register("shares_memory", _shares, frozenset({"max_work"}))
register("may_share_memory", _may_share, frozenset({"max_work"}))


def _real_if_close(a: Any, tol: float = 100) -> DeviceNDArray:
    """The real parts, where all imaginary ones are next to nothing, for which the host waits."""
    x = array_of(a)
    if x.dtype.kind != "c":
        return x
    bound = tol * np.finfo(x.dtype).eps if tol > 1 else tol
    near = functions.reduce(np.logical_and, apply(np.less, apply(np.absolute, x.imag), bound), None)
    return x.real if bool(near) else x


def _sort_complex(a: Any) -> DeviceNDArray:
    """Sorted along the last axis, as complex numbers."""
    x = primitives.sort(array_of(a))
    is_small = (x.dtype.kind in "iu" and x.dtype.itemsize <= 2) or not x.context.capabilities.fp64
    kind = x.dtype if x.dtype.kind == "c" else np.dtype(np.complex64 if is_small else np.complex128)
    return x.astype(kind, copy=False)


register("real_if_close", _real_if_close, frozenset({"tol"}))
register("sort_complex", _sort_complex, frozenset())
