"""`ssymm`, `dsymm`, `csymm`, `zsymm`, `chemm`, `zhemm`: products with a symmetric or Hermitian matrix."""

from __future__ import annotations

from typing import Any

from portagpu.blas.gemm.batching import multiply
from portagpu.blas.gemm.triangles import multiply_by_symmetric
from portagpu.blas.host_arrays import on_device
from portagpu.blas.level3.results import result_of
from portagpu.blas.level3.triangle_kernels import HERMITIAN, SYMMETRIC
from portagpu.blas.level3.triangles import expanded
from portagpu.blas.scipy_arguments import LOWER, SIDE, Routine, in_dtype, option
from portagpu.errors import ShapeError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

Array = Any


def symm(
    a: DeviceNDArray,
    b: DeviceNDArray,
    c: DeviceNDArray,
    stream: Stream,
    *,
    lower: bool,
    left: bool = True,
    hermitian: bool = False,
    alpha: complex = 1.0,
    beta: complex = 0.0,
) -> None:
    """``c = alpha * a @ b + beta * c``, or ``alpha * b @ a`` unless ``left``, for a symmetric a; enqueued.

    a: (n, n), of which the triangle that ``lower`` names is read; ``hermitian``: a is, and the imaginary parts on its
    diagonal count as zero. b, c: (m, n) matrices, or all with
    leading axes, which broadcast. Any strides; c must not overlap a or b. With ``beta`` 0, c is not
    read, with ``alpha`` 0 neither are a and b.
    """
    if c.size == 0:
        return
    told: dict[str, Any] = {"lower": lower, "left": left, "alpha": alpha, "beta": beta}
    if alpha != 0 and multiply_by_symmetric(a, b, c, stream, **told):
        return
    full = a if alpha == 0 else expanded(a, stream, lower=lower, beyond=HERMITIAN if hermitian else SYMMETRIC)
    first, second = (full, b) if left else (b, full)
    multiply(first, second, c, stream, alpha=alpha, beta=beta, precision="")


def _symm(
    routine: Routine,
    /,
    alpha: Any,
    a: Array,
    b: Array,
    beta: Any = 0.0,
    c: Array = None,
    side: int = 0,
    lower: int = 0,
    overwrite_c: int = 0,
    *,
    stream: Stream | None = None,
) -> Array:
    triangle, right = routine.square(a, "a"), routine.matrix(b, "b")
    side, lower = option(side, "side", SIDE), option(lower, "lower", LOWER)
    n = right.shape[side]
    if triangle.shape[0] != n:
        counted = "columns" if side else "rows"
        raise ShapeError(
            f"a has shape {triangle.shape}, b {right.shape}: with side={side}, a has as many rows as b has {counted}",
            hint="side=0 computes a @ b, side=1 b @ a",
        )
    alpha, beta = routine.scalar(alpha, "alpha"), routine.scalar(beta, "beta")
    result, target = result_of(routine, c, overwrite_c, right.shape, like=right, stream=stream)
    factor = 0.0 if c is None else beta

    def enqueue(a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray, stream: Stream) -> None:
        hermitian = routine.family == "hemm"
        symm(a, b, c, stream, lower=bool(lower), left=not side, hermitian=hermitian, alpha=alpha, beta=factor)

    written: dict[str, Any] = {"results" if factor == 0 else "updates": {"c": target}}
    on_device(enqueue, stream, reads={"a": triangle, "b": right}, **written)
    return result


ssymm = in_dtype(
    _symm,
    "ssymm",
    "float32",
    """``alpha * a @ b + beta * c`` for a symmetric a in float32, as `scipy.linalg.blas.ssymm`; (m, n), Fortran order.

    a: (m, m), of which the upper triangle is read, the lower one with ``lower=1``; b: (m, n). With ``side=1`` it is
    ``b @ a``, and a is (n, n). ``c``: (m, n), read only if ``beta`` is not 0, and left as it is unless ``overwrite_c``.
    Arrays are all NumPy's, or all on the device, as `sgemm` takes them; for device arrays the work is enqueued on
    ``stream``.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """,
)
dsymm = in_dtype(_symm, "dsymm", "float64", "As `ssymm`, in float64.")
csymm = in_dtype(_symm, "csymm", "complex64", "As `ssymm`, in complex64.")
zsymm = in_dtype(_symm, "zsymm", "complex128", "As `ssymm`, in complex128.")
chemm = in_dtype(
    _symm,
    "chemm",
    "complex64",
    """As `csymm` for a Hermitian a: what is beyond the named triangle are the complex conjugates of its elements.

    The imaginary parts of a's diagonal count as zero.
    """,
    family="hemm",
)
zhemm = in_dtype(_symm, "zhemm", "complex128", "As `chemm`, in complex128.", family="hemm")
