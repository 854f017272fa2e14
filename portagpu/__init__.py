"""CUDA-style kernels in Python on any OpenCL device, and a portable tuned BLAS."""

# ruff: noqa: E402  (the guard stands before imports that take their time)
from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

from portagpu import interrupted

interrupted.guard()

from portagpu import cuda, errors, types
from portagpu.dispatch.arguments.typeof import typeof
from portagpu.errors import unknown_attribute
from portagpu.runtime.arrays import numpy_dispatch
from portagpu.types import (
    Signature,
    bfloat16,
    boolean,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    from_dtype,
    int8,
    int16,
    int32,
    int64,
    none,
    uint8,
    uint16,
    uint32,
    uint64,
    void,
)
from portagpu.ufuncs.decorators import guvectorize, vectorize
from portagpu.version import __version__


@overload
def matmul(
    a: DeviceNDArray,
    b: DeviceNDArray,
    out: DeviceNDArray | None = None,
    *,
    alpha: complex | np.number[Any] = 1,
    beta: complex | np.number[Any] = 0,
    precision: str | None = None,
    dtype: DTypeLike | None = None,
    stream: Stream | None = None,
    epilogue: Callable[..., Any] | None = None,
    epilogue_args: tuple[Any, ...] = (),
) -> DeviceNDArray: ...
@overload
def matmul(
    a: ArrayLike,
    b: ArrayLike,
    out: NDArray[Any] | None = None,
    *,
    alpha: complex | np.number[Any] = 1,
    beta: complex | np.number[Any] = 0,
    precision: str | None = None,
    dtype: DTypeLike | None = None,
    stream: Stream | None = None,
    epilogue: Callable[..., Any] | None = None,
    epilogue_args: tuple[Any, ...] = (),
) -> NDArray[Any]: ...
@overload
def matmul(
    a: DeviceNDArray,
    b: DeviceNDArray,
    out: DeviceNDArray | None = None,
    *,
    alpha: complex | np.number[Any] = 1,
    beta: complex | np.number[Any] = 0,
    precision: str | None = None,
    dtype: DTypeLike | None = None,
    stream: Stream | None = None,
    epilogue: Callable[..., Any] | None = None,
    epilogue_args: tuple[Any, ...] = (),
    reductions: Sequence[tuple[str, int | tuple[int, int]]],
) -> tuple[DeviceNDArray, ...]: ...
@overload
def matmul(
    a: ArrayLike,
    b: ArrayLike,
    out: NDArray[Any] | None = None,
    *,
    alpha: complex | np.number[Any] = 1,
    beta: complex | np.number[Any] = 0,
    precision: str | None = None,
    dtype: DTypeLike | None = None,
    stream: Stream | None = None,
    epilogue: Callable[..., Any] | None = None,
    epilogue_args: tuple[Any, ...] = (),
    reductions: Sequence[tuple[str, int | tuple[int, int]]],
) -> tuple[NDArray[Any], ...]: ...
def matmul(
    a: Any,
    b: Any,
    out: Any = None,
    *,
    alpha: Any = 1,
    beta: Any = 0,
    precision: str | None = None,
    dtype: Any = None,
    stream: Any = None,
    epilogue: Any = None,
    epilogue_args: tuple[Any, ...] = (),
    reductions: Any = (),
) -> Any:
    """``alpha * a @ b + beta * out`` with `numpy.matmul`'s rules for shapes, computed on the current device.

    a, b: NumPy arrays (the result is a NumPy array) or device arrays (the result is a device array), both of one kind;
    shapes (..., m, k) and (..., k, n), where leading axes broadcast and 1-D operands are treated as a row and a column.
    Any strides. NumPy arrays of different dtypes are promoted as NumPy does, where that gives a dtype of the table, and
    may have either byte order; device arrays must agree, but for integers and bools. Subclasses of NumPy arrays, arrays
    of torch, jax and others in host memory, and what NumPy takes for an array, are taken for plain ones; masked
    elements are an error.

    ==================== ================= =======================
    operands             sums              result (``dtype``)
    ==================== ================= =======================
    float64, float32     the same          the same
    float16, bfloat16    float32           the same, or float32
    int8, uint8          int32             int32, or float32
    other integers       wrapping around   the same, or wider
    bool                 logical           bool, or an integer
    complex64/128        parts, the same   the same
    ==================== ================= =======================

    ``out``: where to put the result, of its shape; its dtype counts where ``dtype`` is not given. ``alpha`` and
    ``beta``: numbers, whole ones for integers, none for bools. As in BLAS, out is read only where beta is not 0, and a
    and b only where alpha is not 0: what is not read may hold NaN. ``precision``: None, or leave to form float32
    products from other multiplications: "tf32", "f16x3", "bf16x6", "bf16x9" (docs/gemm.md tells how accurate they are);
    devices that have none of these compute in float32. For device arrays the product is enqueued on ``stream``
    (default: the device's default stream).

    ``epilogue``: a function ``f(value, row, column, *epilogue_args)``, plain Python as kernels may contain or a device
    function, whose value is stored, converted to the result's dtype, in place of each element: ``value`` is what would
    be stored, in the type that sums are scaled in (float32 for 16-bit floats). ``epilogue_args``: arrays of the
    operands' kind, which f reads at any subscripts, and numbers. Of results with more than two axes, row and column are
    those of the matrix; a fourth parameter named ``batch`` gets its number, the leading axes counted in C order. The
    kernel of the product applies it (docs/epilogue.md).

    ``reductions``: pairs of an operation and an axis, as in ``[("sum", -1), ("amax", (-2, -1))]``; then a tuple is
    returned, of the result and what its elements, as they are stored, are reduced to: "sum", "max" (NaN where there is
    one) or "amax", the largest magnitude, of each row (-1), each column (-2) or each matrix. They have the shapes that
    NumPy's have, and the result's dtype but for sums of 16-bit floats (float32), of integers and bools (`numpy.sum`'s)
    and "amax" of complex numbers (real). The order of sums depends on the shape alone.

    Unlike NumPy's, new results of NumPy arrays may be views of memory that serves later results once nobody refers to
    them (`numpy.ndarray.resize` refuses these), overflow gives no warning, and operands have at most 32 axes.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `ArgumentCountError`, `UnknownOptionError`,
    `OutOfMemoryError`, and for an epilogue what kernels do when they are compiled.
    """
    if epilogue is None and not epilogue_args and not reductions:
        return _product()(a, b, out, alpha=alpha, beta=beta, precision=precision, dtype=dtype, stream=stream)
    numbers = {"alpha": alpha, "beta": beta, "precision": precision, "dtype": dtype, "stream": stream}
    return _product()(a, b, out, **numbers, epilogue=epilogue, epilogue_args=epilogue_args, reductions=reductions)


@overload
def grouped_matmul(
    a: DeviceNDArray,
    b: DeviceNDArray,
    offsets: ArrayLike | DeviceNDArray,
    out: DeviceNDArray | None = None,
    *,
    alpha: complex | np.number[Any] = 1,
    beta: complex | np.number[Any] = 0,
    precision: str | None = None,
    dtype: DTypeLike | None = None,
    stream: Stream | None = None,
) -> DeviceNDArray: ...
@overload
def grouped_matmul(
    a: ArrayLike,
    b: ArrayLike,
    offsets: ArrayLike | DeviceNDArray,
    out: NDArray[Any] | None = None,
    *,
    alpha: complex | np.number[Any] = 1,
    beta: complex | np.number[Any] = 0,
    precision: str | None = None,
    dtype: DTypeLike | None = None,
    stream: Stream | None = None,
) -> NDArray[Any]: ...
def grouped_matmul(
    a: Any,
    b: Any,
    offsets: Any,
    out: Any = None,
    *,
    alpha: Any = 1,
    beta: Any = 0,
    precision: str | None = None,
    dtype: Any = None,
    stream: Any = None,
) -> Any:
    """``alpha * a[rows of g] @ b[g]`` (``+ beta * out[rows of g]``) for each group g of rows.

    The rows of group g are ``offsets[g]:offsets[g + 1]``. a: (rows, k); b: (groups, k, n); the result: (rows, n). NumPy
    arrays or device arrays, all of one kind and one dtype (integers and bools may differ). ``offsets``: (groups + 1)
    integers that ascend from 0 to rows, a sequence or a NumPy array, or a device array of int32 or int64, which is
    trusted and, on GPUs, not waited for. Groups may be empty. GPUs compute all groups in one launch. ``alpha``,
    ``beta``, ``dtype``, ``out`` and ``stream`` are as in `matmul`, but that an ``out`` on the device must not share
    memory with operands.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `OutOfMemoryError`.
    """
    from portagpu.blas.grouped import grouped_matmul as implementation  # as in `_product`

    return implementation(a, b, offsets, out, alpha=alpha, beta=beta, precision=precision, dtype=dtype, stream=stream)


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from portagpu import config as config
    from portagpu import jax as jax
    from portagpu import primitives as primitives
    from portagpu import random as random
    from portagpu import torch as torch
    from portagpu import xp as xp
    from portagpu.accelerate.acceleration import accelerate as accelerate
    from portagpu.bench.own_kernels.benchmark import benchmark as benchmark
    from portagpu.bench.own_kernels.launch import Launch as Launch
    from portagpu.cuda import literal_unroll as literal_unroll
    from portagpu.runtime.arrays.array import DeviceNDArray
    from portagpu.runtime.execution.stream import Stream
    from portagpu.types import b1 as b1
    from portagpu.types import bool_ as bool_
    from portagpu.types import byte as byte
    from portagpu.types import c8 as c8
    from portagpu.types import c16 as c16
    from portagpu.types import char as char
    from portagpu.types import double as double
    from portagpu.types import f2 as f2
    from portagpu.types import f4 as f4
    from portagpu.types import f8 as f8
    from portagpu.types import float_ as float_
    from portagpu.types import half as half
    from portagpu.types import i1 as i1
    from portagpu.types import i2 as i2
    from portagpu.types import i4 as i4
    from portagpu.types import i8 as i8
    from portagpu.types import int_ as int_
    from portagpu.types import intc as intc
    from portagpu.types import intp as intp
    from portagpu.types import long as long
    from portagpu.types import long_ as long_
    from portagpu.types import longlong as longlong
    from portagpu.types import short as short
    from portagpu.types import size_t as size_t
    from portagpu.types import ssize_t as ssize_t
    from portagpu.types import u1 as u1
    from portagpu.types import u2 as u2
    from portagpu.types import u4 as u4
    from portagpu.types import u8 as u8
    from portagpu.types import uchar as uchar
    from portagpu.types import uint as uint
    from portagpu.types import uintc as uintc
    from portagpu.types import uintp as uintp
    from portagpu.types import ulong as ulong
    from portagpu.types import ulonglong as ulonglong
    from portagpu.types import ushort as ushort

    # of an installed numba
    cfunc: Any
    get_num_threads: Any
    get_thread_id: Any
    jit: Any
    njit: Any
    objmode: Any
    pndindex: Any
    prange: Any
    set_num_threads: Any
    stencil: Any
    threading_layer: Any

# of an installed numba, so that `from numba import cuda, njit` needs no second line
_COMPILERS_FOR_CPUS = frozenset(
    {
        *("cfunc", "jit", "njit", "objmode", "pndindex", "prange", "stencil"),
        *("get_num_threads", "get_thread_id", "set_num_threads", "threading_layer"),
    }
)

# modules that few programs need: one that is called, and two of packages that may not be there
_MODULES = frozenset({"accelerate", "config", "jax", "primitives", "random", "torch", "xp"})

_BENCHMARKS = {"Launch": "launch", "benchmark": "benchmark"}  # by modules, which few programs need


if not TYPE_CHECKING:  # checkers would take any name for one of ours

    def __getattr__(name: str) -> Any:
        """Types under their other names, such as ``intp`` or ``f4``, what kernels, too, may call, and numba's own."""
        if name in _MODULES:
            return importlib.import_module(f"portagpu.{name}")
        if name in _BENCHMARKS:
            return getattr(importlib.import_module(f"portagpu.bench.own_kernels.{_BENCHMARKS[name]}"), name)
        if name == "literal_unroll":
            return cuda.literal_unroll
        if name in types.NAMES:
            return types.NAMES[name]
        if name in _COMPILERS_FOR_CPUS:
            try:
                return getattr(importlib.import_module("numba"), name)
            except ImportError:
                raise AttributeError(
                    f"{name!r} compiles for the CPU: that is numba's, which is not installed"
                ) from None
        raise unknown_attribute("portagpu", name, sys.modules[__name__], __dir__())


def __dir__() -> list[str]:
    there = {name for name in _MODULES if name not in ("jax", "torch") or importlib.util.find_spec(name) is not None}
    return sorted({*globals(), *types.NAMES, *_BENCHMARKS, *there, "literal_unroll"})


@functools.cache  # looking a module up costs as much as the rest of the way to a small product
def _product() -> Callable[..., Any]:
    from portagpu.blas.matmul import matmul as product  # the kernels' sources are read at first use

    return product


@functools.cache
def _array_product() -> Callable[..., Any]:
    from portagpu.blas.array_product import array_product

    return array_product


def _numpys_matmul(x1: Any, x2: Any, /, out: Any = None) -> Any:
    return _array_product()(x1, x2, out)


numpy_dispatch.register("matmul", _numpys_matmul)
numpy_dispatch.register("linalg.matmul", _numpys_matmul)
numpy_dispatch.load_later(lambda: importlib.import_module("portagpu.xp.protocols.ufuncs"))

__all__ = [
    "Signature",
    "__version__",
    "bfloat16",
    "boolean",
    "complex64",
    "complex128",
    "cuda",
    "errors",
    "float16",
    "float32",
    "float64",
    "from_dtype",
    "grouped_matmul",
    "guvectorize",
    "int8",
    "int16",
    "int32",
    "int64",
    "matmul",
    "none",
    "typeof",
    "types",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "vectorize",
    "void",
]
