"""Routines that are measured: operands, the call, what it has to compute and move, and the check of its result.

A call is written once: `portagpu.blas` and `portagpu.lapack` have the functions of SciPy's modules, so that the same
call is ours with device arrays, and SciPy's. Checks compute in float64. What takes O(n^3) work is checked with random
sign vectors (Freivalds): ``C v`` against the operands applied to v one after the other.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from portagpu.bench.turns import Call
from portagpu.runtime.arrays.array import DeviceNDArray

Array = np.ndarray[Any, Any]
Arrays = dict[str, Any]
Check = Callable[[Any], float]

_VECTORS = 4
_LAMBDA = 8.0  # tolerances hold except with a probability that falls exponentially with its square
LETTERS = {"float32": "s", "float64": "d"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A routine with operands.

    ``library``: "blas" or "lapack"; ``arrays``: by name, matrices in Fortran order; ``call(function, arrays)`` computes
    once and returns what the function does; ``error(result)``: the largest error of a first call's result, relative to
    the tolerance. ``work``: operations if ``unit`` is "GFLOP/s", bytes that must be moved if it is "GB/s".
    """

    name: str
    dtype: str
    n: int
    size: str
    library: str
    arrays: Arrays
    call: Callable[[Callable[..., Any], Arrays], Any]
    error: Check
    work: float
    unit: str

    @property
    def function(self) -> str:
        """The function's name: "saxpy"."""
        letter = LETTERS[self.dtype]
        return f"i{letter}amax" if self.name == "amax" else letter + self.name.partition("-")[0]


def call_of(function: Callable[..., Any], task: Task, arrays: Arrays, wait: Callable[[], Any] = lambda: None) -> Call:
    """A task's call of a function on these arrays, ready to be repeated."""
    held: dict[str, Any] = {}

    def enqueue() -> None:
        held["result"] = task.call(function, arrays)

    return Call(enqueue=enqueue, wait=wait, fetch=lambda: _on_host(held["result"]))


def _on_host(found: Any) -> Any:
    if isinstance(found, tuple):
        return tuple(_on_host(one) for one in found)
    return found.copy_to_host() if isinstance(found, DeviceNDArray) else found


def scipy_call(task: Task) -> Call:
    """SciPy's call, on copies of the task's arrays. Raises ImportError where it is not installed."""
    library = importlib.import_module(f"scipy.linalg.{task.library}")
    return call_of(getattr(library, task.function), task, {name: x.copy(order="F") for name, x in task.arrays.items()})


def _unit(dtype: str) -> float:
    """What tolerances are multiples of: the dtype's rounding, and that of the check itself, which is in float64."""
    return _LAMBDA * float(np.finfo(dtype).eps + 2 * np.finfo(np.float64).eps)


def _random(seed: int, shape: tuple[int, ...], dtype: str) -> Array:
    found: Array = np.random.default_rng(seed).standard_normal(shape[::-1], np.dtype(dtype).type).T
    return found


def _largest(found: Any, expected: Array, tolerance: Any) -> float:
    return float(np.max(np.abs(np.asarray(found, np.float64) - expected) / tolerance, initial=0.0))


# level 1 ------------------------------------------------------------------------------------------------------------


def _vector_task(name: str, n: int, dtype: str, passes: int, call: Any, expected: Any) -> Task:
    x, y = _random(1, (n,), dtype), _random(2, (n,), dtype)
    wide_x, wide_y = x.astype(np.float64), y.astype(np.float64)
    wanted, size = expected(wide_x, wide_y)

    def error(result: Any) -> float:
        return _largest(result, wanted, _unit(dtype) * size + np.finfo(dtype).tiny)

    return Task(
        name=name,
        dtype=dtype,
        n=n,
        size=str(n),
        library="blas",
        arrays={"x": x, "y": y},
        call=call,
        error=error,
        work=passes * n * x.itemsize,
        unit="GB/s",
    )


def axpy(n: int, dtype: str) -> Task:
    """``y += a x``."""
    return _vector_task(
        "axpy",
        n,
        dtype,
        3,
        lambda f, v: f(v["x"], v["y"], a=-0.5),
        lambda x, y: (y - 0.5 * x, np.abs(y) + np.abs(x)),
    )


def scal(n: int, dtype: str) -> Task:
    """``x *= -1``, which can be repeated."""
    return _vector_task("scal", n, dtype, 2, lambda f, v: f(-1.0, v["x"]), lambda x, y: (-x, np.abs(x)))


def copy(n: int, dtype: str) -> Task:
    """``y = x``."""
    return _vector_task("copy", n, dtype, 2, lambda f, v: f(v["x"], v["y"]), lambda x, y: (x, np.abs(x)))


def dot(n: int, dtype: str) -> Task:
    """``x . y``."""
    return _vector_task(
        "dot", n, dtype, 2, lambda f, v: f(v["x"], v["y"]), lambda x, y: (x @ y, np.sqrt(n) * np.abs(x * y).mean() * 64)
    )


def nrm2(n: int, dtype: str) -> Task:
    """The norm of x."""
    return _vector_task(
        "nrm2", n, dtype, 1, lambda f, v: f(v["x"]), lambda x, y: (np.linalg.norm(x), np.linalg.norm(x))
    )


def asum(n: int, dtype: str) -> Task:
    """The sum of magnitudes."""
    return _vector_task("asum", n, dtype, 1, lambda f, v: f(v["x"]), lambda x, y: (np.abs(x).sum(), np.abs(x).sum()))


def amax(n: int, dtype: str) -> Task:
    """The index of the largest magnitude."""
    return _vector_task("amax", n, dtype, 1, lambda f, v: f(v["x"]), lambda x, y: (np.argmax(np.abs(x)), 1e-3))


# level 2 ------------------------------------------------------------------------------------------------------------


def _matrix(n: int, dtype: str, *, dominant: bool = False) -> Array:
    a = _random(3, (n, n), dtype)
    if dominant:  # triangles that are well conditioned
        a /= n
        a[np.arange(n), np.arange(n)] = 2.0
    return a


def _matrix_vector_task(
    name: str, n: int, dtype: str, matrix: Array, call: Any, expected: Any, *, share: float = 1.0, passes: int = 1
) -> Task:
    x, y = _random(1, (n,), dtype), _random(2, (n,), dtype)
    wide = matrix.astype(np.float64)
    wanted, size = expected(wide, x.astype(np.float64), y.astype(np.float64))

    def error(result: Any) -> float:
        return _largest(result, wanted, _unit(dtype) * size)

    return Task(
        name=name,
        dtype=dtype,
        n=n,
        size=f"{n} x {n}",
        library="blas",
        arrays={"a": matrix, "x": x, "y": y},
        call=call,
        error=error,
        work=share * passes * n * n * x.itemsize,
        unit="GB/s",
    )


def _magnitudes(a: Array, x: Array) -> Array:
    found: Array = np.abs(a) @ np.abs(x)
    return found


def gemv(n: int, dtype: str, trans: int = 0) -> Task:
    """``y = A x`` or ``A^T x`` with A in columns."""

    def expected(a: Array, x: Array, y: Array) -> tuple[Array, Array]:
        op = a.T if trans else a
        return op @ x, _magnitudes(op, x)

    return _matrix_vector_task(
        "gemv-t" if trans else "gemv",
        n,
        dtype,
        _matrix(n, dtype),
        lambda f, v: f(1.0, v["a"], v["x"], 0.0, v["y"], trans=trans, overwrite_y=1),
        expected,
    )


def gemv_transposed(n: int, dtype: str) -> Task:
    """``y = A^T x``."""
    return gemv(n, dtype, 1)


def ger(n: int, dtype: str) -> Task:
    """``A += x y^T``."""
    return _matrix_vector_task(
        "ger",
        n,
        dtype,
        _matrix(n, dtype),
        lambda f, v: f(0.5, v["x"], v["y"], a=v["a"], overwrite_a=1),
        lambda a, x, y: (a + 0.5 * np.outer(x, y), np.abs(a) + np.abs(np.outer(x, y))),
        passes=2,
    )


def symv(n: int, dtype: str) -> Task:
    """``y = A x`` of a symmetric matrix of which one triangle is read."""

    def expected(a: Array, x: Array, y: Array) -> tuple[Array, Array]:
        whole = np.tril(a) + np.tril(a, -1).T
        return whole @ x, _magnitudes(whole, x)

    return _matrix_vector_task(
        "symv",
        n,
        dtype,
        _matrix(n, dtype),
        lambda f, v: f(1.0, v["a"], v["x"], 0.0, v["y"], lower=1, overwrite_y=1),
        expected,
        share=0.5,
    )


def trmv(n: int, dtype: str) -> Task:
    """``L x``."""
    return _matrix_vector_task(
        "trmv",
        n,
        dtype,
        _matrix(n, dtype, dominant=True),
        lambda f, v: f(v["a"], v["x"], lower=1),
        lambda a, x, y: (np.tril(a) @ x, _magnitudes(np.tril(a), x)),
        share=0.5,
    )


def trsv(n: int, dtype: str) -> Task:
    """``L^-1 x``."""
    a = _matrix(n, dtype, dominant=True)
    task = trmv(n, dtype)
    lower, x = np.tril(a).astype(np.float64), task.arrays["x"].astype(np.float64)

    def error(result: Any) -> float:
        found = np.asarray(result, np.float64)
        return _largest(lower @ found, x, _unit(dtype) * (_magnitudes(lower, found) + np.abs(x)))

    return replace(task, name="trsv", error=error)


# level 3 and factorisations -----------------------------------------------------------------------------------------


def _product_check(dtype: str, n: int, apply: Callable[[Array], Array], size: float, whole: Any = lambda c: c) -> Check:
    """The check of a matrix that has to be ``apply`` of the unit matrix; size: of its elements' terms, summed."""
    signs = np.random.default_rng(9).choice([-1.0, 1.0], (n, _VECTORS))
    wanted = apply(signs)

    def error(result: Any) -> float:
        found = whole(np.asarray(result)).astype(np.float64) @ signs
        return _largest(found, wanted, _unit(dtype) * size * n)

    return error


def _matrices_task(name: str, n: int, dtype: str, flops: float, arrays: Arrays, call: Any, error: Check) -> Task:
    return Task(
        name=name,
        dtype=dtype,
        n=n,
        size=str(n),
        library="blas",
        arrays=arrays,
        call=call,
        error=error,
        work=flops,
        unit="GFLOP/s",
    )


def gemm(n: int, dtype: str) -> Task:
    """``C = A B``."""
    a, b = _matrix(n, dtype), _random(4, (n, n), dtype)
    check = _product_check(dtype, n, lambda v: a.astype(np.float64) @ (b.astype(np.float64) @ v), np.sqrt(n))
    return _matrices_task("gemm", n, dtype, 2.0 * n**3, {"a": a, "b": b}, lambda f, v: f(1.0, v["a"], v["b"]), check)


def symm(n: int, dtype: str) -> Task:
    """``C = A B`` with a symmetric A."""
    a, b = _matrix(n, dtype), _random(4, (n, n), dtype)
    whole = (np.tril(a) + np.tril(a, -1).T).astype(np.float64)
    check = _product_check(dtype, n, lambda v: whole @ (b.astype(np.float64) @ v), np.sqrt(n))
    return _matrices_task(
        "symm", n, dtype, 2.0 * n**3, {"a": a, "b": b}, lambda f, v: f(1.0, v["a"], v["b"], lower=1), check
    )


def _mirrored(c: Array) -> Array:
    found: Array = np.tril(c) + np.tril(c, -1).T
    return found


def syrk(n: int, dtype: str) -> Task:
    """The lower triangle of ``C = A A^T``."""
    a = _matrix(n, dtype)
    wide = a.astype(np.float64)
    check = _product_check(dtype, n, lambda v: wide @ (wide.T @ v), np.sqrt(n), _mirrored)
    return _matrices_task("syrk", n, dtype, 1.0 * n**3, {"a": a}, lambda f, v: f(1.0, v["a"], lower=1), check)


def syr2k(n: int, dtype: str) -> Task:
    """The lower triangle of ``C = A B^T + B A^T``."""
    a, b = _matrix(n, dtype), _random(4, (n, n), dtype)
    x, y = a.astype(np.float64), b.astype(np.float64)
    check = _product_check(dtype, n, lambda v: x @ (y.T @ v) + y @ (x.T @ v), 2 * np.sqrt(n), _mirrored)
    return _matrices_task(
        "syr2k", n, dtype, 2.0 * n**3, {"a": a, "b": b}, lambda f, v: f(1.0, v["a"], v["b"], lower=1), check
    )


def trmm(n: int, dtype: str) -> Task:
    """``L B``."""
    a, b = _matrix(n, dtype), _random(4, (n, n), dtype)
    lower = np.tril(a).astype(np.float64)
    check = _product_check(dtype, n, lambda v: lower @ (b.astype(np.float64) @ v), np.sqrt(n))
    return _matrices_task(
        "trmm", n, dtype, 1.0 * n**3, {"a": a, "b": b}, lambda f, v: f(1.0, v["a"], v["b"], lower=1), check
    )


def trsm(n: int, dtype: str) -> Task:
    """``L^-1 B``."""
    a, b = _matrix(n, dtype, dominant=True), _random(4, (n, n), dtype)
    lower = np.tril(a).astype(np.float64)

    def error(result: Any) -> float:
        signs = np.random.default_rng(9).choice([-1.0, 1.0], (n, _VECTORS))
        found = lower @ (np.asarray(result).astype(np.float64) @ signs)
        return _largest(found, b.astype(np.float64) @ signs, _unit(dtype) * n)

    return _matrices_task(
        "trsm", n, dtype, 1.0 * n**3, {"a": a, "b": b}, lambda f, v: f(1.0, v["a"], v["b"], lower=1), error
    )


def potrf(n: int, dtype: str) -> Task:
    """``A = L L^T``."""
    a = _random(3, (n, n), dtype)
    a = np.asfortranarray((a + a.T) / (4 * n**0.5))  # a Python float, which keeps float32
    a[np.arange(n), np.arange(n)] += 3.0
    wide = a.astype(np.float64)

    def error(result: Any) -> float:
        lower = np.tril(np.asarray(result[0])).astype(np.float64)
        signs = np.random.default_rng(9).choice([-1.0, 1.0], (n, _VECTORS))
        return _largest(lower @ (lower.T @ signs), wide @ signs, _unit(dtype) * 4 * np.sqrt(n))

    made = _matrices_task("potrf", n, dtype, n**3 / 3, {"a": a}, lambda f, v: f(v["a"], lower=1, clean=0), error)
    return replace(made, library="lapack")


def getrf(n: int, dtype: str) -> Task:
    """``P A = L U``."""
    a = _random(3, (n, n), dtype)
    wide = a.astype(np.float64)

    def error(result: Any) -> float:
        lu, pivots = np.asarray(result[0]).astype(np.float64), np.asarray(result[1])
        signs = np.random.default_rng(9).choice([-1.0, 1.0], (n, _VECTORS))
        found = np.triu(lu) @ signs
        found = np.tril(lu, -1) @ found + found
        rows = np.arange(n)
        for i, other in enumerate(pivots):
            rows[i], rows[other] = rows[other], rows[i]
        growth = float(np.max(np.abs(np.triu(lu)))) * np.sqrt(n)
        return _largest(found, wide[rows] @ signs, _unit(dtype) * growth * np.sqrt(n))

    made = _matrices_task("getrf", n, dtype, 2 * n**3 / 3, {"a": a}, lambda f, v: f(v["a"]), error)
    return replace(made, library="lapack")


# sizes: of a GPU, of a CPU, and small ones
TASKS: dict[str, tuple[Callable[[int, str], Task], int, int, int]] = {
    **{make.__name__: (make, 1 << 26, 1 << 24, 1000) for make in (axpy, scal, copy, dot, nrm2, asum, amax)},
    **{
        name: (make, 8192, 2048, 90)
        for name, make in {
            "gemv": gemv,
            "gemv-t": gemv_transposed,
            "ger": ger,
            "symv": symv,
            "trmv": trmv,
            "trsv": trsv,
        }.items()
    },
    **{make.__name__: (make, 4096, 2048, 90) for make in (gemm, symm, syrk, syr2k, trmm, trsm)},
    **{make.__name__: (make, 8192, 2048, 90) for make in (potrf, getrf)},
}
"""The routines by the names that the command line takes."""


PEER_IN_A_CHILD = f"{__name__}:scipy_call_for"
"""SciPy's call of a routine, for `portagpu.bench.core_types`."""


def scipy_call_for(name: str, n: int, dtype: str) -> Call:
    """SciPy's call of a routine by its name in `TASKS`."""
    return scipy_call(TASKS[name][0](n, dtype))
