"""Level 2: packed triangles and bands."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from portagpu.bench.routines import level2
from portagpu.bench.routines.task import Array, Task, largest, random, rounding

_DIAGONALS = 32  # on each side


def _packed(a: Array) -> Array:
    """The lower triangle, column by column."""
    found: Array = np.ascontiguousarray(a.T[np.triu_indices(len(a))])
    return found


def _packed_task(task: Task, call: Any) -> Task:
    """A task of a lower triangle as one of its packed form; results are packed where the task's is the matrix."""
    check, name = task.error, {"sy": "sp", "tr": "tp"}[task.name[:2]] + task.name[2:]
    n, whole = task.n, task.arrays["a"]

    def error(result: Any) -> float:
        if np.ndim(result) == 1 and len(result) == n:
            return check(result)
        unpacked = whole.copy()
        unpacked.T[np.triu_indices(n)] = result
        return check(unpacked)

    arrays = {"ap": _packed(whole), "x": task.arrays["x"], "y": task.arrays["y"]}
    return replace(task, name=name, arrays=arrays, call=call, error=error)


def spmv(n: int, dtype: str) -> Task:
    """``y = A x`` of a packed symmetric matrix."""
    return _packed_task(
        level2.symv(n, dtype), lambda f, v: f(n, 1.0, v["ap"], v["x"], beta=0.0, y=v["y"], lower=1, overwrite_y=1)
    )


def tpmv(n: int, dtype: str) -> Task:
    """``L x`` of a packed triangle."""
    return _packed_task(level2.trmv(n, dtype), lambda f, v: f(n, v["ap"], v["x"], lower=1))


def spr(n: int, dtype: str) -> Task:
    """``A += x x^T``, packed."""
    return _packed_task(level2.syr(n, dtype), lambda f, v: f(n, 0.5, v["x"], v["ap"], lower=1, overwrite_ap=1))


def spr2(n: int, dtype: str) -> Task:
    """``A += x y^T + y x^T``, packed."""
    return _packed_task(level2.syr2(n, dtype), lambda f, v: f(n, 0.5, v["x"], v["y"], v["ap"], lower=1, overwrite_ap=1))


def _band_task(name: str, n: int, dtype: str, above: int, below: int, call: Any, *, mirrored: bool = False) -> Task:
    """A product with a band, whose diagonals are the rows of ``a``, the uppermost first."""
    a, x, y = random(3, (above + below + 1, n), dtype), random(1, (n,), dtype), random(2, (n,), dtype)
    wide, vector = a.astype(np.float64), x.astype(np.float64)
    wanted, size = np.zeros(n), np.zeros(n)
    for row, values in enumerate(wide):
        shift = row - above  # of the row over the column
        columns = slice(max(0, -shift), n - max(0, shift))
        rows = slice(max(0, shift), n - max(0, -shift))
        pairs = [(rows, columns)] if not (mirrored and shift) else [(rows, columns), (columns, rows)]
        for into, source in pairs:
            terms = values[columns] * vector[source]
            wanted[into] += terms
            size[into] += np.abs(terms)
    tolerance = rounding(dtype) * size + np.finfo(dtype).tiny
    return Task(
        name=name,
        dtype=dtype,
        n=n,
        size=f"{n}, {above + below + 1} diagonals",
        library="blas",
        arrays={"a": a, "x": x, "y": y},
        call=call,
        error=lambda result: largest(result, wanted, tolerance),
        work=a.nbytes,
        unit="GB/s",
    )


def diagonals(n: int) -> int:
    """Those on one side of the main one."""
    return min(_DIAGONALS, n - 1)


def gbmv(n: int, dtype: str) -> Task:
    """``y = A x`` of a band."""
    k = diagonals(n)
    return _band_task(
        "gbmv", n, dtype, k, k, lambda f, v: f(n, n, k, k, 1.0, v["a"], v["x"], beta=0.0, y=v["y"], overwrite_y=1)
    )


def sbmv(n: int, dtype: str) -> Task:
    """``y = A x`` of a symmetric band of which the lower half is read."""
    k = diagonals(n)
    return _band_task(
        "sbmv",
        n,
        dtype,
        0,
        k,
        lambda f, v: f(k, 1.0, v["a"], v["x"], beta=0.0, y=v["y"], lower=1, overwrite_y=1),
        mirrored=True,
    )


def tbmv(n: int, dtype: str) -> Task:
    """``L x`` of a band."""
    k = diagonals(n)
    return _band_task("tbmv", n, dtype, 0, k, lambda f, v: f(k, v["a"], v["x"], lower=1))
