"""Products of integers and bools, as products of unsigned integers, which wrap around alike.

Modulo 2^n, sums and products have the same bits whether the highest one is a sign or not, and unsigned numbers are the
ones that C lets wrap. So kernels know three dtypes (`problem.UNSIGNED`), and arrays of the others are read as these. A
product of bools is one of bytes, whose sums are told to be zero or not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.blas.gemm.core.accumulation import OUTPUTS
from portagpu.blas.gemm.core.operands import index_type, with_strides
from portagpu.blas.gemm.core.problem import UNSIGNED
from portagpu.blas.gemm.core.vector_types import name_of
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.gemm.kernels.epilogue import convert_elements, tell_truth
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.copies import copy_strided
from portagpu.runtime.execution.context import context_of
from portagpu.runtime.execution.stream import Stream

WHOLE = ("int16", "uint16", "int32", "uint32", "int64", "uint64", "bool")
"""Dtypes whose products are of their own dtype and wrap around; for those of int8 and uint8 there are others."""

Multiply = Callable[[DeviceNDArray, DeviceNDArray, DeviceNDArray, complex, complex], None]

_THREADS = 64


def is_whole(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is one of `WHOLE`."""
    return name_of(dtype) in WHOLE


def kernels_dtype(name: str) -> str:
    """The dtype as which kernels read operands of a dtype."""
    if name == "bool":
        return "uint8"
    return UNSIGNED[8 * np.dtype(name).itemsize] if name in WHOLE else name


def is_converted(a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray) -> bool:
    """Whether kernels do not get the arrays of a product as they are, but as what `multiply_whole` makes of them."""
    return is_whole(c.dtype) and not (a.dtype == b.dtype and name_of(c.dtype) in OUTPUTS.get(name_of(a.dtype), ()))


def multiply_whole(
    a: DeviceNDArray,
    b: DeviceNDArray,
    c: DeviceNDArray,
    alpha: complex,
    beta: complex,
    stream: Stream,
    multiply: Multiply,
) -> None:
    """Enqueue ``c = alpha * a @ b + beta * c`` by ``multiply``, which gets arrays and factors that kernels take.

    Dtypes of a and b may differ if they are integers or bools: both are converted to that of c first. ``multiply`` gets
    everything as it is where sums are floats, or int32 as those of bytes are.
    """
    if not is_converted(a, b, c):
        multiply(a, b, c, alpha, beta)
        return
    if c.size == 0:
        return
    if c.dtype.kind == "b":
        counts = workspaces.of(stream, "counts", c.shape, np.dtype(np.int32))
        multiply(_as_kernels_do(a), _as_kernels_do(b), counts, 1, 0)
        _tell_truth(counts, c, stream)
        return
    a, b = (_converted(x, c.dtype, role, stream) for x, role in ((a, "wider a"), (b, "wider b")))
    bits = 8 * c.itemsize
    factors = (int(alpha.real) % 2**bits, int(beta.real) % 2**bits)
    multiply(_as_kernels_do(a), _as_kernels_do(b), _as_kernels_do(c), *factors)


def _as_kernels_do(x: DeviceNDArray) -> DeviceNDArray:
    """The same memory, read as kernels read it."""
    dtype = kernels_dtype(name_of(x.dtype))
    return x if name_of(x.dtype) == dtype else with_strides(x, x.shape, x.strides, np.dtype(dtype))


def _converted(x: DeviceNDArray, dtype: np.dtype[Any], role: str, stream: Stream) -> DeviceNDArray:
    """An operand in a dtype that holds its numbers."""
    if x.dtype == dtype or x.size == 0:
        return x if x.dtype == dtype else with_strides(x, x.shape, (0,) * x.ndim, dtype)
    made = workspaces.of(stream, role, x.shape, dtype)
    convert_elements[_grid(x, stream), _threads(stream), stream](_in_order(x, role, stream), made, _count(made))
    return made


def _tell_truth(counts: DeviceNDArray, c: DeviceNDArray, stream: Stream) -> None:
    """Write which numbers are not zero."""
    target = c if c.layout == "C" else workspaces.of(stream, "truth", c.shape, c.dtype)
    tell_truth[_grid(c, stream), _threads(stream), stream](counts, target, _count(counts))
    if target is not c:
        copy_strided(target, c, stream)


def _in_order(x: DeviceNDArray, role: str, stream: Stream) -> DeviceNDArray:
    """Elements in C order without gaps, copied if they lie otherwise."""
    if x.layout == "C":
        return x
    made = workspaces.of(stream, f"{role} in order", x.shape, x.dtype)
    copy_strided(x, made, stream)
    return made


def _count(x: DeviceNDArray) -> Any:
    return index_type(x)(x.size)


def _grid(x: DeviceNDArray, stream: Stream) -> int:
    return -(-x.size // _threads(stream))


def _threads(stream: Stream) -> int:
    return min(_THREADS, context_of(stream).capabilities.max_work_group_size)
