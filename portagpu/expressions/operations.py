"""Functions of elements with the dtypes that they compute in: NumPy's own choice, asked once for each combination."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.errors import DTypeError

_MOST = 4096  # combinations that are remembered


class Operation:
    """A function of elements: the ``name`` of a NumPy function, or an attribute (".real"), or "astype".

    ``inputs`` are the dtypes to which operands are converted before, ``dtype`` is the result's. Equal ones are one
    object as long as they are remembered.
    """

    __slots__ = ("dtype", "inputs", "name")

    def __init__(self, name: str, inputs: tuple[np.dtype[Any], ...], dtype: np.dtype[Any]) -> None:
        self.name, self.inputs, self.dtype = name, inputs, dtype

    @property
    def facts(self) -> tuple[Any, ...]:
        """What equal ones have in common."""
        return self.name, self.inputs, self.dtype


@lru_cache(_MOST)
def operation_of(ufunc: np.ufunc, *kinds: Any) -> Operation:
    """A ufunc in NumPy's loop for operands of these dtypes; `int`, `float`, `complex`: Python's numbers (NEP 50).

    Raises `DTypeError` where NumPy has none, or one of dtypes that no device has.
    """
    try:
        *inputs, output = ufunc.resolve_dtypes((*kinds, None))
    except TypeError as error:
        shown = ", ".join(kind.__name__ if isinstance(kind, type) else str(kind) for kind in kinds)
        raise DTypeError(
            f"numpy.{ufunc.__name__} takes no operands of types ({shown})", hint="convert them with x.astype(...)"
        ) from error
    for dtype in (*inputs, output):
        dtypes.from_numpy(dtype)
    return operation(ufunc.__name__, tuple(inputs), output)


@lru_cache(_MOST)
def operation(name: str, inputs: tuple[np.dtype[Any], ...], dtype: np.dtype[Any]) -> Operation:
    """A function of elements that converts its operands to dtypes, and its result to another."""
    return Operation(name, inputs, dtype)


@lru_cache(_MOST)
def conversion(dtype: np.dtype[Any]) -> Operation:
    """The conversion to a dtype. Raises `DTypeError` for one that kernels do not know."""
    dtypes.from_numpy(dtype)
    return Operation("astype", (dtype,), dtype)
