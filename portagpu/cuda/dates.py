"""Dates and spans of time as arguments: kernels compute with their 64-bit counts, so all need one unit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.dtypes import INT64, DType
from portagpu.errors import ArgumentTypeError
from portagpu.runtime.args import ArgumentWrapper


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
