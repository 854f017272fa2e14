"""QR factors and least squares"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu.blas.factorisations import qr as qr_factors
from portagpu.blas.factorisations.batches import stacked
from portagpu.blas.factorisations.triangles import clear_beyond, first_zero
from portagpu.blas.gemm.core.alignment import swapped
from portagpu.blas.level3.conjugates import conjugate_into
from portagpu.blas.level3.triangles import identity
from portagpu.blas.level3.triangular_solve import solve_triangular
from portagpu.blas.replay.calls import repeats
from portagpu.errors import ShapeError, SingularMatrixError, UnknownOptionError
from portagpu.linalg.checking import checked
from portagpu.linalg.matrices import Array, arrays_of, broadcast_batches, check_matrix, copy_into, copy_of, new
from portagpu.linalg.results import Report, check_out, delivered, run, takes_results
from portagpu.linalg.right_sides import failed_at
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream


class QrFactors(NamedTuple):
    """``a = Q @ R``: `Q` has orthonormal columns, `R` is upper triangular."""

    Q: Array
    R: Array


@repeats
def qr(a: Array, *, mode: str = "reduced", stream: Stream | None = None) -> Any:
    """QR factors of matrices, by Householder reflections.

    a: (..., m, n). ``mode``: "reduced", `QrFactors` Q (..., m, k) and R (..., k, n) with k = min(m, n); "complete", the
    same with k = m; or "r", R alone. As `numpy.linalg.qr`. For device arrays the work is enqueued on ``stream``.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """
    if mode not in ("reduced", "complete", "r"):
        raise UnknownOptionError(f"qr: mode is {mode!r}", hint="reduced, complete or r")
    (a,), dtype = arrays_of("qr", a=a)
    check_matrix(a, "a", "qr")
    *batch, m, n = a.shape
    least = min(m, n)
    k = m if mode == "complete" else least
    work = copy_of(a, a.shape, dtype, stream)
    tau = new(a, (*batch, least), dtype)
    flat = tau.reshape((-1, least)) if batch and tau.size else tau
    held = stacked(work)
    q = None if mode == "r" else new(a, (*batch, m, k), dtype)

    def enqueue(a: Any, tau: Any, *others: Any) -> None:
        *results, stream = others
        qr_factors.geqrf(a, tau, stream)
        for q in results:
            identity(q, stream)
            qr_factors.multiply_by_q(a[..., :least], tau, q, stream, adjoint=False)
        clear_beyond(a, stream, lower=False)

    run(enqueue, stream, updates={"a": held}, results={"tau": flat} if q is None else {"tau": flat, "q": stacked(q)})
    r = work if k == m else work[..., :k, :]
    return r if q is None else QrFactors(q, r)


def _dependent(order: int, matrix: tuple[int, ...]) -> SingularMatrixError:
    what = f"has linearly dependent columns, or rows: element {order} on R's diagonal, from 1, is exactly 0"
    return failed_at(SingularMatrixError, order, matrix, what, "leave some of them out")


@takes_results
@checked(_dependent)
@repeats
def lstsq(
    a: Array, b: Array, *, out: Array | None = None, info: Array | None = None, stream: Stream | None = None
) -> Array:
    """The x with the least ``|a @ x - b|``, by QR factors; where a has fewer rows than columns, the shortest of them.

    a: (..., m, n) of full rank; b: (m), or (..., m, p), whose leading axes broadcast with those of a. Returns x of
    shape (n), or (..., n, p). Only an exact zero on R's diagonal tells of a lower rank: by an error, or ``info``, as in
    `solve`; ``out`` and ``stream`` are as there, too.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `SingularMatrixError`, `OutOfMemoryError`.
    """
    (a, b), dtype = arrays_of("lstsq", a=a, b=b)
    check_matrix(a, "a", "lstsq")
    m, n = a.shape[-2:]
    is_vector = b.ndim == 1
    if b.ndim == 0 or (b.shape[0] if is_vector else b.shape[-2]) != m:
        raise ShapeError(f"lstsq: a has shape {a.shape}, b {b.shape}", hint=f"b is ({m}), or (..., {m}, p)")
    columns = b.reshape((m, 1)) if is_vector else b
    batch = broadcast_batches("lstsq", a=a.shape[:-2], b=columns.shape[:-2])
    shape = (*batch, n) if is_vector else (*batch, n, columns.shape[-1])
    check_out(out, a, shape, dtype, "lstsq")
    work = copy_of(a, (*batch, m, n), dtype, stream)
    sides = new(a, (*batch, max(m, n), columns.shape[-1]), dtype)
    if m < n:
        _clear(sides, stream)
    copy_into(columns, sides[..., :m, :], stream)
    tau = new(a, (*batch, min(m, n)), dtype)
    flat = tau.reshape((-1, min(m, n))) if batch and tau.size else tau
    report = Report(info, a, batch, "lstsq")
    run(_enqueue_lstsq, stream, report, updates={"a": stacked(work), "b": stacked(sides)}, results={"tau": flat})
    report.finish(_dependent, stream)
    found = sides[..., :n, :]
    return delivered(found[..., 0] if is_vector else found, out, stream)


def _enqueue_lstsq(a: DeviceNDArray, b: DeviceNDArray, tau: DeviceNDArray, info: DeviceNDArray, stream: Stream) -> None:
    m, n = a.shape[-2:]
    if m >= n:
        qr_factors.geqrf(a, tau, stream)
        qr_factors.multiply_by_q(a, tau, b, stream, adjoint=True)
        top = a[..., :n, :]
        first_zero(top, info, stream)
        solve_triangular(top, b[..., :n, :], stream, lower=False)
        return
    # a^H = Q R, so a x = R^H Q^H x: the shortest x is Q inv(R^H) b
    if a.dtype.kind == "c":
        conjugate_into(a, a, stream)
    turned = swapped(a)
    qr_factors.geqrf(turned, tau, stream)
    top = turned[..., :m, :]
    first_zero(top, info, stream)
    solve_triangular(swapped(top), b[..., :m, :], stream, lower=True, conjugate=True)
    qr_factors.multiply_by_q(turned, tau, b, stream, adjoint=False)


def _clear(x: Array, stream: Stream | None) -> None:
    copy_into(_zero(x), x, stream)


def _zero(like: Array) -> Array:
    """One zero, where an array is."""
    zero = np.zeros((1, 1), like.dtype)
    if not isinstance(like, DeviceNDArray):
        return zero
    made = new(like, (1, 1), like.dtype)
    made.copy_to_device(zero)
    return made
