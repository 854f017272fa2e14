"""Argument checks of arrays and copies, before NumPy or the driver complain in their own words."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.backends.registry import foreign
from portagpu.errors import (
    ArgumentTypeError,
    DTypeError,
    LaunchConfigError,
    NoNumberError,
    NumberRangeError,
    PortaGPUError,
    ShapeError,
)
from portagpu.runtime.arrays.foreign import is_foreign, shared_view
from portagpu.runtime.arrays.view import View
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.stream import as_stream


def is_default(stream: Any) -> bool:
    """Whether no stream is named: 0 or None."""
    return stream is None or (isinstance(stream, int) and stream == 0)


def check_stream(stream: Any, context: Context) -> None:
    """Raise `ArgumentTypeError` for what is no stream, without wrapping queues."""
    if not isinstance(stream, foreign.queues):
        as_stream(stream, context)


def check_writable(array: View) -> None:
    """Raise `ArgumentTypeError` for an array that nothing may be written to."""
    if array.readonly:
        raise ArgumentTypeError("the array is read-only", hint="write to a copy: x.copy()")


def count(value: Any, rule: str) -> int:
    """``value`` as a non-negative integer. Raises `LaunchConfigError`, which says the rule."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise LaunchConfigError(f"{rule}, not {value!r}")
    return int(value)


def host_array(value: Any) -> np.ndarray[Any, Any]:
    """Anything that NumPy makes an array of, or what shows its memory by DLPack. Raises `ArgumentTypeError`."""
    if is_foreign(value):
        return shared_view(value, "the array")
    try:
        return np.asarray(value)
    except PortaGPUError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentTypeError(
            f"NumPy makes no array of this {type(value).__name__}: {error}",
            hint="pass an array, a number, or nested lists of equal lengths",
        ) from error


def writable_view(value: Any) -> Any:
    """A NumPy record, or another library's array, as an array that shares its memory; anything else as it is."""
    if is_foreign(value):
        return shared_view(value, "the array")
    return np.asarray(value) if isinstance(value, np.void) and value.dtype.names else value


def assignable(
    value: Any, dtype: np.dtype[Any], shape: tuple[int, ...], *, to_elements: bool = False
) -> np.ndarray[Any, Any]:
    """A host value as NumPy would assign it to an array of ``dtype`` and ``shape``.

    ``to_elements``: a NumPy scalar follows the rule of ``x[i] = scalar``, which refuses most numbers out of range; else
    it is cast, as `numpy.copyto` does.

    Raises `ShapeError`; `NumberRangeError`, `NoNumberError` or `DTypeError` for a value that the dtype cannot hold.
    """
    is_record = dtype.names is not None and isinstance(value, tuple | list)
    host = np.empty(0, dtype) if is_record else host_array(value)  # only the dtype says what tuples are records
    if host.dtype.kind == "c" and dtype.kind not in "cb":
        raise DTypeError(f"cannot assign {host.dtype} to {dtype}", hint="assign its .real or .imag")
    try:
        if to_elements and isinstance(value, np.generic):
            host = np.empty((), dtype)
            host[()] = value  # the rule depends on both dtypes and on NumPy's version
        # Python's numbers must fit, as in NumPy; arrays are converted whatever they hold
        is_python = isinstance(value, int | float | list | tuple) and not isinstance(value, np.generic)
        kept = value if is_python else host
        host = kept.astype(dtype, copy=False) if isinstance(kept, np.ndarray) else np.asarray(kept, dtype)
    except OverflowError as error:  # it says which number is out of which bounds
        raise NumberRangeError(f"cannot assign this {type(value).__name__} to {dtype}: {error}") from error
    except ValueError as error:
        raise NoNumberError(f"cannot assign this {type(value).__name__} to {dtype}") from error
    except TypeError as error:
        raise DTypeError(f"cannot assign this {type(value).__name__} to {dtype}") from error
    try:
        return np.broadcast_to(host, shape)
    except ValueError as error:
        given = host.shape
        while len(given) > 1 and given[0] == 1:  # as NumPy says it
            given = given[1:]
        shown = "".join(str(given).split())
        raise ShapeError(
            f"could not broadcast input array from shape {shown} into shape {''.join(str(shape).split())}"
        ) from error


def check_target(target: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Raise unless ``target`` is a writable host array of this shape and dtype."""
    if is_foreign(target):
        target = shared_view(target, "the target")
    if not isinstance(target, np.ndarray):
        raise ArgumentTypeError(
            f"copy_to_host fills a NumPy array, not {type(target).__name__}",
            hint="leave the argument away to get a new array",
        )
    if target.shape != shape:
        raise ShapeError(f"cannot copy shape {shape} to shape {target.shape}")
    if target.dtype != dtype:
        raise DTypeError(f"cannot copy {dtype} to {target.dtype}")
    if not target.flags.writeable:
        raise ArgumentTypeError("the host array is read-only", hint="leave the argument away to get a new array")
