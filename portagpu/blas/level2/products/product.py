"""`multiply`: a product of a matrix, or of a triangle, with a vector, on device arrays; what gemv, symv and trmv do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from portagpu.blas.gemm.core.alignment import new_aligned_rows
from portagpu.blas.gemm.core.interface import order_of
from portagpu.blas.gemm.core.operands import placed, real_flat
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.level2.products.call import ProductCall, given_vector
from portagpu.blas.level2.products.form import FULL, LOWER, READ, REAL, UPPER, Form, ProductProblem
from portagpu.blas.level2.products.selection import CHOICE, REGISTRY
from portagpu.blas.tunables.variant import Config
from portagpu.errors import MissingCapabilityError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.copies import copy_strided
from portagpu.runtime.execution.stream import Stream


@dataclass(frozen=True, slots=True)
class Lines:
    """A matrix as lines of neighbours in memory: rows of C order, or columns; ``pitch``: elements from one to the next.

    ``growth``: of a packed triangle's lines, see `portagpu.blas.level2.products.form.Sheet`.
    """

    memory: DeviceNDArray
    lines: int
    columns: int
    pitch: int
    growth: int = 0


_NAMES = {FULL: "full", LOWER: "lower", UPPER: "upper"}


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


def symmetric_use(real: str, hermitian_too: str, dtype: np.dtype[Any], *, lower: bool, hermitian: bool) -> Use:
    """How the named triangle of a symmetric matrix is used, or of a ``hermitian`` one; names: of the two routines."""
    conjugates = hermitian and dtype.kind == "c"
    return Use(
        routine=hermitian_too if conjugates else real,
        columns=True,
        conjugate_columns=conjugates,
        shape=LOWER if lower else UPPER,
        diagonal=REAL if conjugates else READ,
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
    lines, columns = a.shape
    pitch = a.strides[0] // a.itemsize if lines > 1 else columns
    _multiply(use, Lines(placed(a), lines, columns, pitch), x, y, stream, config, alpha, beta)


def multiply_packed(
    use: Use,
    ap: DeviceNDArray,
    x: DeviceNDArray,
    y: DeviceNDArray,
    stream: Stream,
    config: Config | None = None,
    *,
    alpha: complex = 1.0,
    beta: complex = 0.0,
) -> None:
    """As `multiply`, for a packed triangle: ap (n * (n + 1) / 2), of any stride, has its columns one after the other.

    ``use.shape`` says which triangle it is. x, y: of n elements.
    """
    _multiply(use.turned, packed_lines(ap, use.shape, y.size, stream), x, y, stream, config, alpha, beta)


def packed_lines(ap: DeviceNDArray, shape: int, n: int, stream: Stream) -> Lines:
    """The columns of a packed triangle of n columns, `LOWER` or `UPPER`; one with gaps is copied."""
    if ap.size > 1 and ap.strides[0] != ap.itemsize:
        held = workspaces.of(stream, "level2 packed", ap.shape, ap.dtype)
        copy_strided(ap, held, stream)
        ap = held
    return Lines(placed(ap), n, n, n - 1, -1) if shape == LOWER else Lines(placed(ap), n, n, 1, 1)


def _multiply(
    use: Use,
    found: Lines,
    x: DeviceNDArray,
    y: DeviceNDArray,
    stream: Stream,
    config: Config | None,
    alpha: complex,
    beta: complex,
) -> None:
    dtype, context = found.memory.dtype, found.memory.context
    problem = ProductProblem(
        routine=use.routine,
        lines=found.lines,
        columns=found.columns,
        dtype=dtype.name,
        shape=_NAMES[use.shape],
        along=use.rows,
        across=use.columns,
    )
    chosen = CHOICE.choose(problem, context) if config is None else config
    if chosen is None:
        raise MissingCapabilityError(
            f"{context.device.name} cannot compute {use.routine} of {dtype}", hint="use float32 or complex64"
        )
    parts = problem.parts
    given, along, across = given_vector(x, stream, along=use.rows, conjugate=use.conjugate_rows)
    call = ProductCall(
        form=Form(parts, use.rows, use.columns, use.shape != FULL),
        lines=found.lines,
        columns=found.columns * parts,
        memory=real_flat(found.memory) if parts == 2 else found.memory,
        pitch=found.pitch * parts,
        growth=found.growth * parts,
        shape=use.shape,
        diagonal=use.diagonal,
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
