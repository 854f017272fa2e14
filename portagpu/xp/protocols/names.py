"""NumPy's functions that create, arrange, select and count elements, on device arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.errors import ArgumentTypeError, DTypeError, NumberRangeError, OutOfBoundsError, ShapeError
from portagpu.expressions import items as items  # which registers subscripts
from portagpu.expressions.apply import check_fits, check_out
from portagpu.expressions.reductions.functions import reduce
from portagpu.expressions.writing import assign, is_number
from portagpu.primitives.bins.histograms import bincount
from portagpu.primitives.gathers.gathering import normal_axis
from portagpu.primitives.selections.selection import flatnonzero
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.layout import checked_dtype, checked_shape, strides_as
from portagpu.runtime.arrays.numpy_dispatch import register
from portagpu.ufuncs.operands import mask_of, operand
from portagpu.xp import creation, elementwise, indexing, manipulation, searching
from portagpu.xp.conversion import array_of, arrays_of, context_of_any, into
from portagpu.xp.data_types import astype
from portagpu.xp.devices import context_on


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _like(value: Any) -> Callable[..., DeviceNDArray]:
    def function(
        a: Any,
        *given: Any,
        dtype: Any = None,
        order: str = "K",
        subok: bool = True,
        shape: Any = None,
        device: Any = None,
    ) -> Any:
        number, *rest = (*given, dtype) if value is None else (value, *given, dtype)
        kind = rest[0] if rest[0] is not None else a.dtype
        context = a.context if device is None else context_on(device)
        wanted = checked_dtype(kind)
        extents = a.shape if shape is None else checked_shape(shape)
        return creation.filled_with(number, extents, wanted, context, strides_as(a, wanted, order, shape))

    return function


_OF_LIKE = _words("dtype order subok shape device fill_value")
register("zeros_like", _like(0), _OF_LIKE)
register("ones_like", _like(1), _OF_LIKE)
register("full_like", lambda a, fill_value, *rest, **options: _like(None)(a, fill_value, *rest, **options), _OF_LIKE)
register("astype", astype, _words("copy device"))
register("copy", lambda a, order="K", subok=False: a.copy(order), _words("order subok"))
register("tril", lambda m, k=0: creation.tril(_matrix(m), k=k), _words("k"))
register("triu", lambda m, k=0: creation.triu(_matrix(m), k=k), _words("k"))


def _matrix(m: DeviceNDArray) -> DeviceNDArray:
    """A vector as NumPy has it: each row of a square matrix."""
    return m.broadcast_to((m.size, m.size)) if m.ndim == 1 else m


def _meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[DeviceNDArray, ...]:
    arrays = arrays_of(xi)
    flat = [x if x.ndim == 1 else x.ravel() for x in arrays]
    if not sparse:
        return creation.meshgrid(*flat, indexing=indexing, copy=copy)
    creation.check_indexing(indexing)
    order = list(range(len(flat)))
    if indexing == "xy" and len(flat) > 1:
        order[:2] = [1, 0]
    shapes = [tuple(-1 if n == axis else 1 for n in range(len(flat))) for axis in order]
    found = (x.reshape(shape) for x, shape in zip(flat, shapes, strict=True))
    return tuple(x.copy() if copy else x for x in found)


register("meshgrid", _meshgrid, _words("copy sparse indexing"))


def _concatenate(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    return into(manipulation.concat(_cast(arrays, out, dtype, casting), axis=axis), out, "unsafe")


def _stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    return into(manipulation.stack(_cast(arrays, out, dtype, casting), axis=axis), out, "unsafe")


def _cast(arrays: Any, out: Any, dtype: Any, casting: Any) -> Any:
    """Parts in the dtype of the result, each from its own: a common one may hold fewer digits. Raises `DTypeError`."""
    if dtype is None and out is None and casting == "same_kind":
        return arrays
    if dtype is not None and out is not None:
        raise ArgumentTypeError("dtype= and out= are given, which has a dtype", hint="leave dtype= away")
    parts = arrays_of(list(arrays))
    if out is not None:
        check_out(out)
        dtype = out.dtype
    wanted = np.result_type(bool, *(x.dtype for x in parts)) if dtype is None else checked_dtype(dtype)
    for x in parts:
        check_fits(x.dtype, wanted, casting)
    return [x.astype(wanted, copy=False) for x in parts]


register("concatenate", _concatenate, _words("axis out dtype casting"))
register("stack", _stack, _words("axis out dtype casting"))


def _at_least(ndim: int) -> Callable[..., Any]:
    def reshaped(x: Any) -> Any:
        if x.ndim >= ndim:
            return x
        if ndim == 3 and x.ndim:
            return x.reshape((1, x.size, 1) if x.ndim == 1 else (*x.shape, 1))
        return x.reshape((*(1,) * (ndim - x.ndim), *x.shape))

    def function(*arrays: Any) -> Any:
        found = tuple(reshaped(x if isinstance(x, DeviceNDArray) else array_of(x)) for x in arrays)
        return found[0] if len(found) == 1 else found

    return function


for _ndim in (1, 2, 3):
    register(f"atleast_{_ndim}d", _at_least(_ndim), frozenset())


def _joined(axis: int, ndim: int, *, by_columns: bool = False) -> Callable[..., Any]:
    def function(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
        parts = [_at_least(ndim)(x) for x in tup]
        if by_columns:
            parts = [x.reshape(-1, 1) if x.ndim == 1 else x for x in parts]
        along = 0 if axis == 1 and parts and parts[0].ndim == 1 else axis
        return _concatenate(parts, axis=along, dtype=dtype, casting=casting)

    return function


register("vstack", _joined(0, 2), _words("dtype casting"))
register("hstack", _joined(1, 1), _words("dtype casting"))
register("dstack", _joined(2, 3), frozenset())
register("column_stack", _joined(1, 1, by_columns=True), frozenset())
register("append", lambda arr, values, axis=None: _concatenate((arr, values), axis=axis), _words("axis"))
register("unstack", lambda x, /, *, axis=0: manipulation.unstack(x, axis=axis), _words("axis"))
register(
    "broadcast_arrays",
    lambda *args, subok=False: manipulation.broadcast_arrays(*args),
    _words("subok"),
)
register("flip", lambda m, axis=None: manipulation.flip(m, axis=axis), _words("axis"))
register("flipud", lambda m: manipulation.flip(m, axis=0), frozenset())
register("fliplr", lambda m: manipulation.flip(m, axis=1), frozenset())
register("roll", lambda a, shift, axis=None: manipulation.roll(a, shift, axis=axis), _words("axis"))
register("repeat", lambda a, repeats, axis=None: manipulation.repeat(a, repeats, axis=axis), _words("repeats axis"))
register("tile", lambda A, reps: manipulation.tile(A, reps), _words("reps"))


def _array_split(ary: DeviceNDArray, indices_or_sections: Any, axis: int = 0) -> list[DeviceNDArray]:
    at = normal_axis(axis, ary.ndim)
    extent = ary.shape[at]
    if manipulation.is_whole(indices_or_sections):
        count = indices_or_sections.__index__()
        if count < 1:
            raise ShapeError(f"an array is not split into {count} parts")
        longer, rest = divmod(extent, count)
        ends = np.cumsum([longer + (n < rest) for n in range(count)]).tolist()[:-1]
    else:
        ends = manipulation.whole_numbers(indices_or_sections, "places of splits")
    borders = zip([0, *ends], [*ends, None], strict=True)
    return [ary[(slice(None),) * at + (slice(begin, end),)] for begin, end in borders]


def _split(ary: DeviceNDArray, indices_or_sections: Any, axis: int = 0) -> list[DeviceNDArray]:
    if manipulation.is_whole(indices_or_sections):
        count = indices_or_sections.__index__()
        if count > 0 and ary.shape[normal_axis(axis, ary.ndim)] % count:
            raise ShapeError(f"axis {axis} of an array of shape {ary.shape} has no {count} equal parts")
    return _array_split(ary, indices_or_sections, axis)


register("array_split", _array_split, _words("axis"))
register("split", _split, _words("axis"))


def _diagonal(a: DeviceNDArray, offset: int = 0, axis1: int = 0, axis2: int = 1) -> DeviceNDArray:
    shadow = a._shadow()
    try:
        found = shadow.diagonal(offset, axis1, axis2)
    except (ValueError, TypeError, OverflowError) as error:
        kind = OutOfBoundsError if isinstance(error, IndexError) else ShapeError  # NumPy's AxisError is both
        raise kind(f"an array of shape {a.shape} has no such diagonal: {error}") from None
    return a._derive(found, shadow, readonly=True)


register("diagonal", _diagonal, _words("offset axis1 axis2"))


def _trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    return reduce(np.add, array_of(a).diagonal(offset, axis1, axis2), -1, dtype, out)


register("trace", _trace, _words("offset axis1 axis2 dtype out"))
register("real", lambda val: val.real, frozenset())
register("imag", lambda val: val.imag, frozenset())

register("where", searching.numpys_where, frozenset())
register("nonzero", searching.nonzero, frozenset())
register("flatnonzero", flatnonzero, frozenset())
register("argwhere", searching.argwhere, frozenset())


def _extract(condition: Any, arr: Any) -> DeviceNDArray:
    mask, x = arrays_of((condition, arr))
    return indexing.take(x.ravel(), flatnonzero(mask), axis=0)


def _compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Any:
    context = context_of_any(condition, a, out)
    mask = array_of(condition, context)
    if mask.ndim != 1:
        raise ShapeError(f"the condition of compress has one axis, not {mask.ndim}", hint="condition.ravel()")
    return indexing.take(array_of(a, context), flatnonzero(mask), axis=axis, out=out)


register("extract", _extract, frozenset())
register("compress", _compress, _words("axis out"))


def _take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    x = array_of(a, context_of_any(indices, out))
    places = operand(indices)
    if isinstance(places, bool):
        places = np.int64(places)
    elif getattr(places, "dtype", None) == np.bool_:
        places = places.astype(np.int64)
    return indexing.take(x, places, axis=axis, out=out, mode=mode)


register("take", _take, _words("axis out mode"))
register(
    "take_along_axis", lambda arr, indices, axis=-1: indexing.take_along_axis(arr, indices, axis=axis), _words("axis")
)
register("put_along_axis", indexing.put_along_axis, _words("axis"))
register("put", indexing.put, _words("mode"))


def _copyto(dst: DeviceNDArray, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    if not isinstance(dst, DeviceNDArray):
        raise DTypeError("numpy.copyto does not write a device array to the host", hint="x.copy_to_host(host)")
    source = src if is_number(src) or isinstance(src, DeviceNDArray) else array_of(src, dst.context)
    if isinstance(source, DeviceNDArray) and not np.can_cast(source.dtype, dst.dtype, casting):
        raise DTypeError(f"{source.dtype} does not become {dst.dtype} with casting={casting!r}")
    if is_number(source):
        source = _cast_number(source, dst.dtype, casting)
    assign(dst, source, where=None if where is True else mask_of(where, dst.shape, dst.context))


def _cast_number(number: Any, dtype: np.dtype[Any], casting: Any) -> Any:
    """A number as NumPy casts it, floats out of range, too. Raises `DTypeError` where NumPy does not."""
    found = np.empty((), dtype)
    try:
        if not (np.iscomplexobj(number) and dtype.kind not in "cb"):  # which the assignment refuses
            np.copyto(found, number, casting)
            return found[()]
    except TypeError as error:
        raise DTypeError(f"{type(number).__name__} does not become {dtype} with casting={casting!r}") from error
    except OverflowError as error:  # of bool, too, to which assignments cast any integer
        raise NumberRangeError(f"{type(number).__name__} does not become {dtype}: {error}") from error
    except ValueError:
        pass  # the assignment says it
    return number


register("copyto", _copyto, _words("casting where"))


def _clip(
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: Any = "same_kind",
    **named: Any,
) -> Any:
    low, high = named.get("min", a_min), named.get("max", a_max)
    found = elementwise.bounded(a, low, high, strict=True, dtype=dtype, casting=casting)
    return into(found, out, casting, broadcast=True)


register("clip", _clip, _words("a_min a_max min max out dtype casting"))


def _bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    numbers = x if isinstance(x, DeviceNDArray) else array_of(x)
    amounts = None if weights is None else array_of(weights, numbers.context)
    return bincount(numbers, amounts, minlength)


register("bincount", _bincount, _words("weights minlength"))
