"""`multiply`: a product of a matrix, or of a triangle, with a vector, on device arrays; what gemv, symv and trmv do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from portagpu.blas.gemm.core.alignment import new_aligned_rows
from portagpu.blas.gemm.core.interface import order_of
from portagpu.blas.gemm.core.operands import flat, real_dtype, real_flat, span_of
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.level2.products.call import ProductCall, real_vector
from portagpu.blas.level2.products.form import FULL, LOWER, UPPER, Form, ProductProblem
from portagpu.blas.level2.products.selection import CHOICE, REGISTRY
from portagpu.blas.level2.products.vector_kernels import pack
from portagpu.blas.tunables.variant import Config
from portagpu.errors import MissingCapabilityError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

_NAMES = {FULL: "full", LOWER: "lower", UPPER: "upper"}
_THREADS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """How elements of a matrix are used, in terms of its rows and columns.

    ``rows``: ``y[i] += a[i, j] * x[j]``, ``columns``: ``y[j] += a[i, j] * x[i]``, or both where the matrix is
    symmetric; ``conjugate_rows``, ``conjugate_columns``: the element's conjugate. ``shape``: `FULL`, `LOWER`, `UPPER`
    (columns up to the diagonal of a row, or from it on); ``diagonal``: `READ`, `REAL` or `UNIT`.
    """

    routine: str
    rows: bool = True
    columns: bool = False
    conjugate_rows: bool = False
    conjugate_columns: bool = False
    shape: int = FULL
    diagonal: int = 0

    @property
    def turned(self) -> Use:
        """The same of the matrix's transpose."""
        return Use(
            routine=self.routine,
            rows=self.columns,
            columns=self.rows,
            conjugate_rows=self.conjugate_columns,
            conjugate_columns=self.conjugate_rows,
            shape={FULL: FULL, LOWER: UPPER, UPPER: LOWER}[self.shape],
            diagonal=self.diagonal,
        )


def multiply(
    use: Use,
    a: DeviceNDArray,
    x: DeviceNDArray,
    y: DeviceNDArray,
    stream: Stream,
    config: Config | None = None,
    *,
    alpha: complex = 1.0,
    beta: complex = 0.0,
) -> None:
    """``y = alpha * (what ``use`` says of a and x) + beta * y``; enqueued.

    a: a matrix of any strides, not empty; x, y: vectors of any strides, all of one dtype: float32, float64, complex64
    or complex128. y may be x itself; with ``beta`` 0, it is not read. ``config`` overrides the tuned or default
    parameters. Raises `MissingCapabilityError`.
    """
    order = order_of(a)
    if not order:
        a, order = new_aligned_rows(a, stream), "C"
    if order == "F":
        a, use = a.T, use.turned
    parts = 2 if a.dtype.kind == "c" else 1
    lines, columns = a.shape
    problem = ProductProblem(
        routine=use.routine,
        lines=lines,
        columns=columns,
        dtype=a.dtype.name,
        shape=_NAMES[use.shape],
        along=use.rows,
        across=use.columns,
    )
    chosen = CHOICE.choose(problem, a.context) if config is None else config
    if chosen is None:
        raise MissingCapabilityError(
            f"{a.context.device.name} cannot compute {use.routine} of {a.dtype}", hint="use float32 or complex64"
        )
    pitch = a.strides[0] // a.itemsize if lines > 1 else columns
    given, along, across = _given(x, use, stream)
    call = ProductCall(
        form=Form(use.shape, parts, use.rows, use.columns, use.diagonal),
        lines=lines,
        columns=columns * parts,
        memory=real_flat(a) if parts == 2 else flat(a, span_of(a)),
        pitch=pitch * parts,
        given=given,
        along=along,
        across=across,
        y=y,
        alpha=complex(alpha),
        beta=complex(beta),
        conjugate=use.conjugate_columns,
        stream=stream,
    )
    REGISTRY.variant_of(chosen).run(chosen, call)


def _given(x: DeviceNDArray, use: Use, stream: Stream) -> tuple[DeviceNDArray, int, int]:
    """x as kernels read it: memory, and where it has what is used along lines, and across."""
    n, item = x.size, x.itemsize
    is_complex = x.dtype.kind == "c"
    if not is_complex and (n == 1 or x.strides[0] == item):
        return flat(x, n), 0, 0
    along = 4 * n if is_complex and use.rows else 0
    across = 2 * n if is_complex else n
    packed = workspaces.of(stream, "level2 x", (along + across,), real_dtype(x.dtype) if is_complex else x.dtype)
    kind = np.uint64 if packed.is_large or x.is_large else np.uint32
    threads = min(_THREADS, x.context.capabilities.max_work_group_size)
    pack[-(-n // threads), threads, stream](
        real_vector(x),
        packed,
        kind(n),
        kind(0),
        kind(along),
        2 if is_complex else 1,
        use.rows,
        use.conjugate_rows,
    )
    return packed, 0, along
