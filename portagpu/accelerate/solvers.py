"""Systems and factorisations on the current device: functions of `numpy.linalg` and `scipy.linalg`.

Only what `portagpu.linalg` has is taken over. Values that NumPy and SciPy have errors or warnings for (infinities,
singular and ill-conditioned matrices) are left to them, after the device has found them.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from portagpu.accelerate.work import Kind, Left, Plan, Planner, Sample, Work, common_dtype, shapes_of

Array = np.ndarray[Any, Any]
_SIZES = (128, 1024)
_FLOPS = {"cholesky": 1 / 3, "inv": 2.0, "lu_factor": 2 / 3, "solve": 2 / 3}  # times n ** 3
_DEFAULTS: dict[str, tuple[Any, ...]] = {  # what keywords of SciPy may be; others change what is computed
    "assume_a": (None, "gen", "general"),
    "transposed": (False,),
    "lower": (False,),
}
_IGNORED = frozenset({"overwrite_a", "overwrite_b", "check_finite"})  # leave to overwrite, and what is looked at


def on_device(name: str) -> Callable[..., Any]:
    """A function of `portagpu.linalg`. Raises `AttributeError`, `ImportError` where there is none."""
    found: Callable[..., Any] = getattr(importlib.import_module("portagpu.linalg"), name)
    return found


def _work(name: str, n: int, columns: int, dtype: np.dtype[Any]) -> Work:
    factor = 4.0 if dtype.kind == "c" else 1.0
    flops = factor * (_FLOPS[name] * n**3 + 2.0 * n * n * columns)
    return Work(kind=KINDS[name], dtype=dtype.name, flops=flops, bytes=2 * (n + columns) * n * dtype.itemsize)


def _samples(name: str, dtype: str) -> Sequence[Sample]:
    made = []
    for n in _SIZES:
        a = np.full((n, n), 0.5, dtype) + n * np.eye(n, dtype=dtype)
        operands = (a, np.ones(n, dtype)) if name == "solve" else (a,)
        made.append(
            Sample(
                work=_work(name, n, 0, a.dtype),
                numpy=functools.partial(_of_host(name), *operands),
                device=functools.partial(on_device(name), *operands),
            )
        )
    return made


def _of_host(name: str) -> Callable[..., Any]:
    module = "scipy.linalg" if name == "lu_factor" else "numpy.linalg"
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found


KINDS = {name: Kind(name=name, samples=functools.partial(_samples, name)) for name in _FLOPS}


# numpy.linalg -------------------------------------------------------------------------------------------------------


def plan_solve(a: Any, b: Any) -> Plan | Left:
    """`numpy.linalg.solve` of one matrix."""
    return _planned("solve", (a, b), functools.partial(_solved, a, b))


def plan_cholesky(a: Any, /, *, upper: bool = False) -> Plan | Left:
    """`numpy.linalg.cholesky` of one matrix: the lower factor, from the lower triangle."""
    if upper:
        return Left("upper= is left to NumPy")
    return _planned("cholesky", (a,), lambda: on_device("cholesky")(a, lower=True))


def plan_inv(a: Any) -> Plan | Left:
    """`numpy.linalg.inv` of one matrix."""
    return _planned("inv", (a,), lambda: on_device("inv")(a))


def _solved(a: Array, b: Array) -> Array:
    made: Array = on_device("solve")(a, b)
    return made


# scipy.linalg -------------------------------------------------------------------------------------------------------


def plan_scipy_solve(a: Any, b: Any, **keywords: Any) -> Plan | Left:
    """`scipy.linalg.solve` of a general matrix, with its warning of an ill-conditioned one."""
    refused = _unlike_defaults(keywords)
    return refused or _planned("solve", (a, b), functools.partial(_well_conditioned, a, b, _checks(keywords)))


def plan_scipy_cholesky(a: Any, lower: bool = False, **keywords: Any) -> Plan | Left:
    """`scipy.linalg.cholesky`: the upper factor by default."""

    def run() -> Any:
        if not _finite(a, _checks(keywords)):
            return NotImplemented
        return on_device("cholesky")(a, lower=bool(lower), out=_in_columns(a))

    return _unlike_defaults(keywords) or _planned("cholesky", (a,), run)


def plan_scipy_lu_factor(a: Any, **keywords: Any) -> Plan | Left:
    """`scipy.linalg.lu_factor` of a square matrix."""

    def run() -> Any:
        if not _finite(a, _checks(keywords)):
            return NotImplemented
        lu, pivots = on_device("lu_factor")(a, out=_in_columns(a))
        return NotImplemented if (lu.diagonal() == 0).any() else (lu, pivots)  # SciPy warns

    return _unlike_defaults(keywords) or _planned("lu_factor", (a,), run)


def _well_conditioned(a: Array, b: Array, checks: bool) -> Any:
    if not (_finite(a, checks) and _finite(b, checks)):
        return NotImplemented
    lapack = importlib.import_module("scipy.linalg.lapack")
    factors = on_device("lu_factor")(a)
    estimate = lapack.get_lapack_funcs(("gecon",), (factors[0],))[0]
    reciprocal, info = estimate(factors[0], np.abs(a).sum(axis=0).max(), norm="1")
    if info or not reciprocal >= np.finfo(a.dtype).eps:
        return NotImplemented
    return on_device("lu_solve")(factors, b)


def _in_columns(a: Array) -> Array:
    """A new array like a in Fortran order, which LAPACK's results, and so SciPy's, have."""
    return np.empty(a.shape, a.dtype, order="F")


def _finite(array: Array, checks: bool) -> bool:
    return not checks or bool(np.isfinite(array).all())


def _checks(keywords: dict[str, Any]) -> bool:
    return bool(keywords.get("check_finite", True))


def _unlike_defaults(keywords: dict[str, Any]) -> Left | None:
    for name, value in keywords.items():
        if name not in _IGNORED and value not in _DEFAULTS.get(name, ()):
            return Left(f"{name}= is left to SciPy")
    return None


def _planned(name: str, arrays: tuple[Any, ...], run: Callable[[], Any]) -> Plan | Left:
    dtype = common_dtype(*arrays)
    if isinstance(dtype, Left):
        return dtype
    a, b = arrays[0], arrays[-1]
    fits = a.ndim == 2 and a.shape[0] == a.shape[1] and b.ndim in (1, 2) and b.shape[0] == a.shape[0]
    if not fits or any(array.dtype != dtype for array in arrays):
        return Left("no single matrix, or of several dtypes", shapes_of(*arrays), dtype.name)
    columns = 0 if b is a else b.size // max(1, b.shape[0])
    return Plan(work=_work(name, a.shape[0], columns, dtype), run=run, operands=shapes_of(*arrays))


OF_NUMPY: dict[str, Planner] = {"solve": plan_solve, "cholesky": plan_cholesky, "inv": plan_inv}
OF_SCIPY: dict[str, Planner] = {
    "solve": plan_scipy_solve,
    "cholesky": plan_scipy_cholesky,
    "lu_factor": plan_scipy_lu_factor,
}
