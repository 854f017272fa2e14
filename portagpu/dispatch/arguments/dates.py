"""Dates and time spans as arguments: kernels compute with 64-bit counts, so all need one unit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.dtypes import INT64, DType
from portagpu.errors import ArgumentTypeError, KernelTypeError
from portagpu.runtime.host_arguments import ArgumentWrapper


def stored(dtype: np.dtype[Any]) -> DType:
    """What kernels see of a dtype: the count of a date or span, otherwise the dtype. Raises `DTypeError`."""
    return INT64 if dtype.kind in "mM" else dtypes.from_numpy(dtype)


def check_units(args: Sequence[Any], names: Sequence[str]) -> None:
    """Raise `ArgumentTypeError` where dates or spans of different units meet in one launch: counts would mix."""
    first: tuple[str, Any] | None = None
    for name, value in zip(names, args, strict=False):
        dtype = getattr(value.value if isinstance(value, ArgumentWrapper) else value, "dtype", None)
        if not isinstance(dtype, np.dtype) or dtype.kind not in "mM":
            continue
        if first is None:
            first = name, dtype
        elif np.datetime_data(dtype) != np.datetime_data(first[1]):
            raise ArgumentTypeError(
                f"argument `{name}` is {dtype}, but `{first[0]}` is {first[1]}: kernels see counts of one unit",
                hint=f"convert it: {name}.astype('{dtype.kind}8[{np.datetime_data(first[1])[0]}]')",
            )


def is_date(dtype: Any) -> bool:
    """Whether a dtype is one of dates or spans."""
    return isinstance(dtype, np.dtype) and dtype.kind in "mM"


def converted(value: Any, wanted: np.dtype[Any] | None) -> Any:
    """An operand in the unit that a signature wants; other operands as they are. Raises `ArgumentTypeError`."""
    if wanted is None or not is_date(wanted) or value.dtype == wanted:
        return value
    if isinstance(value, np.ndarray | np.generic):
        return value.astype(wanted)
    raise ArgumentTypeError(
        f"a device array of {value.dtype} where {wanted} is declared: kernels see counts of one unit",
        hint="convert it before it is copied to the device",
    )


def result_dtype(function: Callable[..., Any], arguments: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """The dtype of what ``function`` makes of dates and spans: what Python says, as kernels know counts only.

    Raises `KernelTypeError` where Python cannot call the function.
    """
    try:
        return np.asarray(function(*(np.array(1).astype(dtype)[()] for dtype in arguments))).dtype
    except Exception as error:
        raise KernelTypeError(
            f"the dtype that `{function.__name__}` returns for ({', '.join(map(str, arguments))}) cannot be told",
            hint="declare it: timedelta(date, date) with types.NPTimedelta('D') and types.NPDatetime('D')",
        ) from error
