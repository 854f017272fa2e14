"""Arguments of matrix products: operands, dtypes, scalars and precision, checked."""

from __future__ import annotations

import array
import ctypes
import math
import numbers
from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.backends.registry import foreign
from portagpu.blas.gemm.core.accumulation import OUTPUTS
from portagpu.blas.gemm.core.problem import DTYPES, Problem
from portagpu.blas.gemm.core.vector_types import name_of
from portagpu.blas.gemm.integer_products import WHOLE, is_whole
from portagpu.blas.gemm.selection import registry
from portagpu.device.ideal_device import IDEAL
from portagpu.errors import ArgumentTypeError, DTypeError, ShapeError, UnknownOptionError, did_you_mean
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.checks import host_array
from portagpu.runtime.arrays.creation import as_device_array, is_device_like
from portagpu.runtime.arrays.foreign import is_foreign, shared_view
from portagpu.runtime.arrays.foreign_views import operand_view
from portagpu.runtime.execution.context import Context

_BEYOND_FLOAT32 = (2 - 2.0**-24) * 2.0**127  # numbers from here on round to infinity

TAKEN = (*DTYPES, *WHOLE)
"""Dtypes of operands."""

_MOST_LEADING = 30  # axes
_TAKEN_IN_WORDS = "integers, bools, float16 to float64, bfloat16, complex64 and complex128"

_ARRAY_LIKE = ("__array__", "__array_interface__", "__array_struct__")  # of what NumPy, too, takes for arrays
_LISTS = (list, tuple, range, array.array, memoryview, ctypes.Array)


def operand_of(value: Any, name: str) -> Any:
    """An operand, or what NumPy takes for an array, as a NumPy array or a device array. Raises `ArgumentTypeError`."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ArgumentTypeError(
            f"operand {name} has masked elements, which products do not know",
            hint=f"say what they count as: {name}.filled(0) leaves them out of sums",
        )
    if isinstance(value, DeviceNDArray | np.ndarray):
        return value
    if isinstance(value, foreign.arrays):
        return operand_view(value)
    if is_device_like(value):
        return as_device_array(value)
    if is_foreign(value):
        return shared_view(value, f"operand {name}")
    if isinstance(value, (*_LISTS, int, float, complex, np.generic)) or any(hasattr(value, way) for way in _ARRAY_LIKE):
        return host_array(value)
    raise ArgumentTypeError(f"operand {name} is a {type(value).__name__}", hint="pass NumPy arrays or device arrays")


def operands_of(a: Any, b: Any) -> tuple[Any, Any, bool]:
    """Both operands as of `operand_of`, and whether they are on the device. Raises `ArgumentTypeError` if one is."""
    left, right = operand_of(a, "a"), operand_of(b, "b")
    on_device = isinstance(left, DeviceNDArray)
    if on_device == isinstance(right, DeviceNDArray):
        return left, right, on_device
    name, other, given, found = ("b", "a", b, right) if on_device else ("a", "b", a, left)
    kind = type(given).__name__
    if found.ndim == 0:
        raise ArgumentTypeError(
            f"operand {name} is a scalar ({kind}), the other is an array on the device",
            hint="scale with a kernel, with * on the host, or with alpha= of a product",
        )
    if isinstance(given, np.ndarray):
        raise ArgumentTypeError(
            "one operand is a NumPy array, the other is on the device",
            hint="move one: cuda.to_device(x), or x.copy_to_host()",
        )
    raise ArgumentTypeError(
        f"operand {name} is a {kind}, the other is on the device",
        hint=f"move it: cuda.to_device(np.array({name}, {other}.dtype))",
    )


def check_dtypes(
    a: Any, b: Any, on_device: bool, *, function: str = "matmul", names: tuple[str, str] = ("a", "b")
) -> None:
    """Raise `DTypeError` for operands that no product takes; ``names``: of theirs, in errors."""
    for name, operand in zip(names, (a, b), strict=True):
        if name_of(operand.dtype) not in TAKEN:
            raise DTypeError(
                f"{function} takes {_TAKEN_IN_WORDS}; operand {name} is {operand.dtype}",
                hint=conversion(name, operand),
            )
        if isinstance(operand, DeviceNDArray) and not operand.dtype.isnative:
            raise DTypeError(
                f"operand {name} is {operand.dtype}, in the byte order of other machines",
                hint='swap on the host: cuda.to_device(x.astype(x.dtype.newbyteorder("=")))',
            )
    if on_device and native(a.dtype) != native(b.dtype) and not _are_integers(a.dtype, b.dtype):
        moved = isinstance(a, DeviceNDArray)
        way = "convert one with a kernel, or on the host: cuda.to_device(x.copy_to_host().astype(...))"
        raise DTypeError(
            f"the operands are {a.dtype} and {b.dtype}", hint=way if moved else "convert one of them: x.astype(...)"
        )


def _are_integers(*found: np.dtype[Any]) -> bool:
    """Whether numbers of both dtypes, which may be bools, fit into one of `WHOLE`: kernels can convert them."""
    return all(dtype.kind in "biu" for dtype in found) and is_whole(np.result_type(*found))


def promoted(a: Any, b: Any, dtype: Any = None) -> np.dtype[Any]:
    """The dtype in which operands are multiplied: their common one, as NumPy has it.

    Integers, and bools, are multiplied in the wider dtype of integers that is asked for with ``dtype``. Raises
    `DTypeError`.
    """
    if a.dtype == b.dtype:
        found = native(a.dtype)
    else:
        try:
            found = np.result_type(a.dtype, b.dtype)
        except TypeError as error:  # float16 and bfloat16 have no common dtype
            text = f"the operands are {a.dtype} and {b.dtype}, which have no common dtype"
            raise DTypeError(text, hint="convert one of them") from error
    if name_of(found) not in TAKEN:
        raise DTypeError(f"the operands are {a.dtype} and {b.dtype}, together {found}", hint="convert one of them")
    wanted = None if dtype is None or found.kind not in "biu" else dtypes.parse(dtype)
    if wanted is not None and wanted.numpy.isnative and name_of(wanted.numpy) not in OUTPUTS.get(name_of(found), ()):
        wider = wanted.numpy
        if is_whole(wider) and wider.kind in "iu" and np.can_cast(found, wider):
            return wider
    return found


def conversion(name: str, operand: Any) -> str:
    """What to do about an operand whose dtype no product takes."""
    dtype = operand.dtype
    if dtype.names is not None:
        return f'take one field of the records: {name}["{dtype.names[0]}"]'
    if dtype.kind in "US" or dtype.type is np.void:
        return "give arrays of numbers"
    if dtype.kind in "Mm":
        return f"take the numbers: {name}.astype(np.int64).astype(float)"
    # float32 holds the numbers of formats of up to 16 bits, and bools
    wanted = "complex128" if dtype.kind == "c" else "float32" if 0 < dtype.itemsize <= 2 else "float64"
    if isinstance(operand, DeviceNDArray):
        return f"convert it with a kernel, or on the host: {name}.copy_to_host().astype(np.{wanted})"
    return f"convert it: {name}.astype(np.{wanted})"


def checked_result(
    out: Any, shape: tuple[int, ...], operands: np.dtype[Any], dtype: Any, on_device: bool
) -> np.dtype[Any]:
    """Dtype of a product of this shape, which ``out``, if there is one, must be able to take.

    Raises `ArgumentTypeError`, `ShapeError`, `DTypeError`.
    """
    if out is not None:
        _check_out(out, shape, on_device)
    kind = _result_dtype(operands, dtype, out)
    if out is not None and (out.dtype if on_device else native(out.dtype)) != kind:
        raise DTypeError(
            f"out is {out.dtype}; the product is {kind}",
            hint="pass an out of that dtype, or leave it away and convert the result",
        )
    return kind


def native(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in this machine's byte order, which devices need."""
    return dtype if dtype.isnative else dtype.newbyteorder("=")


def check_kind_of_out(out: Any, on_device: bool, function: str = "") -> None:
    """Raise `ArgumentTypeError` unless ``out`` is where the operands are: no call copies its result elsewhere."""
    if isinstance(out, DeviceNDArray if on_device else np.ndarray):
        return
    if isinstance(out, DeviceNDArray):
        mine, theirs, copy = "on the device", "NumPy arrays", "out.copy_to_device(result)"
    else:
        mine = "a NumPy array" if isinstance(out, np.ndarray) else f"a {type(out).__name__}"
        theirs = "on the device" if on_device else "NumPy arrays"
        copy = "result.copy_to_host(out)" if on_device else "out[...] = result"
    raise ArgumentTypeError(
        f"{function}{': ' if function else ''}out is {mine}, the operands are {theirs}",
        hint=f"leave out= away, and copy the result: {copy}",
    )


def _check_out(out: Any, shape: tuple[int, ...], on_device: bool) -> None:
    check_kind_of_out(out, on_device)
    if isinstance(out, np.ma.MaskedArray) and np.ma.is_masked(out):
        raise ArgumentTypeError("out has masked elements, which products do not know", hint="pass out.data")
    if out.shape != shape:
        raise ShapeError(
            f"out has shape {out.shape}; the product has {shape}", hint="pass an out of that shape, or leave it away"
        )
    writeable = not out.readonly if isinstance(out, DeviceNDArray) else out.flags.writeable
    if not writeable:
        raise ArgumentTypeError("out is read-only", hint="leave out= away to get a new array, or pass out.copy()")


def check_beta(beta: complex, out: Any) -> None:
    """Raise `ArgumentTypeError` where there is nothing to scale."""
    if beta != 0 and out is None:
        raise ArgumentTypeError(
            "beta scales what is in out, and there is no out", hint="pass out=, or leave beta= away"
        )


def _result_dtype(operands: np.dtype[Any], dtype: Any, out: Any) -> np.dtype[Any]:
    """Dtype of a product: what is asked for, else that of ``out``, else the default. Raises `DTypeError`."""
    allowed = OUTPUTS.get(name_of(operands), (name_of(operands),))
    if dtype is not None:
        row = dtypes.parse(dtype)
        if row is None:
            raise DTypeError(f"{dtype!r} is no dtype that devices have", hint=f"dtype= is one of {', '.join(allowed)}")
        found = row.numpy
    else:
        found = out.dtype if out is not None and name_of(out.dtype) in allowed else _numpy(allowed[0], operands)
    if not found.isnative:
        found = found.newbyteorder("=")
    if name_of(found) not in allowed:
        raise DTypeError(
            f"products of {operands} become {' or '.join(allowed)}, not {found}",
            hint=f"leave dtype= away for {allowed[0]}",
        )
    return found


def _numpy(name: str, operands: np.dtype[Any]) -> np.dtype[Any]:
    return operands if name_of(operands) == name else np.dtype(name)


def check_scalar(value: Any, name: str, operands: np.dtype[Any], result: np.dtype[Any]) -> complex:
    """Alpha or beta as a Python number. Raises `ArgumentTypeError`.

    Infinities and NaN are numbers that may be meant; what only becomes infinite in the arithmetic's type is an error.
    What becomes 0 there is none, as in SciPy.
    """
    try:
        found = _scalar(value, name, operands, result)
    except OverflowError as error:
        raise ArgumentTypeError(f"{name} is too large for a float", hint="divide the operands instead") from error
    if result.kind not in "biu" and name_of(result) not in ("float64", "complex128"):  # scaled in float32
        for part in (found.real, found.imag):
            if _BEYOND_FLOAT32 <= abs(part) < math.inf:
                raise ArgumentTypeError(
                    f"{name} is {found}, too large for the float32 that sums are scaled in",
                    hint="scale the operands instead, or convert them to float64",
                )
    return found


def _scalar(value: Any, name: str, operands: np.dtype[Any], result: np.dtype[Any]) -> complex:
    if type(value) is int or type(value) is float:
        if result.kind in "fc":
            return float(value)
    elif isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.generic) and name_of(value.dtype) == "bfloat16":  # ml_dtypes does not call it a number
        value = float(value)
    # NumPy takes spans of time for integers
    if isinstance(value, bool | np.timedelta64) or not isinstance(value, numbers.Number | np.number):
        raise ArgumentTypeError(f"{name} is a {type(value).__name__}", hint=f"{name} is a number")
    number: Any = value
    if isinstance(number, complex | np.complexfloating):
        if operands.kind != "c":
            raise ArgumentTypeError(
                f"{name} is complex, the operands are {operands}", hint=f"pass {name}.real, or complex operands"
            )
        found = complex(number)
        _check_finite((found.real, number.real), (found.imag, number.imag))
        return found
    try:
        rounded = float(number)
    except (TypeError, ValueError) as error:  # a signaling NaN, or a number of somebody's own
        raise ArgumentTypeError(f"{name} is {number!r}, which becomes no float", hint=f"{name} is a number") from error
    _check_finite((rounded, number))
    if result.kind not in "biu":
        return rounded
    return _whole(number, rounded, name, operands, result)


def _whole(number: Any, rounded: float, name: str, operands: np.dtype[Any], result: np.dtype[Any]) -> int:
    """A factor of sums that are integers, exactly; rounded: the same as a float."""
    if result.kind == "b":
        if rounded != (1 if name == "alpha" else 0):
            raise ArgumentTypeError(
                f"{name} is {number}; products of bools have no factors",
                hint="convert the operands to integers, or combine with | and &",
            )
        return int(rounded)
    limits = np.iinfo(result)
    found = int(number) if rounded.is_integer() else None
    if found is None or not limits.min <= found <= limits.max:
        which, hint = "of 32 bits", 'ask for dtype="float32"'
        if is_whole(operands):
            which, hint = f"from {limits.min} to {limits.max}", "convert the operands to floats"
        shown = number if found is None else found
        raise ArgumentTypeError(f"{name} is {shown}; products in {result} take whole numbers {which}", hint=hint)
    return found


def _check_finite(*pairs: tuple[float, Any]) -> None:
    """Raise `OverflowError` where a float is infinite and the number that it was made of is not."""
    for found, number in pairs:
        if math.isinf(found) and number != found:
            raise OverflowError


def check_precision(precision: Any, dtype: str, out: str, context: Context) -> str:
    """The precision as variants know it; "" where the device has no faster way, and so computes as the dtypes say.

    A precision is a leave, not an order: programs that give it run everywhere, nowhere less accurately than it says.
    Raises `UnknownOptionError` for those that these dtypes have on no device.
    """
    if precision is None or (isinstance(precision, str) and precision == ""):
        return ""
    real = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    problem = Problem(m=1024, n=1024, k=1024, dtype=real, out=real if real != dtype else out)
    if isinstance(precision, str):
        if precision in registry.precisions(problem, context.capabilities):
            return precision
        if precision in registry.precisions(problem, IDEAL):
            return ""
    found = [p for p in registry.precisions(problem, IDEAL) if p]
    listed = f"for {dtype} there are {', '.join(map(repr, found))}" if found else f"for {dtype} there is none"
    hint = f"{did_you_mean(str(precision), found)}{listed}; leave precision= away for products in {dtype}"
    raise UnknownOptionError(f"precision {precision!r} does not exist for {dtype}", hint=hint)


def product_shape(a: Any, b: Any) -> tuple[int, ...]:
    """The shape of a product by `numpy.matmul`'s rules. Raises `ShapeError`."""
    inner_a = a.shape[-1]
    inner_b = b.shape[-2] if b.ndim > 1 else b.shape[0]
    if inner_a != inner_b:
        raise ShapeError(
            f"shapes {a.shape} and {b.shape} do not fit: a has {inner_a} columns, b has {inner_b} rows",
            hint="transpose one of them (x.T), or check the order of the operands",
        )
    if a.ndim == b.ndim == 2:
        return a.shape[0], b.shape[1]
    if max(a.ndim, b.ndim) - 2 > _MOST_LEADING:
        raise ShapeError(
            f"an operand has {max(a.ndim, b.ndim)} axes, and matmul takes {_MOST_LEADING + 2}",
            hint="make several leading axes one: x.reshape(-1, *x.shape[-2:])",
        )
    try:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError as error:
        raise ShapeError(
            f"the leading axes of {a.shape} and {b.shape} do not broadcast",
            hint="counted from the last, they are equal, or one is 1 or missing: x[:, None] inserts a 1",
        ) from error
    rows = a.shape[-2:-1] if a.ndim > 1 else ()
    columns = b.shape[-1:] if b.ndim > 1 else ()
    return (*batch, *rows, *columns)
