"""`product_result`: what products of banded and packed matrices with vectors make of their arguments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from portagpu.blas.host_arrays import on_device
from portagpu.blas.scipy_arguments import Routine, may_overwrite
from portagpu.blas.scipy_vectors import section, vector_target
from portagpu.runtime.execution.stream import Stream

Array = Any
Placed = tuple[Array, Any, Any]  # a vector's argument, its offset and its increment


def product_result(
    routine: Routine,
    matrix: tuple[str, Array],
    enqueue: Callable[..., None],
    extents: tuple[int, int],
    factors: tuple[Any, Any],
    x: Placed,
    y: Placed,
    overwrite_y: Any,
    stream: Stream | None,
) -> Array:
    """``alpha * op(A) @ x + beta * y``, as SciPy's functions return it.

    matrix: the argument's name and array; extents: rows and columns of op(A); ``enqueue``: is called with alpha, beta,
    the arrays on the device (the matrix's, x, y) and the stream. Raises as `Routine`'s methods and `Section.view` do.
    """
    name, array = matrix
    rows, columns = extents
    alpha, beta = routine.scalar(factors[0], "alpha"), routine.scalar(factors[1], "beta")
    overwrite = may_overwrite(overwrite_y, "y")
    source = section(routine.vector(x[0], "x", stream), "x", *x[1:]).view(columns)
    given, *placing = y
    result, target = vector_target(
        routine, given, "y", rows, (placing[0], placing[1]), like=array, overwrite=overwrite, stream=stream
    )
    if columns == 0:  # BLAS leaves y as it is then
        return result if given is not None else routine.zeros(array, result.shape, stream)
    beta = 0.0 if given is None else beta
    into: dict[str, Any] = {"results" if beta == 0 else "updates": {"y": target}}
    if rows:
        on_device(partial(enqueue, alpha, beta), stream, reads={name: array, "x": source}, **into)
    return result
