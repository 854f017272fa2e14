"""BLAS 3 under its names: functions of `scipy.linalg.blas` that `portagpu.blas` has, too.

Their times are judged as a product's with as many operations. BLAS 1 and 2 read each element once: moving it to a
device and back costs more than computing with it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu import blas
from portagpu.accelerate.products import PRODUCTS
from portagpu.accelerate.work import Left, Plan, Planner, Work, shapes_of

_DTYPES = {"s": "float32", "d": "float64", "c": "complex64", "z": "complex128"}
_FAMILIES = frozenset("gemm symm hemm syrk herk syr2k her2k trmm trsm".split())


def routines() -> dict[str, Planner]:
    """The names that are taken over, with their planners."""
    names = (name for name in dir(blas) if name[:1] in _DTYPES and name[1:] in _FAMILIES)
    return {name: functools.partial(_plan, name) for name in names}


def _plan(name: str, alpha: Any, a: Any, *others: Any, **keywords: Any) -> Plan | Left:
    """A call of a routine, whose second argument is a; all matrices are plain arrays of its dtype."""
    dtype = np.dtype(_DTYPES[name[0]])
    given = [a, *others, *(value for key, value in keywords.items() if not key.startswith("overwrite_"))]
    arrays = [value for value in given if np.ndim(value)]
    shapes = shapes_of(*arrays)
    if any(type(array) is not np.ndarray or array.dtype != dtype or array.ndim != 2 for array in arrays):
        return Left("a matrix is no plain array of the routine's dtype", shapes, dtype.name)
    if not arrays or arrays[0] is not a or any(keywords.get(f"overwrite_{each}") for each in "bc"):
        return Left("it may overwrite an argument", shapes, dtype.name)
    run: Callable[[], Any] = functools.partial(getattr(blas, name), alpha, a, *others, **keywords)
    return Plan(work=_work(name[1:], arrays, keywords, dtype), run=run, operands=shapes)


def _work(family: str, arrays: list[Any], keywords: dict[str, Any], dtype: np.dtype[Any]) -> Work:
    """Operations by the shapes; of op(a), for which ``trans`` counts where it is given by name."""
    a, b = arrays[0], arrays[1] if len(arrays) > 1 else arrays[0]
    if family == "gemm":
        multiplications = a.size * (b.shape[0] if keywords.get("trans_b") else b.shape[1])
    elif family in ("symm", "hemm"):
        multiplications = b.size * a.shape[0]
    elif family in ("trmm", "trsm"):
        multiplications = b.size * a.shape[0] / 2
    else:
        rows = a.shape[1] if keywords.get("trans") else a.shape[0]
        multiplications = a.size * rows / (1 if family.endswith("2k") else 2)
    flops = (8.0 if dtype.kind == "c" else 2.0) * multiplications
    bytes_ = (sum(array.size for array in arrays) + b.size) * dtype.itemsize
    return Work(kind=PRODUCTS, dtype=dtype.name, flops=flops, bytes=bytes_)
