"""Operands of the generated tests: edge values of every dtype beside random ones, always the same."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from portagpu.device import DeviceRecord
from portagpu.dtypes import ALL as ROWS

Array = np.ndarray[Any, Any]
NAMES = tuple(row.name for row in ROWS)  # the dtypes that the package knows
KINDS = {name: np.dtype(name).kind for name in NAMES}


def of_kinds(kinds: str) -> tuple[str, ...]:
    """The dtypes whose kind (NumPy's letter) is among these."""
    return tuple(name for name in NAMES if KINDS[name] in kinds)


def supported(device: DeviceRecord) -> frozenset[str]:
    """The dtypes with which a device computes."""
    caps = device.capabilities
    assert caps is not None
    missing = set() if caps.fp64 else {"float64", "complex128"}
    if not (caps.fp16 or caps.fp16_storage):
        missing.add("float16")
    return frozenset(NAMES) - missing


def _integers(dtype: np.dtype[Any], random: np.random.Generator) -> list[int]:
    info = np.iinfo(dtype)
    low, high, bits = int(info.min), int(info.max), info.bits
    wanted = [0, 1, 2, 3, 7, 8, bits - 1, bits, bits + 1, 100, high, high - 1, high // 2 + 1, low, low + 1]
    if low < 0:
        wanted += [-1, -2, -3, -7, -8, -bits]
    wanted += [int(v) for v in random.integers(low, high, 6, dtype, endpoint=True)]
    wanted += [int(v) for v in random.integers(max(low, -20), 20, 4)]
    return wanted


def _floats(dtype: np.dtype[Any], random: np.random.Generator) -> list[float]:
    info = np.finfo(dtype)
    large, eps, tiny = float(info.max), float(info.eps), float(info.tiny)
    positive = [0.0, 1.0, 0.5, 1.5, 2.5, 3.5, 2.0, 7.0, 1024.0, 0.0009765625, 0.1, 100.25]
    positive += [large, tiny, float(info.smallest_subnormal), tiny * 0.75, eps, 1 + eps, 1 - eps / 2, np.inf]
    scales = 10 ** random.uniform(-3, 3, 10)
    positive += [float(v) for v in np.abs(random.normal(size=10)) * scales]
    return [*positive, *(-v for v in positive), np.nan]


def _complex(dtype: np.dtype[Any], random: np.random.Generator, *, few: bool) -> list[complex]:
    info = np.finfo(dtype)
    parts = [0.0, -0.0, 1.0, -2.5, float(info.max), np.inf, -np.inf, np.nan]
    if few:
        parts = [0.0, -0.0, 1.0, np.inf, np.nan]
    else:
        parts += [-1.0, 2.5, -float(info.max), float(info.tiny)]
    found = [complex(a, b) for a, b in product(parts, parts)]
    scales = 10 ** random.uniform(-2, 2, 30)
    found += [complex(a, b) for a, b in random.normal(size=(30, 2)) * scales[:, None]]
    angles = 2 * np.pi * random.random(15)  # near the unit circle, where logarithms cancel
    found += [complex(v) for v in np.exp(1j * angles) * (1 + random.normal(size=15) * 1e-3)]
    return found


def values(name: str, *, few: bool = False) -> Array:
    """Edge values of a dtype, and random ones. ``few``: of complex numbers, those for pairs."""
    dtype = np.dtype(name)
    random = np.random.default_rng(sum(name.encode()))
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind == "c":
        return np.array(_complex(dtype, random, few=few), dtype)
    if dtype.kind == "f":
        return np.array(_floats(dtype, random), dtype)
    info = np.iinfo(dtype)
    fitting = sorted({v for v in _integers(dtype, random) if info.min <= v <= info.max})
    return np.array(fitting, dtype)


def combinations(*names: str) -> tuple[Array, ...]:
    """Every value of each dtype with every one of the others; of three or more, a part of them."""
    columns = [values(name, few=len(names) > 1) for name in names]
    if len(names) > 2:
        random = np.random.default_rng(5)
        columns = [random.choice(column, 12, replace=False) if column.size > 12 else column for column in columns]
    grids = np.meshgrid(*columns, indexing="ij")
    return tuple(np.ascontiguousarray(grid.ravel()) for grid in grids)


def ends(*names: str) -> tuple[Array, ...]:
    """The ends of each dtype and numbers beside zero, each with every one of the others."""
    columns = []
    for name in names:
        column = values(name, few=True)
        finite = column[np.isfinite(column)]
        kept = [finite.min(), finite.max(), *(v for v in (0, 1, -1) if v in column)]
        if KINDS[name] == "f":
            kept += [np.nan, np.inf, -np.inf, -0.0]
        columns.append(np.array(kept[: 9 if len(names) == 1 else 5], name))
    grids = np.meshgrid(*columns, indexing="ij")
    return tuple(np.ascontiguousarray(grid.ravel()) for grid in grids)


def rows(name: str) -> tuple[Array]:
    """Arrays of a few elements, as the rows of one: for functions of arrays."""
    source = values(name)
    random = np.random.default_rng(9)
    table = random.choice(source, (60, 5))
    if KINDS[name] in "fc":
        moderate = source[np.isfinite(source) & (np.abs(source) < 1e3)]
        table[:40] = random.choice(moderate, (40, 5))
    return (table,)
