"""`numpy.ufunc.at`: a function of elements applied in place at subscripts, several times where these repeat.

Results are the same in each run. Functions of integers whose order does not count are atomic operations, where the
device has them. For all others the subscripts are sorted, and either a thread goes through those of each element in
their order, which gives NumPy's roundings, or, where many are of one element, a scan joins them.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN202

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.errors import ArgumentTypeError, ShapeError
from portagpu.expressions.applied import PYTHON
from portagpu.expressions.apply import apply, check_fits
from portagpu.expressions.operations import Operation, operations_of
from portagpu.expressions.rows import flat_memory
from portagpu.expressions.step_text import TYPES, applied, converted
from portagpu.expressions.subscripts import Elements
from portagpu.expressions.writing import as_source
from portagpu.primitives.gathers.gathering import Subscripts, gather, scatter
from portagpu.primitives.scans.by_key import reduce_by_key
from portagpu.primitives.selections.run_lengths import run_begins
from portagpu.primitives.sorts.sorting import argsort
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.copies import copied_if_shared
from portagpu.runtime.arrays.layout import extent_of
from portagpu.runtime.execution.current import current_stream
from portagpu.ufuncs.kernel_source import KEPT, kernel_from, launch
from portagpu.ufuncs.operands import operand

_ATOMIC: dict[Any, Any] = {
    np.add: cuda.atomic.add,
    np.subtract: cuda.atomic.sub,
    np.maximum: cuda.atomic.max,
    np.minimum: cuda.atomic.min,
    np.bitwise_and: cuda.atomic.and_,
    np.bitwise_or: cuda.atomic.or_,
    np.bitwise_xor: cuda.atomic.xor,
}
_JOINED: dict[Any, np.ufunc] = {
    np.add: np.add,
    np.subtract: np.add,
    np.multiply: np.multiply,
    np.maximum: np.maximum,
    np.minimum: np.minimum,
    np.bitwise_and: np.bitwise_and,
    np.bitwise_or: np.bitwise_or,
    np.bitwise_xor: np.bitwise_xor,
    np.logical_and: np.logical_and,
    np.logical_or: np.logical_or,
}
"""What second operands can be joined by before the function is applied once."""
_MANY = 64  # subscripts of an element, on average, from which a scan is faster than a thread for each element


def at(ufunc: np.ufunc, a: Any, indices: Any, *more: Any) -> None:
    """``a[indices] = ufunc(a[indices], b)``, for each of the subscripts one after the other.

    Each result is cast to the array's dtype, whatever it loses, as by NumPy.

    Raises `OutOfBoundsError`, `ShapeError`, `DTypeError`, `ArgumentTypeError`.
    """
    if not isinstance(a, DeviceNDArray):
        raise ArgumentTypeError(
            f"numpy.{ufunc.__name__}.at does not write a {type(a).__name__} from a device array",
            hint="x.copy_to_host()",
        )
    if ufunc.nout != 1 or len(more) != ufunc.nin - 1 or ufunc.nin > 2:
        raise ArgumentTypeError(f"numpy.{ufunc.__name__}.at takes {ufunc.nin + 1} arguments: a function of one or two")
    if a.readonly:
        raise ArgumentTypeError("the array is read-only")
    values = [_typed(operand(x), a.dtype) for x in more]
    function = operations_of(ufunc, (a.dtype, *(type(x) if type(x) in PYTHON else x.dtype for x in values)))[0]
    check_fits(function.dtype, a.dtype, "unsafe")
    whole = a.copy() if a.align else a  # elements between the places of their size
    where = Elements(whole, indices)
    given = [_broadcast(as_source(x, function.inputs[1], a.context), where.shape) for x in values]
    if not math.prod(where.shape):
        return
    size, stream = whole.itemsize, current_stream(a.context)
    nbytes, before = extent_of(whole.shape, whole.strides, size)
    flat = flat_memory(whole, nbytes // size, before // size)
    _run(ufunc, function, flat, where.places_in(flat), [copied_if_shared(x.ravel(), flat, stream) for x in given])
    if whole is not a:
        a[...] = whole


def _typed(x: Any, dtype: np.dtype[Any]) -> Any:
    """An operand: Python's integers that the dtype cannot hold are of NumPy's default dtype, and results wrap."""
    if type(x) is not int or dtype.kind not in "iu" or np.iinfo(dtype).min <= x <= np.iinfo(dtype).max:
        return x
    return np.asarray(x)[()]


def _broadcast(x: DeviceNDArray, shape: tuple[int, ...]) -> DeviceNDArray:
    while x.ndim > len(shape) and x.shape[0] == 1:
        x = x.reshape(x.shape[1:])
    if x.shape == shape:
        return x
    try:
        return x.broadcast_to(shape)
    except ShapeError:
        raise ShapeError(f"values of shape {x.shape} are not those of subscripts of shape {shape}") from None


def _run(
    ufunc: np.ufunc, function: Operation, flat: DeviceNDArray, places: DeviceNDArray, given: list[DeviceNDArray]
) -> None:
    context = flat.context
    kind = flat.dtype
    wide = kind.itemsize == 4 or (kind.itemsize == 8 and context.capabilities.int64_atomics)
    if ufunc in _ATOMIC and kind.kind in "iu" and wide and function.inputs == (kind, kind):
        launch(_atomic_kernel(ufunc), places.size, None, 0, (flat, places, given[0]), context)
        return
    order = argsort(places)
    keys = gather(places, 0, 1, Subscripts(order, known=True))
    begins = run_begins(keys)
    if begins.size * _MANY <= keys.size and _can_join(ufunc, function, kind):
        sorted_ = gather(given[0], 0, 1, Subscripts(order, known=True))
        told, joined = reduce_by_key(keys, sorted_, _JOINED[ufunc])
        at_keys = Subscripts(told, known=True)
        scatter(flat, 0, 1, at_keys, apply(ufunc, gather(flat, 0, 1, at_keys), joined).astype(kind, copy=False))
        return
    kernel = _ordered_kernel(function, kind, len(given))
    launch(kernel, begins.size, None, 0, (flat, keys, begins, order, *given), context)


def _can_join(ufunc: np.ufunc, function: Operation, kind: np.dtype[Any]) -> bool:
    """Whether joined operands give what each by itself does, though results are cast to a dtype after each of them."""
    if ufunc not in _JOINED or function.inputs[0] != function.inputs[1]:
        return False
    kinds = {function.dtype.kind, kind.kind}
    wraps = kinds <= set("iu") and ufunc not in (np.maximum, np.minimum)
    return wraps or kinds <= set("fc") or np.can_cast(function.dtype, kind)


@cache
def _atomic_kernel(ufunc: np.ufunc) -> Dispatcher:
    operation = _ATOMIC[ufunc]

    def change(target, places, values):
        i = cuda.grid(1)
        if i < places.size:
            operation(target, places[i], values[i])

    return cuda.jit(change, cache=True)


class _Named:
    """Gives the file of a kernel's text its name."""

    __name__ = "at"


@cache
def _ordered_kernel(function: Operation, kind: np.dtype[Any], operands: int) -> Dispatcher:
    """A thread for each run of equal subscripts: keys and the order in which values belong to them."""
    values = ["values[order[j]]"] * operands
    taken = [converted(x, dtype) for x, dtype in zip(["held", *values], function.inputs, strict=True)]
    result = converted(converted(applied(function.name, taken), function.dtype), kind)
    text = [
        f"def kernel(target, keys, begins, order{', values' * operands}):",
        "    i = grid(1)",
        "    if i < begins.size:",
        "        end = keys.size",
        "        if i + 1 < begins.size:",
        "            end = begins[i + 1]",
        "        place = keys[begins[i]]",
        f"        held = {converted('target[place]', kind)}",
        "        for j in range(begins[i], end):",
        f"            held = {result}",
        "        target[place] = held",
    ]
    return kernel_from(text, {"core": _Named, "np": np, **TYPES}, KEPT)
