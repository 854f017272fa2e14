"""Rows of products of vectors and matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from function_table import Case, row, rows
from limits import Compared, Limit, close, widened
from operand_drawing import COMPLEX, FLOATS, INTEGERS, NUMBERS, Drawing, finite, whole

Array = Any


def products(terms: int) -> Limit:
    """Sums of products: (k + 2) eps of the sum of magnitudes, for k terms."""

    def limit(c: Compared) -> None:
        for mine, theirs, exact in zip(c.found, c.expected, c.exact, strict=True):
            if mine.dtype.kind not in "fc":
                np.testing.assert_array_equal(mine, theirs)
                continue
            sizes = np.asarray(c._call(np, *(np.abs(widened(x.host)) for x in c.operands)))
            close(mine, exact, (terms + 2) * np.finfo(mine.dtype).eps * sizes, theirs)

    return limit


def _numbers(d: Drawing) -> tuple[str, str]:
    first = d.one(*NUMBERS)
    return first, (first if d.integer(0, 3) else d.one(*NUMBERS))


@rows(["xp.matmul", "xp.linalg.matmul", "numpy.matmul", "numpy.linalg.matmul", "x.__matmul__", "numpy.dot"])
def _matmul(d: Drawing, name: str) -> Case:
    m, k, n = (d.one(1, 2, 7, 16, 33) for _ in range(3))
    k = d.one(k, k, 0)
    batch = d.one((), (), (3,), (2, 1)) if "dot" not in name else ()
    left = d.one((k,), (*batch, m, k), (*batch, m, k))
    right = d.one((k,), (k, n), (*(1 for _ in batch), k, n))
    kinds = _numbers(d)
    x, y = d.array([kinds[0]], left, finite), d.array([kinds[1]], right, finite)
    call = _in_namespace(name)
    if name == "x.__matmul__":
        call = lambda n, a, b: a @ b  # noqa: E731
    if name == "numpy.dot":
        call = lambda n, a, b: np.dot(a, b)  # noqa: E731
    exact = lambda n, a, b: np.matmul(a, b)  # noqa: E731
    return Case(call=call, operands=(x, y), limit=products(k), exact=exact)


def _in_namespace(name: str, **options: Any) -> Callable[..., Any]:
    _, *path = name.split(".")

    def call(n: Any, *x: Any) -> Any:
        for part in path:
            n = getattr(n, part)
        return n(*x, **options)

    return call


@rows([f"{p}.{n}vecdot" for p in ("xp", "numpy") for n in ("", "linalg.")])
def _vecdot(d: Drawing, name: str) -> Case:
    k, kinds = d.one(1, 7, 257), _numbers(d)
    standard = name.startswith("xp")
    axis = d.one(-1, -1, -2) if standard or "linalg" in name else -1
    shape = (3, k) if axis == -1 else (k, 3)
    x, y = d.array([kinds[0]], d.one(shape, (2, *shape)), finite), d.array([kinds[1]], shape, finite)
    return Case(call=_in_namespace(name, axis=axis), operands=(x, y), limit=products(k))


@rows(["xp.tensordot", "numpy.tensordot", "xp.linalg.tensordot", "numpy.linalg.tensordot"])
def _tensordot(d: Drawing, name: str) -> Case:
    kinds, axes = _numbers(d), d.one(0, 1, 2, ([0], [1]), ([1, 2], [0, 1]), ([-1, 0], [0, 2]))
    left, right = {0: ((2, 3), (4,)), 1: ((2, 3), (3, 4)), 2: ((5, 2, 3), (2, 3, 4))}.get(
        axes if isinstance(axes, int) else -1, (None, None)
    )
    if left is None:
        left, right = {0: ((3, 2), (4, 3)), 1: ((4, 2, 3), (2, 3, 5)), -1: ((3, 4, 2), (2, 5, 3))}[axes[0][0]]
    x, y = d.array([kinds[0]], left, finite), d.array([kinds[1]], right, finite)
    return Case(call=_in_namespace(name, axes=axes), operands=(x, y), limit=products(6))


@rows(["xp.linalg.outer", "numpy.linalg.outer", "numpy.outer", "numpy.inner", "numpy.vdot", "numpy.kron"])
def _of_vectors(d: Drawing, name: str) -> Case:
    kinds, k = _numbers(d), d.one(1, 3, 17)
    x = d.array([kinds[0]], (k,), finite)
    y = d.array([kinds[1]], (k if name.split(".")[-1] in ("inner", "vdot") else d.one(1, 4),), finite)
    return Case(
        call=_in_namespace(name), operands=(x, y), limit=products(k if "vdot" in name or "inner" in name else 1)
    )


@rows(["xp.linalg.cross", "numpy.linalg.cross", "numpy.cross"])
def _cross(d: Drawing, name: str) -> Case:
    kinds = _numbers(d)
    x, y = d.array([kinds[0]], d.one((3,), (4, 3)), finite), d.array([kinds[1]], d.one((3,), (4, 3), (1, 3)), finite)

    def limit(c: Compared) -> None:
        (mine,), (theirs,) = c.found, c.expected
        if mine.dtype.kind not in "fc":
            np.testing.assert_array_equal(mine, theirs)
            return
        a, b = (np.abs(widened(o.host)) for o in c.operands)
        rolled = lambda v, n: np.roll(v, n, axis=-1)  # noqa: E731
        sizes = rolled(a, 2) * rolled(b, 1) + rolled(a, 1) * rolled(b, 2)
        close(mine, c.exact[0], 4 * np.finfo(mine.dtype).eps * sizes, theirs)

    return Case(call=_in_namespace(name), operands=(x, y), limit=limit)


@rows([f"{p}.linalg.{n}" for p in ("xp", "numpy") for n in ("diagonal", "trace")])
def _diagonals(d: Drawing, name: str) -> Case:
    x = d.array(INTEGERS, least=2)
    return Case(call=_in_namespace(name, offset=d.integer(-4, 4)), operands=(x,))


@row("x.__imatmul__ x.__rmatmul__")
def _matmul_in_place(d: Drawing) -> Case:
    kind = d.one(*INTEGERS, *FLOATS, *COMPLEX)
    x, y = d.array([kind], (4, 4), whole, plain=True), d.array([kind], (4, 4), whole)
    host = d.array([kind], (4, 4), whole)

    def call(n: Any, a: Any, b: Any) -> Any:
        before = host.host @ b if isinstance(b, np.ndarray) else b.__rmatmul__(host.device)
        a @= b
        return a, before

    return Case(call=call, operands=(x, y))
