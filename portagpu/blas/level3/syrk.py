"""syrk, herk, syr2k and her2k: `ssyrk`, `cherk`, `zher2k` ...: products of which one triangle is computed."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.blas.gemm.core.alignment import swapped
from portagpu.blas.host_arrays import on_device
from portagpu.blas.level3.conjugates import conjugate_transpose
from portagpu.blas.level3.results import result_of
from portagpu.blas.level3.triangle_kernels import SUMS, WITH_ADJOINT, WITH_TRANSPOSED
from portagpu.blas.level3.triangles import update
from portagpu.blas.level3.triangular_product import Terms, triangular_product
from portagpu.blas.scipy_arguments import LOWER, TRANS, Routine, in_dtype, option
from portagpu.errors import ShapeError, UnknownOptionError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

Array = Any


def syrk(
    a: DeviceNDArray,
    c: DeviceNDArray,
    stream: Stream,
    *,
    lower: bool,
    alpha: complex = 1.0,
    beta: complex = 0.0,
    hermitian: bool = False,
) -> None:
    """``c = alpha * a @ a.T + beta * c`` in the triangle that ``lower`` names; enqueued.

    a: (n, k), c: (n, n), or both with the same leading axes, any strides, which must not overlap. ``hermitian``: ``a @
    a.conj().T``, with real factors, and the imaginary parts of c's diagonal are not read and become zero. Nothing else
    of c is written; with ``beta`` 0 it is not read, with ``alpha`` 0 a is not.
    """
    if alpha == 0 or a.shape[-1] == 0:
        _scale(c, stream, lower=lower, beta=beta, hermitian=hermitian)
        return
    right = conjugate_transpose(a, stream) if hermitian else swapped(a)
    terms = (Terms(left=a, right=right, alpha=alpha),)
    triangular_product(terms, c, stream, lower=lower, beta=beta, real_diagonal=hermitian)


def syr2k(
    a: DeviceNDArray,
    b: DeviceNDArray,
    c: DeviceNDArray,
    stream: Stream,
    *,
    lower: bool,
    alpha: complex = 1.0,
    beta: complex = 0.0,
    hermitian: bool = False,
) -> None:
    """``c = alpha * a @ b.T + alpha * b @ a.T + beta * c`` in the triangle that ``lower`` names; enqueued.

    As `syrk`, for a and b (n, k); ``hermitian``: ``alpha * a @ b.conj().T + conj(alpha) * b @ a.conj().T + beta * c``.
    """
    if alpha == 0 or a.shape[-1] == 0:
        _scale(c, stream, lower=lower, beta=beta, hermitian=hermitian)
        return
    first, second = (
        (swapped(b), swapped(a)) if not hermitian else (conjugate_transpose(b, stream), conjugate_transpose(a, stream))
    )
    other = np.conj(alpha) if hermitian else alpha
    terms = Terms(left=a, right=first, alpha=alpha), Terms(left=b, right=second, alpha=complex(other))
    added = WITH_ADJOINT if hermitian and a.dtype.kind == "c" else WITH_TRANSPOSED
    triangular_product(terms, c, stream, lower=lower, beta=beta, added=added, real_diagonal=hermitian)


def _scale(c: DeviceNDArray, stream: Stream, *, lower: bool, beta: complex, hermitian: bool) -> None:
    if beta != 1:
        update(c, stream, lower=lower, added=SUMS, beta=beta, real_diagonal=hermitian)


def _syrk(
    routine: Routine,
    /,
    alpha: Any,
    a: Array,
    beta: Any = 0.0,
    c: Array = None,
    trans: int = 0,
    lower: int = 0,
    overwrite_c: int = 0,
    *,
    stream: Stream | None = None,
) -> Array:
    return _updated(routine, alpha, {"a": a}, beta, c, trans, lower, overwrite_c, stream)


def _syr2k(
    routine: Routine,
    /,
    alpha: Any,
    a: Array,
    b: Array,
    beta: Any = 0.0,
    c: Array = None,
    trans: int = 0,
    lower: int = 0,
    overwrite_c: int = 0,
    *,
    stream: Stream | None = None,
) -> Array:
    return _updated(routine, alpha, {"a": a, "b": b}, beta, c, trans, lower, overwrite_c, stream)


def _updated(
    routine: Routine,
    alpha: Any,
    operands: dict[str, Array],
    beta: Any,
    c: Array,
    trans: Any,
    lower: Any,
    overwrite_c: Any,
    stream: Stream | None,
) -> Array:
    hermitian = routine.family.startswith("her")
    named = bool(option(lower, "lower", LOWER))
    is_turned = _trans(routine, trans, hermitian)
    matrices = {name: routine.matrix(value, name) for name, value in operands.items()}
    first = matrices["a"]
    for name, matrix in matrices.items():
        if matrix.shape != first.shape:
            raise ShapeError(
                f"{name} has shape {matrix.shape}, a has {first.shape}", hint="both have the same shape, before trans="
            )
    views = {name: matrix.T if is_turned else matrix for name, matrix in matrices.items()}
    n = views["a"].shape[0]
    alpha = _factor(routine, alpha, "alpha", real=hermitian and len(operands) == 1)
    beta = _factor(routine, beta, "beta", real=hermitian)
    result, target = result_of(routine, c, overwrite_c, (n, n), like=first, stream=stream)
    is_new = c is None

    def enqueue(*arrays: Any) -> None:
        *given, written, where = arrays
        if is_new:
            update(written, where, lower=not named, strict=True)
        told: dict[str, Any] = {"lower": named, "alpha": alpha, "beta": 0.0 if is_new else beta}
        if is_turned and hermitian:  # conj(A) A^T is the transpose of A conj(A)^T
            written, told["lower"], told["alpha"] = written.T, not named, alpha.conjugate()
        product: Any = syrk if len(given) == 1 else syr2k
        product(*given, written, where, hermitian=hermitian, **told)

    taken: dict[str, Any] = {"results" if is_new else "updates": {"c": target}}
    on_device(enqueue, stream, reads=views, **taken)
    return result


def _trans(routine: Routine, trans: Any, hermitian: bool) -> bool:
    """Whether operands are transposed. Raises `UnknownOptionError` for what BLAS does not have."""
    number = option(trans, "trans", TRANS)
    is_complex = routine.dtype.kind == "c"
    if is_complex and number == (1 if hermitian else 2):
        other = 2 if hermitian else 1
        raise UnknownOptionError(f"trans of {routine.name} is {number}", hint=f"0, or {other}, which {TRANS[other]}")
    return number != 0


def _factor(routine: Routine, value: Any, name: str, *, real: bool) -> complex:
    """A factor; of one that BLAS has as a real number, the real part, as SciPy takes it."""
    found = routine.scalar(value, name)
    return found.real if real else found


ssyrk = in_dtype(
    _syrk,
    "ssyrk",
    "float32",
    """The upper triangle of ``alpha * a @ a.T + beta * c`` in float32, as `scipy.linalg.blas.ssyrk`, in Fortran order.

    a: (n, k), or with ``trans=1`` (k, n), of which ``a.T @ a`` is formed. ``lower=1``: the lower triangle. ``c``: (n,
    n), of which the triangle is read if ``beta`` is not 0; it is left as it is unless ``overwrite_c``, and what is
    beyond the triangle is c's, or zero without one. Arrays are all NumPy's, or all on the device, as `sgemm` takes
    them; for device arrays the work is enqueued on ``stream``.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """,
)
dsyrk = in_dtype(_syrk, "dsyrk", "float64", "As `ssyrk`, in float64.")
csyrk = in_dtype(_syrk, "csyrk", "complex64", "As `ssyrk`, in complex64.")
zsyrk = in_dtype(_syrk, "zsyrk", "complex128", "As `ssyrk`, in complex128.")
cherk = in_dtype(
    _syrk,
    "cherk",
    "complex64",
    """A triangle of ``alpha * a @ a.conj().T + beta * c`` in complex64. See `ssyrk`.

    alpha and beta are real; of complex ones the real parts count, as in SciPy.
    ``trans=2`` forms ``a.conj().T @ a``. The imaginary parts of c's diagonal are not read, and become zero.
    """,
    family="herk",
)
zherk = in_dtype(_syrk, "zherk", "complex128", "As `cherk`, in complex128.", family="herk")
ssyr2k = in_dtype(
    _syr2k,
    "ssyr2k",
    "float32",
    """A triangle of ``alpha * a @ b.T + alpha * b @ a.T + beta * c`` in float32, as `scipy.linalg.blas.ssyr2k`.

    a, b: (n, k), or with ``trans=1`` (k, n), of which ``a.T @ b`` and so on are formed. See `ssyrk`.
    """,
)
dsyr2k = in_dtype(_syr2k, "dsyr2k", "float64", "As `ssyr2k`, in float64.")
csyr2k = in_dtype(_syr2k, "csyr2k", "complex64", "As `ssyr2k`, in complex64.")
zsyr2k = in_dtype(_syr2k, "zsyr2k", "complex128", "As `ssyr2k`, in complex128.")
cher2k = in_dtype(
    _syr2k,
    "cher2k",
    "complex64",
    "A triangle of ``alpha * a @ b^H + conj(alpha) * b @ a^H + beta * c`` in complex64, with a real beta. See `cherk`.",
    family="her2k",
)
zher2k = in_dtype(_syr2k, "zher2k", "complex128", "As `cher2k`, in complex128.", family="her2k")
