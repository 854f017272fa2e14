"""`transpose`, under CUDA-Python's module name."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs

from __future__ import annotations

from portagpu.errors import ArgumentTypeError, ShapeError
from portagpu.runtime.arrays.array import DeviceNDArray, device_array

__all__ = ["transpose"]


def transpose(a: DeviceNDArray, b: DeviceNDArray | None = None) -> DeviceNDArray:
    """Copy the transpose of a device array of two axes, ``a``, into ``b``, and return ``b``.

    ``b`` has the shape of ``a.T`` and its dtype, in any order; it is a new array in C order unless given. The work is
    in the array's stream. Raises `ShapeError` unless the shapes fit, `ArgumentTypeError` for other arrays.
    """
    for array in (a, b):
        if array is not None and not isinstance(array, DeviceNDArray):
            raise ArgumentTypeError(
                f"transpose takes device arrays, not {type(array).__name__}", hint="use cuda.to_device(x)"
            )
    if a.ndim != 2:
        raise ShapeError(f"transpose takes an array of two axes, not of {a.ndim}", hint="use x.transpose(axes)")
    if b is None:
        b = device_array(a.shape[::-1], a.dtype, stream=a.stream, context=a.context)
    b.copy_to_device(a.T, a.stream)
    return b
