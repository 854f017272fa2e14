"""`numpy.matmul` and ``a @ b`` of device arrays: `portagpu.matmul` with NumPy's dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.blas.arguments import check_kind_of_out
from portagpu.blas.matmul import matmul
from portagpu.errors import ShapeError
from portagpu.expressions.apply import check_fits
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.checks import host_array
from portagpu.ufuncs.operands import array_of


def array_product(a: Any, b: Any, out: Any = None) -> Any:
    """The product of operands that are promoted as NumPy does; of bytes also in the end, where it wraps around.

    ``out``: of another dtype, it takes the product in the operands' dtype, cast. Raises what `portagpu.matmul` raises.
    """
    a, b = _beside_each_other(a, b)
    kind, other = getattr(a, "dtype", None), getattr(b, "dtype", None)
    if kind is None or other is None:
        return matmul(a, b, out)
    if kind != other and kind.kind in "biufc" and other.kind in "biufc":
        kind = np.result_type(kind, other)
        a, b = (x.astype(kind, copy=False) for x in (a, b))
    if isinstance(out, DeviceNDArray) and out.dtype != kind and {out.dtype.kind, kind.kind} <= set("biufc"):
        check_fits(kind, out.dtype)
    elif kind.itemsize > 1 or kind.kind not in "iu":
        return matmul(a, b, out)
    if out is not None:
        check_kind_of_out(out, isinstance(a, DeviceNDArray), "matmul")
    found = matmul(a, b).astype(kind, copy=False)
    if out is None:
        return found
    _check_shape(out, found)
    out[...] = found
    return out


def _beside_each_other(a: Any, b: Any) -> tuple[Any, Any]:
    """What is NumPy's, or a list, copied to the device of the other operand; numbers are for the product to refuse."""
    device = a if isinstance(a, DeviceNDArray) else b
    if type(a) is type(b) or not isinstance(device, DeviceNDArray):
        return a, b
    host = b if device is a else a
    is_array = isinstance(host, np.ndarray | list | tuple | range) and not isinstance(host, np.ma.MaskedArray)
    if not is_array or not np.ndim(host):
        return a, b
    moved = array_of(host_array(host), device.context)
    return (a, moved) if device is a else (moved, b)


def _check_shape(out: Any, found: Any) -> None:
    """``out`` has the product's shape, not one that it broadcasts to."""
    if out.shape != found.shape:
        raise ShapeError(f"the product has the shape {found.shape}, out {out.shape}")
