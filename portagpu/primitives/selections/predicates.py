"""Flags: which elements a function of one element is true for."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN202

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.errors import ArgumentTypeError
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.ufuncs.kernel_source import launch

_MOST = 256  # functions whose kernels are kept


@cuda.jit(device=True)
def _is_set(value):
    return value != 0


def flags_by(values: DeviceNDArray, predicate: Any) -> DeviceNDArray:
    """Bools, of a flat array's shape: ``predicate`` of each element, a Python function or a device function."""
    if not callable(predicate) and not isinstance(predicate, Dispatcher):
        raise ArgumentTypeError(f"a predicate is a function of one element, not {type(predicate).__name__}")
    flags = device_array(values.size, np.bool_, context=values.context)
    if values.size:
        launch(_kernel(predicate), values.size, None, 0, (values, flags), values.context)
    return flags


def flags_of(values: DeviceNDArray) -> DeviceNDArray:
    """Which elements of a flat array are not 0."""
    return flags_by(values, _is_set)


@lru_cache(_MOST)
def _kernel(predicate: Any) -> Dispatcher:
    is_true: Any = predicate if isinstance(predicate, Dispatcher) else cuda.jit(predicate, device=True)

    def flag(values, flags):
        i = cuda.grid(1)
        if i < values.size:
            flags[i] = bool(is_true(values[i]))

    return cuda.jit(flag)
