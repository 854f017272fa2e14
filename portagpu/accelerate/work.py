"""What a call would have the device do: its cost, and how it is run there; or why it is left to NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

DTYPES = tuple(map(np.dtype, ("float32", "float64", "complex64", "complex128")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Operations whose times follow one curve, from a few ``samples`` that are measured, the smallest first.

    Of three samples the second is one with many bytes and little arithmetic, which tells what a byte costs; kinds with
    two take that from products.
    """

    name: str
    samples: Callable[[str], Sequence[Sample]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a call costs: ``flops`` of each of ``count`` operations, ``bytes`` that all of them read and write."""

    kind: Kind
    dtype: str
    flops: float
    bytes: int
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """An operation that is measured: its cost, and how NumPy and the current device do it."""

    work: Work
    numpy: Callable[[], Any]
    device: Callable[[], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A call that the device can do. ``run`` does it on the current device and returns what NumPy would."""

    work: Work
    run: Callable[[], Any]
    operands: str  # shapes, for reports


@dataclass(frozen=True, slots=True)
class Left:
    """A call that is NumPy's, and why. ``counts``: unless NumPy makes calls of it that count themselves."""

    why: str
    operands: str = ""
    dtype: str = ""
    counts: bool = True


Planner: TypeAlias = Callable[..., "Plan | Left"]


def flops_of_product(m: int, n: int, k: int, dtype: np.dtype[Any]) -> float:
    """Operations of a product of matrices; a complex multiplication and addition is eight."""
    return (8.0 if dtype.kind == "c" else 2.0) * m * n * k


def shapes_of(*arrays: Any) -> str:
    """The shapes of operands, as reports show them: ``20000x512 512x64``."""
    return " ".join("x".join(map(str, np.shape(array))) or "number" for array in arrays)


def common_dtype(*arrays: Any) -> np.dtype[Any] | Left:
    """The dtype that NumPy computes with, where the device has it and all operands are plain arrays."""
    for array in arrays:
        if type(array) is not np.ndarray:
            return Left(f"an operand is a {type(array).__name__}, no plain array")
    if any(array.dtype.kind not in "biufc" or not array.dtype.isnative for array in arrays):
        return Left("an operand's dtype is none of the device's", shapes_of(*arrays), str(arrays[0].dtype))
    dtype = arrays[0].dtype if len({array.dtype for array in arrays}) == 1 else np.result_type(*arrays)
    if dtype not in DTYPES:
        return Left(f"{dtype} is left to NumPy", shapes_of(*arrays), str(dtype))
    return dtype
