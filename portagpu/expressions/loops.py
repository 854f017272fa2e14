"""Which dtypes a function of elements computes in: NumPy's own choice, asked once for each combination."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from portagpu import dtypes
from portagpu.errors import DTypeError

_MOST = 4096  # combinations that are remembered


class Loop(NamedTuple):
    """What a function computes in, and what it makes: NumPy's inner loop."""

    inputs: tuple[np.dtype[Any], ...]
    output: np.dtype[Any]


@lru_cache(_MOST)
def loop_of(ufunc: np.ufunc, *kinds: Any) -> Loop:
    """NumPy's loop for operands of these dtypes; `int`, `float` and `complex` stand for Python's numbers (NEP 50).

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
    return Loop(tuple(inputs), output)
