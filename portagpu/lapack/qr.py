"""LAPACK's routines for QR factors: geqrf, ormqr and unmqr, orgqr and ungqr"""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.blas.factorisations import qr
from portagpu.blas.host_arrays import on_device
from portagpu.blas.level3.triangles import identity
from portagpu.blas.scipy_arguments import Routine, integer, may_overwrite
from portagpu.errors import ShapeError, UnknownOptionError
from portagpu.lapack.arguments import contiguous, folded, lapack_function, new, no_info, target
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

Array = Any


def _work(routine: Routine, like: Any, stream: Stream | None) -> Any:
    """The workspace that SciPy returns: one number, the length that suffices."""
    if isinstance(like, DeviceNDArray):
        return routine.zeros(like, (1,), stream)
    return np.ones(1, routine.dtype)


def _letter(value: Any, name: str, known: str) -> str:
    """An option such as "L" or b"L". Raises `UnknownOptionError`."""
    found = value.decode("ascii", "replace") if isinstance(value, bytes) else str(value)
    if len(found) != 1 or found.upper() not in known:
        raise UnknownOptionError(f"{name} is {value!r}", hint=f"one of {', '.join(known)}")
    return found.upper()


def _reflections(routine: Routine, a: Any, tau: Any, stream: Stream | None) -> tuple[Any, Any]:
    """Factors of `geqrf` and their numbers tau, of a matrix or of a batch. Raises `ShapeError`."""
    factors = routine.matrix(a, "a", batch=True)
    batch, (m, n) = factors.shape[:-2], factors.shape[-2:]
    numbers = routine.matrix(tau, "tau", batch=True) if batch else routine.vector(tau, "tau", stream)
    if numbers.shape[:-1] != batch or numbers.shape[-1] > min(m, n):
        raise ShapeError(
            f"{routine.name}: tau has shape {numbers.shape}, a {factors.shape}", hint="pass what geqrf returned"
        )
    if m < n:
        raise ShapeError(f"{routine.name}: a has shape {factors.shape}", hint=f"pass its first columns: a[..., :{m}]")
    return factors, contiguous(numbers, stream)


def _geqrf(
    routine: Routine, /, a: Array, lwork: int | None = None, overwrite_a: int = 0, *, stream: Stream | None = None
) -> tuple[Array, Array, Array, Any]:
    found = target(routine, routine.matrix(a, "a", batch=True), a, "a", overwrite_a, stream)
    tau = new(found, (*found.shape[:-2], min(found.shape[-2:])), found.dtype)
    work, info = _work(routine, found, stream), no_info(found, stream)
    if lwork is None or integer(lwork, "lwork") != -1:  # -1 asks for the workspace
        on_device(qr.geqrf, stream, updates={"a": folded(found, stream)}, results={"tau": tau})
    return found, tau, work, info


def _ormqr(
    routine: Routine,
    /,
    side: Any,
    trans: Any,
    a: Array,
    tau: Array,
    c: Array,
    lwork: int,
    overwrite_c: int = 0,
    *,
    stream: Stream | None = None,
) -> tuple[Array, Array, Any]:
    right = _letter(side, "side", "LR") == "R"
    adjoint = _letter(trans, "trans", "NC" if routine.dtype.kind == "c" else "NT") != "N"
    factors, numbers = _reflections(routine, a, tau, stream)
    found = target(routine, routine.matrix(c, "c", batch=True), c, "c", overwrite_c, stream)
    m = factors.shape[-2]
    if found.shape[-1 if right else -2] != m or found.shape[:-2] != factors.shape[:-2]:
        raise ShapeError(
            f"{routine.name}: c has shape {found.shape}, Q {(*factors.shape[:-2], m, m)}",
            hint="c has as many columns as Q rows on the right side, as many rows on the left, and its leading axes",
        )

    def enqueue(factors: Any, numbers: Any, c: Any, stream: Stream) -> None:
        qr.multiply_by_q(factors[..., : numbers.shape[-1]], numbers, c, stream, adjoint=adjoint, right=right)

    if integer(lwork, "lwork") != -1:
        given = {"a": folded(factors, stream), "tau": numbers}
        on_device(enqueue, stream, reads=given, updates={"c": folded(found, stream)})
    return found, _work(routine, found, stream), no_info(found, stream)


def _orgqr(
    routine: Routine,
    /,
    a: Array,
    tau: Array,
    lwork: int | None = None,
    overwrite_a: int = 0,
    *,
    stream: Stream | None = None,
) -> tuple[Array, Array, Any]:
    may_overwrite(overwrite_a, "a")  # a leave that is not used
    factors, numbers = _reflections(routine, a, tau, stream)
    made = new(factors, factors.shape, factors.dtype)

    def enqueue(factors: Any, numbers: Any, q: Any, stream: Stream) -> None:
        identity(q, stream)
        qr.multiply_by_q(factors[..., : numbers.shape[-1]], numbers, q, stream, adjoint=False)

    if lwork is None or integer(lwork, "lwork") != -1:
        given = {"a": folded(factors, stream), "tau": numbers}
        on_device(enqueue, stream, reads=given, results={"q": folded(made, stream)})
    return made, _work(routine, made, stream), no_info(made, stream)


_DOC = """QR factors in float32, as `scipy.linalg.lapack.sgeqrf`: (qr, tau, work, info).

    a: (m, n). qr: R on and above the diagonal, below it the vectors v of reflections 1 - tau v v^H, whose product Q is.
    ``overwrite_a``: qr may be a itself. ``lwork`` -1 only asks for work, whose first number is the workspace that is
    needed: 1. info is 0. Arrays and errors are as those of `sgetrf`.
    """
sgeqrf = lapack_function(_geqrf, "sgeqrf", "float32", _DOC)
dgeqrf = lapack_function(_geqrf, "dgeqrf", "float64", "As `sgeqrf`, in float64.")
cgeqrf = lapack_function(_geqrf, "cgeqrf", "complex64", "As `sgeqrf`, in complex64.")
zgeqrf = lapack_function(_geqrf, "zgeqrf", "complex128", "As `sgeqrf`, in complex128.")

_DOC = """Products with Q of QR factors in float32, as `scipy.linalg.lapack.sormqr`: (cq, work, info).

    a, tau: of `sgeqrf`, (m, k) and (k). cq: Q c (side "L", trans "N"), Q^T c ("L", "T"), c Q or c Q^T ("R"), for which
    ``overwrite_c`` lets c be used. ``lwork``, work and info are as in `sgeqrf`. Complex ones are named unmqr, and have
    trans "C" for Q^H.
    """
sormqr = lapack_function(_ormqr, "sormqr", "float32", _DOC)
dormqr = lapack_function(_ormqr, "dormqr", "float64", "As `sormqr`, in float64.")
cunmqr = lapack_function(_ormqr, "cunmqr", "complex64", "As `sormqr`, in complex64, with trans 'N' or 'C'.")
zunmqr = lapack_function(_ormqr, "zunmqr", "complex128", "As `sormqr`, in complex128, with trans 'N' or 'C'.")

_DOC = """Columns of Q of QR factors in float32, as `scipy.linalg.lapack.sorgqr`: (q, work, info).

    a, tau: of `sgeqrf`, (m, n) with m >= n, and (k); q: (m, n), the first columns of the product of k reflections.
    a does not become q, which ``overwrite_a`` would allow. ``lwork``, work and info are as in `sgeqrf`. Complex
    ones are named ungqr.
    """
sorgqr = lapack_function(_orgqr, "sorgqr", "float32", _DOC)
dorgqr = lapack_function(_orgqr, "dorgqr", "float64", "As `sorgqr`, in float64.")
cungqr = lapack_function(_orgqr, "cungqr", "complex64", "As `sorgqr`, in complex64.")
zungqr = lapack_function(_orgqr, "zungqr", "complex128", "As `sorgqr`, in complex128.")
