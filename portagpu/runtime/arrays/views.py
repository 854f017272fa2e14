"""Views of device arrays, computed by NumPy on arrays without memory."""

from __future__ import annotations

import contextlib
import operator
from typing import Any, cast

import numpy as np

from portagpu.errors import (
    DTypeError,
    NotContiguousError,
    OutOfBoundsError,
    ShapeError,
    ShapeTypeError,
    SubscriptTypeError,
    did_you_mean,
)
from portagpu.runtime.arrays.layout import checked_dtype

Shadow = np.ndarray[Any, Any]


def indexed(shadow: Shadow, key: Any) -> Shadow:
    """``shadow[key]``, always a view. Raises `OutOfBoundsError`, and `ArgumentTypeError` for what gathers."""
    if isinstance(key, str) and shadow.dtype.names:
        return _field(shadow, key, shadow.dtype.names)
    keys = tuple(map(_basic, key if isinstance(key, tuple) else (key,)))
    if not any(item is Ellipsis for item in keys):
        keys = (*keys, Ellipsis)  # NumPy then returns a 0-d view instead of reading an element
    try:
        return cast(Shadow, shadow[keys])
    except IndexError as error:
        raise OutOfBoundsError(f"{error} (shape {shadow.shape})") from error
    except (TypeError, ValueError) as error:  # slices of text, or with a step of 0
        raise ShapeError(f"{error} (shape {shadow.shape})") from error


def _field(shadow: Shadow, name: str, known: tuple[str, ...]) -> Shadow:
    try:
        return cast(Shadow, shadow[name])
    except (ValueError, KeyError) as error:
        hint = f"{did_you_mean(name, known)}the fields are {', '.join(known)}"
        raise OutOfBoundsError(f"there is no field {name!r}", hint=hint) from error


def _basic(item: Any) -> Any:
    """One index, if it is one of those that give views."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if not isinstance(item, bool):
        with contextlib.suppress(TypeError):
            return operator.index(item)
    raise SubscriptTypeError(
        f"device arrays take integers, slices and arrays as indices, not {type(item).__name__}",
        hint="convert it to an integer",
    )


def broadcast(shadow: Shadow, shape: Any) -> Shadow:
    """``shadow`` in a broadcast shape. Raises `ShapeError`."""
    try:
        return np.broadcast_to(shadow, shape)
    except (ValueError, TypeError) as error:
        raise ShapeError(f"shape {shadow.shape} does not broadcast to shape {shape}") from error


def reshaped(shadow: Shadow, newshape: tuple[Any, ...], order: str) -> Shadow:
    """``shadow`` in another shape without a copy. Raises `ShapeError`."""
    shape = newshape[0] if len(newshape) == 1 and isinstance(newshape[0], tuple | list) else newshape
    numpy_order = cast(Any, order)
    try:
        return np.reshape(shadow, shape, order=numpy_order, copy=False)
    except TypeError as error:
        raise ShapeTypeError(f"a shape is made of integers, not {newshape!r}, and order is 'C', 'F' or 'A'") from error
    except ValueError as error:
        size = np.prod([n for n in shape if n != -1], dtype=object)
        fits = shadow.size % size == 0 if -1 in shape and size else shadow.size == size
        raise (NotContiguousError if fits else ShapeError)(
            f"cannot reshape {shadow.shape} with strides {shadow.strides} to {tuple(shape)} as a view: {error}",
            hint="call .copy() first for a contiguous array",
        ) from error


def transposed(shadow: Shadow, axes: tuple[Any, ...]) -> Shadow:
    """``shadow`` with permuted axes, reversed where none are named. Raises `ShapeError`."""
    packed = len(axes) == 1 and (axes[0] is None or isinstance(axes[0], tuple | list))
    order = axes[0] if packed else (axes or None)
    try:
        return cast(Shadow, shadow.transpose(order))
    except TypeError as error:
        raise ShapeTypeError(f"axes are integers, not {axes!r}") from error
    except ValueError as error:
        raise _of_axes(error)(str(error)) from error  # NumPy's own text, which programs compare


def _of_axes(error: Exception) -> type[ShapeError]:
    """What NumPy's error becomes: of an axis that is not there, which is one of values and one of indices, the same."""
    if isinstance(error, TypeError):
        return ShapeTypeError
    return OutOfBoundsError if isinstance(error, IndexError) else ShapeError


def squeezed(shadow: Shadow, axis: Any) -> Shadow:
    """``shadow`` without axes of length one. Raises `ShapeError`."""
    try:
        return cast(Shadow, shadow.squeeze(axis))
    except (ValueError, TypeError) as error:
        raise _of_axes(error)(f"{error} (shape {shadow.shape}, axis {axis!r})") from error


def viewed(shadow: Shadow, dtype: Any) -> Shadow:
    """``shadow``'s bytes as another dtype. Raises `DTypeError`, or `ShapeError` where its elements do not fit."""
    kind = checked_dtype(dtype)
    try:
        return shadow.view(kind)
    except ValueError as error:
        raise ShapeError(str(error)) from error  # NumPy's own text, which programs compare
    except TypeError as error:
        raise DTypeError(f"cannot view {shadow.dtype} as {kind}: {error}") from error


def pieces(shadow: Shadow, section: Any) -> list[slice]:
    """Slices of ``section`` elements, the last perhaps shorter, that cover a 1-D array. Raises `ShapeError`."""
    if shadow.ndim != 1:
        raise ShapeError(f"only 1-D arrays are split, this one has shape {shadow.shape}", hint="use slices")
    if isinstance(section, bool) or not isinstance(section, int | np.integer) or section < 1:
        raise ShapeError(f"a section is a positive number of elements, not {section!r}")
    return [slice(start, start + int(section)) for start in range(0, shadow.size, int(section))]
