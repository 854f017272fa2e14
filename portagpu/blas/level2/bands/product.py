"""`multiply`: a product of a band with a vector, on device arrays."""

from __future__ import annotations

from dataclasses import dataclass

from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.level2.bands.problem import BandProblem, ProductCall
from portagpu.blas.level2.bands.selection import CHOICE, REGISTRY
from portagpu.blas.level2.bands.storage import Parts, Storage, general
from portagpu.blas.tunables.variant import Config
from portagpu.errors import MissingCapabilityError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.copies import copy_strided
from portagpu.runtime.execution.stream import Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Rows of op(A) from ``first`` up to ``last``, and its columns from ``left`` up to ``right``."""

    first: int
    last: int
    left: int
    right: int


def multiply(
    storage: Storage,
    parts: Parts,
    x: DeviceNDArray,
    y: DeviceNDArray,
    stream: Stream,
    config: Config | None = None,
    *,
    alpha: complex = 1.0,
    beta: complex = 0.0,
    bounds: Bounds | None = None,
) -> None:
    """``y = alpha * op(A) @ x + beta * y``; enqueued. ``bounds``: of the rows and columns that are multiplied, or all.

    x, y: vectors of any strides, of as many elements as op(A) has columns and rows, of its dtype: float32, float64,
    complex64 or complex128. Elements of x in ``bounds`` are none of y's that are written. With ``beta`` 0, y is not
    read; with ``alpha`` 0 neither are A and x. ``config`` overrides the tuned or default parameters. Raises
    `MissingCapabilityError`.
    """
    rows, columns = parts.shape
    if bounds is None:
        bounds = Bounds(first=0, last=rows, left=0, right=columns)
    if bounds.last <= bounds.first or (alpha == 0 and beta == 1):
        return
    problem = BandProblem(
        dtype=storage.array.dtype.name,
        rows=bounds.last - bounds.first,
        terms=min(parts.terms, bounds.right - bounds.left),
        order=parts.main.order,
        adjacent=parts.main.adjacent,
    )
    chosen = CHOICE.choose(problem, y.context) if config is None else config
    if chosen is None:
        raise MissingCapabilityError(
            f"{y.context.device.name} cannot multiply bands of {problem.dtype}", hint="use float32 or complex64"
        )
    call = ProductCall(
        storage=storage,
        x=x,
        y=y,
        bounds=(bounds.first, bounds.last, bounds.left, bounds.right),
        parts=parts,
        alpha=alpha,
        beta=beta,
        dtype=storage.array.dtype,
        stream=stream,
    )
    REGISTRY.variant_of(chosen).run(chosen, call)


def multiply_triangle(
    storage: Storage, x: DeviceNDArray, stream: Stream, *, trans: int = 0, unit: bool = False
) -> None:
    """``x = op(A) @ x`` for a triangular band, whose diagonal is not read where it is ``unit``; enqueued.

    Raises `MissingCapabilityError`.
    """
    given = workspaces.of(stream, "level2 band x", x.shape, x.dtype)
    copy_strided(x, given, stream)
    multiply(storage, general(storage, trans, unit=unit), given, x, stream)
