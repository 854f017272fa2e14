"""NumPy's functions that only look at the dtypes of arrays: nothing runs on the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.numpy_dispatch import register


def _empty(value: Any) -> Any:
    """A host array of the same dtype; a device array without axes is no number, either."""
    return np.empty(1, value.dtype) if isinstance(value, DeviceNDArray) else value


def _of_dtypes(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*values: Any, **options: Any) -> Any:
        return function(*map(_empty, values), **options)

    return call


for _function in (np.result_type, np.common_type, np.iscomplexobj, np.isrealobj, np.min_scalar_type):
    register(_function.__name__, _of_dtypes(_function), frozenset())
register(
    "can_cast",
    lambda from_, to, casting="safe": np.can_cast(from_.dtype, to, casting),
    frozenset({"casting"}),
)
