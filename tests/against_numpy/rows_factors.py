"""Rows of norms, and of what is found from factors of matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from eigen_checks import check_pairs, distances, value_bounds
from function_table import Case, row, rows
from limits import Compared, Limit
from operand_drawing import INEXACT, Drawing, Operand, finite, laid_out

Array = Any
_SIZES = [(1, 1), (3, 3), (2, 4, 4), (7, 7), (18, 18)]
_RECTANGLES = [(1, 3), (4, 1), (5, 3), (2, 3, 6), (9, 9)]


def _in_namespace(name: str, **options: Any) -> Callable[..., Any]:
    _, *path = name.split(".")

    def call(n: Any, *x: Any) -> Any:
        for part in path:
            n = getattr(n, part)
        return n(*x, **options)

    return call


def _conditioned(d: Drawing, dtypes: Any = INEXACT, *, hermitian: bool = False, definite: bool = False) -> Operand:
    """Square matrices whose solutions are known well, in all layouts of theirs."""
    shape = d.one(*_SIZES)

    def values(random: Any, inner: tuple[int, ...], dtype: Any) -> Array:
        del inner
        found = finite(random, shape, dtype)
        if hermitian or definite:
            found = (found + np.swapaxes(found.conj(), -1, -2)) / 2
        if not hermitian:
            found = found + (4 + 4 * shape[-1]) * np.eye(shape[-1])
        return found.astype(dtype)

    base = values(d.random, shape, np.dtype(d.one(*dtypes)))
    how = d.one("plain", "turned", "column", "reversed")
    if how == "turned":
        return laid_out(np.ascontiguousarray(np.swapaxes(base, -1, -2)), (), lambda a: a.swapaxes(-1, -2))
    if how == "column":
        return laid_out(np.repeat(base[..., None], 2, axis=-1), (), lambda a: a[..., 0])
    if how == "reversed":
        return laid_out(np.ascontiguousarray(base[..., ::-1, :]), (), lambda a: a[..., ::-1, :])
    return laid_out(base, (), lambda a: a)


def relative(factor: float) -> Limit:
    """Within so many eps of the largest result: of well-conditioned matrices."""

    def limit(c: Compared) -> None:
        for mine, theirs in zip(c.found, c.expected, strict=True):
            if mine.dtype.kind not in "fc":
                np.testing.assert_array_equal(mine, theirs)
                continue
            eps = float(np.finfo(mine.dtype).eps)
            away, room = np.abs(mine - theirs).max(initial=0.0), factor * eps * np.abs(theirs).max(initial=0.0)
            assert away <= room, f"{away} from NumPy's, within {room}"

    return limit


def _order_of(x: Operand) -> int:
    return max(x.host.shape[-2:])


@rows([f"{p}.linalg.{n}" for p in ("xp", "numpy") for n in ("det", "inv", "slogdet", "cholesky")])
def _of_square(d: Drawing, name: str) -> Case:
    x = _conditioned(d, definite="cholesky" in name)
    options = {"upper": d.boolean()} if "cholesky" in name and d.boolean() else {}
    return Case(call=_in_namespace(name, **options), operands=(x,), limit=relative(40 * _order_of(x)))


@rows([f"{p}.linalg.solve" for p in ("xp", "numpy")])
def _solve(d: Drawing, name: str) -> Case:
    x = _conditioned(d)
    n = x.host.shape[-1]
    y = d.array(
        [x.host.dtype.name] if d.integer(0, 2) else INEXACT, d.one((n,), (n, 2), (*x.host.shape[:-1], 3)), finite
    )
    return Case(call=_in_namespace(name), operands=(x, y), limit=relative(40 * n))


@rows([f"{p}.linalg.matrix_power" for p in ("xp", "numpy")])
def _matrix_power(d: Drawing, name: str) -> Case:
    x, n = _conditioned(d), d.integer(-3, 5)
    call = _in_namespace(name)
    return Case(call=lambda m, a: call(m, a, n), operands=(x,), limit=relative(60 * _order_of(x)))


@rows([f"{p}.linalg.{n}" for p in ("xp", "numpy") for n in ("eigh", "eigvalsh")])
def _eigen(d: Drawing, name: str) -> Case:
    x = _conditioned(d, hermitian=True)
    eps = float(np.finfo(x.host.dtype).eps)

    def limit(c: Compared) -> None:
        room = 8 * _order_of(x) * eps * np.linalg.norm(x.host, axis=(-2, -1))[..., None]
        assert np.all(np.abs(c.found[0] - c.expected[0]) <= 2 * room)
        if len(c.found) > 1:
            w, v = c.found
            left = np.linalg.norm(x.host.astype(np.complex128) @ v - v * w[..., None, :], axis=(-2, -1))
            assert np.all(left <= room[..., 0])

    return Case(call=_in_namespace(name), operands=(x,), limit=limit)


@rows([f"{p}.linalg.{n}" for p in ("xp", "numpy") for n in ("eig", "eigvals")])
def _general_eigen(d: Drawing, name: str) -> Case:
    x = _conditioned(d)

    def limit(c: Compared) -> None:
        values = c.found[0]
        assert np.result_type(values, np.complex64) == np.result_type(c.expected[0], np.complex64)
        assert np.all(distances(values, c.expected[0]) <= 2 * value_bounds(x.host))
        if len(c.found) > 1:
            check_pairs(x.host, *(part.astype(np.result_type(part, np.complex64)) for part in c.found))

    # which eigenvalues are real, rounding decides; in the array API none are
    return Case(call=_in_namespace(name), operands=(x,), limit=limit, dtypes=False)


def _rectangle(d: Drawing) -> Operand:
    return d.array(INEXACT, d.one(*_RECTANGLES), finite)


@rows([f"{p}.linalg.svd" for p in ("xp", "numpy")] + [f"{p}.linalg.svdvals" for p in ("xp", "numpy")])
def _svd(d: Drawing, name: str) -> Case:
    x, full = _rectangle(d), d.boolean()
    eps = float(np.finfo(x.host.dtype).eps)
    options = {} if name.endswith("vals") else {"full_matrices": full}

    def limit(c: Compared) -> None:
        room = 8 * _order_of(x) * eps * np.linalg.norm(x.host, axis=(-2, -1))[..., None]
        at = len(c.found) // 2
        assert np.all(np.abs(c.found[at] - c.expected[at]) <= 2 * room)
        if at:
            u, s, vh = c.found
            k = s.shape[-1]
            again = (u[..., :k] * s[..., None, :]) @ vh[..., :k, :].astype(np.complex128)
            assert np.all(np.linalg.norm(again - x.host, axis=(-2, -1)) <= room[..., 0])

    return Case(call=_in_namespace(name, **options), operands=(x,), limit=limit)


@rows([f"{p}.linalg.qr" for p in ("xp", "numpy")])
def _qr(d: Drawing, name: str) -> Case:
    x = _rectangle(d)
    eps = float(np.finfo(x.host.dtype).eps)

    def limit(c: Compared) -> None:
        q, r = c.found
        room = 8 * _order_of(x) * eps * np.maximum(np.linalg.norm(x.host, axis=(-2, -1)), 1)
        assert np.all(np.linalg.norm(q.astype(np.complex128) @ r - x.host, axis=(-2, -1)) <= room)
        assert np.all(np.tril(r, -1) == 0)

    return Case(call=_in_namespace(name, mode=d.one("reduced", "complete")), operands=(x,), limit=limit)


@rows([f"{p}.linalg.{n}" for p in ("xp", "numpy") for n in ("pinv", "matrix_rank")])
def _by_singular_values(d: Drawing, name: str) -> Case:
    x = _conditioned(d) if d.boolean() else _rectangle(d)
    if np.linalg.cond(x.host).max() > 1e3:
        x = _conditioned(d)
    return Case(call=_in_namespace(name), operands=(x,), limit=relative(1e4 * _order_of(x)))


@rows([f"{p}.linalg.vector_norm" for p in ("xp", "numpy")])
def _vector_norm(d: Drawing, name: str) -> Case:
    x = d.array(INEXACT, values=finite)
    axis, ord_ = d.axis(x.host.ndim, several=True), d.one(2, 2, 1, 0, math.inf, -math.inf, 3, 2.5)
    if x.host.size == 0 and ord_ in (math.inf, -math.inf):
        ord_ = 2
    options = {"axis": axis, "ord": ord_, "keepdims": d.boolean()}
    return Case(call=_in_namespace(name, **options), operands=(x,), limit=_of_terms(x.host.size))


def _of_terms(count: int) -> Limit:
    def limit(c: Compared) -> None:
        (mine,), (theirs,) = c.found, c.expected
        eps = float(np.finfo(mine.dtype).eps)
        np.testing.assert_allclose(mine, theirs, rtol=(32 + 2 * min(count, 300)) * eps, atol=0)

    return limit


@rows([f"{p}.linalg.matrix_norm" for p in ("xp", "numpy")] + ["numpy.linalg.norm", "numpy.linalg.cond"])
def _matrix_norm(d: Drawing, name: str) -> Case:
    x = _conditioned(d)
    ord_ = d.one("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)
    if name.endswith("cond"):
        call = _in_namespace(name)
        which = d.one(None, 2, 1, math.inf)
        return Case(call=lambda n, a: call(n, a, which), operands=(x,), limit=relative(200 * _order_of(x)))
    options: dict[str, Any] = {"ord": ord_, "keepdims": d.boolean()}
    if name == "numpy.linalg.norm":
        options["axis"] = (-2, -1)
        if d.boolean():
            options |= {"ord": d.one(None, 2, 1, 3), "axis": d.axis(x.host.ndim, none=False)}
    return Case(call=_in_namespace(name, **options), operands=(x,), limit=relative(64 * _order_of(x)))


@row("numpy.linalg.lstsq numpy.linalg.multi_dot")
def _others(d: Drawing) -> Case:
    kind = d.one(*INEXACT)
    a, b = d.array([kind], (9, 4), finite), d.array([kind], d.one((9,), (9, 2)), finite)
    well = laid_out(a.host + 9 * np.eye(9, 4, dtype=kind), (), lambda x: x)
    chain = [d.array([kind], s, finite) for s in ((3, 5), (5, 2), (2, 4))]

    def call(n: Any, x: Any, y: Any, *rest: Any) -> Any:
        found = np.linalg.lstsq(x, y, rcond=None)
        return found[0], int(found[2]), np.linalg.multi_dot(rest)

    return Case(call=call, operands=(well, b, *chain), limit=relative(400))
