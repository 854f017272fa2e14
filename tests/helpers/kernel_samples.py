"""Helpers of the kernel tests: dtypes, awkward values, launching over every element."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.device import DeviceRecord

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
ALL = ("bool", *INTEGERS, *FLOATS)


def supported(device: DeviceRecord, names: tuple[str, ...] = ALL) -> list[str]:
    """The dtypes among ``names`` with which the device computes."""
    caps = device.capabilities
    assert caps is not None
    lacks = {"float16": not (caps.fp16 or caps.fp16_storage), "float64": not caps.fp64}
    return [name for name in names if not lacks.get(name, False)]


def samples(name: str) -> np.ndarray[Any, Any]:
    """Small, large, negative and zero values of a dtype; their product with themselves covers the corners."""
    dtype = np.dtype(name)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind == "f":
        return np.array([0, -0.0, 1, -1, 2.5, -2.5, 7, -7, 100.25, np.inf, -np.inf, np.nan], dtype)
    info = np.iinfo(dtype)
    found = {0, 1, 2, 3, 7, 8, 100, int(info.max), int(info.max) - 1, int(info.min), int(info.min) + 1}
    if info.min < 0:
        found |= {-1, -2, -3, -7, -8, -100}
    return np.array(sorted(found), dtype)


def pairs(left: str, right: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Every value of one dtype against every value of another."""
    a, b = np.meshgrid(samples(left), samples(right), indexing="ij")
    return a.ravel(), b.ravel()
