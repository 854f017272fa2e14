"""Products with symmetric and triangular matrices, and sums of matrices, with batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.blas.arguments import check_scalar
from portagpu.blas.host_arrays import on_device
from portagpu.blas.level3 import gemmt as gemmt_routines
from portagpu.blas.level3 import symm as symm_routines
from portagpu.blas.level3 import syrk as syrk_routines
from portagpu.blas.level3 import trmm as trmm_routines
from portagpu.blas.level3.combine import Term, combine
from portagpu.blas.level3.triangles import update
from portagpu.blas.replay.calls import repeats
from portagpu.errors import ArgumentTypeError, ShapeError
from portagpu.linalg.matrices import Array, arrays_of, broadcast_batches, check_matrix, copy_of, new
from portagpu.linalg.results import check_out, takes_results
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream


@takes_results
@repeats
def syrk(
    a: Array,
    *,
    lower: bool = False,
    hermitian: bool = False,
    alpha: complex = 1,
    beta: complex = 0,
    out: Array | None = None,
    stream: Stream | None = None,
) -> Array:
    """One triangle of ``alpha * a @ a.T + beta * out`` for matrices (..., n, k): (..., n, n).

    The upper triangle, or the ``lower`` one; what is beyond it is that of ``out``, zeros without one. ``hermitian``:
    ``a @ a.conj().T``, with real factors. Leading axes are those of a batch. With ``beta`` 0, what is in ``out`` is not
    read; with ``alpha`` 0 and ``beta`` 1, ``out`` stays as it is, imaginary parts on the diagonal of a Hermitian one,
    too. For device arrays the work is enqueued on ``stream``. It takes half of the operations of ``a @ a.T``.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `OutOfMemoryError`.
    """

    def enqueue(a: Any, c: Any, stream: Stream, factors: tuple[complex, complex]) -> None:
        told: dict[str, Any] = {"lower": lower, "hermitian": hermitian, "alpha": factors[0], "beta": factors[1]}
        syrk_routines.syrk(a, c, stream, **told)

    (a,), dtype = _matrices("syrk", a=a)
    shape = (*a.shape[:-1], a.shape[-2])
    factors = _factors("syrk", dtype, alpha, beta, out, real=hermitian)
    return _triangle("syrk", enqueue, {"a": a}, dtype, shape, lower, factors, out, stream)


@takes_results
@repeats
def gemmt(
    a: Array,
    b: Array,
    *,
    lower: bool = False,
    alpha: complex = 1,
    beta: complex = 0,
    out: Array | None = None,
    stream: Stream | None = None,
) -> Array:
    """One triangle of ``alpha * a @ b + beta * out``, for products that are known to be symmetric: (..., n, n).

    a: (..., n, k), b: (..., k, n), whose leading axes broadcast. The rest is as of `syrk`.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `OutOfMemoryError`.
    """

    def enqueue(a: Any, b: Any, c: Any, stream: Stream, factors: tuple[complex, complex]) -> None:
        gemmt_routines.gemmt(a, b, c, stream, lower=lower, alpha=factors[0], beta=factors[1])

    (a, b), dtype = _matrices("gemmt", a=a, b=b)
    if a.shape[-2:] != b.shape[-2:][::-1]:
        raise ShapeError(f"gemmt: a has shape {a.shape}, b {b.shape}", hint="they are (..., n, k) and (..., k, n)")
    shape = (*broadcast_batches("gemmt", a=a.shape[:-2], b=b.shape[:-2]), a.shape[-2], a.shape[-2])
    factors = _factors("gemmt", dtype, alpha, beta, out)
    return _triangle("gemmt", enqueue, {"a": a, "b": b}, dtype, shape, lower, factors, out, stream)


@takes_results
@repeats
def symm(
    a: Array,
    b: Array,
    *,
    lower: bool = False,
    left: bool = True,
    hermitian: bool = False,
    alpha: complex = 1,
    beta: complex = 0,
    out: Array | None = None,
    stream: Stream | None = None,
) -> Array:
    """``alpha * a @ b + beta * out``, or ``b @ a`` unless ``left``, for symmetric matrices a: (..., m, n).

    a: (..., m, m), or (..., n, n), of which the upper triangle is read, or the ``lower`` one; ``hermitian``: a is, and
    the imaginary parts on its diagonal count as zero. Leading axes broadcast. ``out`` and ``stream`` are as of `syrk`.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `OutOfMemoryError`.
    """
    (a, b), dtype = _matrices("symm", a=a, b=b)
    check_matrix(a, "a", "symm", square=True)
    if a.shape[-1] != b.shape[-2 if left else -1]:
        raise ShapeError(f"symm: a has shape {a.shape}, b {b.shape}", hint="left=False computes b @ a")
    shape = (*broadcast_batches("symm", a=a.shape[:-2], b=b.shape[:-2]), *b.shape[-2:])
    factors = _factors("symm", dtype, alpha, beta, out)

    def enqueue(a: Any, b: Any, c: Any, stream: Stream) -> None:
        told: dict[str, Any] = {"lower": lower, "left": left, "hermitian": hermitian}
        symm_routines.symm(a, b, c, stream, alpha=factors[0], beta=factors[1], **told)

    return _result("symm", enqueue, {"a": a, "b": b}, dtype, shape, factors[1], out, stream)


@takes_results
@repeats
def trmm(
    a: Array,
    b: Array,
    *,
    lower: bool = False,
    left: bool = True,
    unit_diagonal: bool = False,
    conjugate: bool = False,
    alpha: complex = 1,
    out: Array | None = None,
    stream: Stream | None = None,
) -> Array:
    """``alpha * a @ b``, or ``b @ a`` unless ``left``, for triangular matrices a: (..., m, n).

    a: (..., m, m), or (..., n, n), of which the upper triangle is read, or the ``lower`` one, without its diagonal if
    ``unit_diagonal``; ``conjugate``: its conjugate is multiplied. A transposed triangle is a view of it
    (``np.swapaxes(a, -1, -2)`` with the other ``lower``). Leading axes broadcast. ``out`` must not overlap a or b.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `OutOfMemoryError`.
    """
    (a, b), dtype = _matrices("trmm", a=a, b=b)
    check_matrix(a, "a", "trmm", square=True)
    if a.shape[-1] != b.shape[-2 if left else -1]:
        raise ShapeError(f"trmm: a has shape {a.shape}, b {b.shape}", hint="left=False computes b @ a")
    shape = (*broadcast_batches("trmm", a=a.shape[:-2], b=b.shape[:-2]), *b.shape[-2:])
    factor, _ = _factors("trmm", dtype, alpha, 0, out)

    def enqueue(a: Any, b: Any, c: Any, stream: Stream) -> None:
        if not left:
            a, b, c = (x.swapaxes(-1, -2) for x in (a, b, c))
        told: dict[str, Any] = {"unit_diagonal": unit_diagonal, "conjugate": conjugate, "alpha": factor}
        trmm_routines.multiply_triangular(a, b, c, stream, lower=lower == left, **told)

    return _result("trmm", enqueue, {"a": a, "b": b}, dtype, shape, 0, out, stream)


@takes_results
def transpose(
    a: Array, *, alpha: complex = 1, conjugate: bool = False, out: Array | None = None, stream: Stream | None = None
) -> Array:
    """A copy of ``alpha`` times the transposes of matrices (..., m, n), or of their conjugates: (..., n, m).

    In C order, unless ``out`` is in another one. Where a view is enough, ``a.T`` costs nothing.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `OutOfMemoryError`.
    """
    (a,), dtype = _matrices("transpose", a=a)
    factor, _ = _factors("transpose", dtype, alpha, 0, out)

    def enqueue(a: Any, c: Any, stream: Stream) -> None:
        combine(c, stream, Term(a.swapaxes(-1, -2), factor, conjugate))

    shape = (*a.shape[:-2], a.shape[-1], a.shape[-2])
    return _result("transpose", enqueue, {"a": a}, dtype, shape, 0, out, stream)


@takes_results
@repeats
def geam(
    a: Array,
    b: Array,
    *,
    alpha: complex = 1,
    beta: complex = 1,
    out: Array | None = None,
    stream: Stream | None = None,
) -> Array:
    """``alpha * a + beta * b`` for matrices (..., m, n), also of different orders and transposed views.

    Leading axes broadcast. A matrix with a factor of 0 is not read. ``out`` may be a or b.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `OutOfMemoryError`.
    """
    (a, b), dtype = _matrices("geam", a=a, b=b)
    if a.shape[-2:] != b.shape[-2:]:
        raise ShapeError(f"geam: a has shape {a.shape}, b {b.shape}", hint="sums are of matrices of one shape")
    shape = (*broadcast_batches("geam", a=a.shape[:-2], b=b.shape[:-2]), *a.shape[-2:])
    first = _scalar(alpha, "alpha", dtype)
    second = _scalar(beta, "beta", dtype)

    def enqueue(a: Any, b: Any, c: Any, stream: Stream) -> None:
        combine(c, stream, Term(a, first), Term(b, second))

    given = {"a": _ready(a, shape, dtype, stream), "b": _ready(b, shape, dtype, stream)}
    return _result("geam", enqueue, given, dtype, shape, 0, out, stream, in_place=True)


@takes_results
@repeats
def dgmm(a: Array, x: Array, *, left: bool = True, out: Array | None = None, stream: Stream | None = None) -> Array:
    """The rows of matrices (..., m, n) times the elements of x (..., m), their columns times (..., n) unless ``left``.

    A product with a diagonal matrix. Leading axes broadcast. ``out`` may be a.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `OutOfMemoryError`.
    """
    (a, x), dtype = arrays_of("dgmm", a=a, x=x)
    check_matrix(a, "a", "dgmm")
    if x.ndim < 1 or x.shape[-1] != a.shape[-2 if left else -1]:
        raise ShapeError(f"dgmm: a has shape {a.shape}, x {x.shape}", hint="left=False scales the columns")
    batch = broadcast_batches("dgmm", a=a.shape[:-2], x=x.shape[:-1])
    given = {
        "a": _ready(a, (*batch, *a.shape[-2:]), dtype, stream),
        "x": _ready(x, (*batch, x.shape[-1]), dtype, stream),
    }

    def enqueue(a: Any, x: Any, c: Any, stream: Stream) -> None:
        combine(c, stream, Term(a), diagonal=x, left=left)

    return _result("dgmm", enqueue, given, dtype, (*batch, *a.shape[-2:]), 0, out, stream, in_place=True)


# arguments -----------------------------------------------------------------------------------------------------------


def _matrices(function: str, **values: Array) -> tuple[list[Array], np.dtype[Any]]:
    found, dtype = arrays_of(function, **values)
    for name, x in zip(values, found, strict=True):
        check_matrix(x, name, function)
    return found, dtype


def _scalar(value: Any, name: str, dtype: np.dtype[Any]) -> complex:
    return check_scalar(value, name, dtype, dtype)


def _factors(
    function: str, dtype: np.dtype[Any], alpha: Any, beta: Any, out: Array | None, *, real: bool = False
) -> tuple[complex, complex]:
    found = _scalar(alpha, "alpha", dtype), _scalar(beta, "beta", dtype)
    if real and any(np.imag(factor) != 0 for factor in found):
        raise ArgumentTypeError(
            f"{function}: alpha is {alpha}, beta {beta}", hint="Hermitian matrices have real factors"
        )
    if out is None and found[1] != 0:
        raise ArgumentTypeError(
            f"{function}: beta scales what is in out, and there is no out", hint="pass out=, or leave beta= away"
        )
    return found


def _ready(x: Array, shape: tuple[int, ...], dtype: np.dtype[Any], stream: Stream | None) -> Array:
    """An array broadcast to a shape, in a dtype: the array itself, a view, or a copy."""
    if isinstance(x, DeviceNDArray):
        return x if x.shape == shape else x._broadcast(shape)
    if x.dtype != dtype or not x.dtype.isnative:
        return copy_of(x, shape, dtype, stream)
    return x if x.shape == shape else np.broadcast_to(x, shape)


def _triangle(
    function: str,
    enqueue: Callable[..., None],
    given: dict[str, Array],
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    lower: bool,
    factors: tuple[complex, complex],
    out: Array | None,
    stream: Stream | None,
) -> Array:
    """`_result` where one triangle is computed: what is beyond it is zero in new matrices, and stays in others."""
    is_new = out is None

    def begin(*arrays: Any) -> None:
        *rest, c, where = arrays
        if is_new:
            update(c, where, lower=not lower, strict=True)
        enqueue(*rest, c, where, factors)

    return _result(function, begin, given, dtype, shape, 0 if is_new else 1, out, stream)


def _result(
    function: str,
    enqueue: Callable[..., None],
    given: dict[str, Array],
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    beta: complex,
    out: Array | None,
    stream: Stream | None,
    *,
    in_place: bool = False,
) -> Array:
    """What ``enqueue(*given, result, stream)`` makes, in ``out`` or in a new array; beta: 0 if that is not read."""
    first = next(iter(given.values()))
    check_out(out, first, shape, dtype, function)
    made = new(first, shape, dtype) if out is None else out
    reads = {name: _ready(x, x.shape, dtype, stream) for name, x in given.items()}
    written: dict[str, Any] = {"updates" if beta != 0 else "results": {"out": made}}
    on_device(enqueue, stream, reads=reads, in_place=in_place, **written)
    return made
