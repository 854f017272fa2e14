"""Results of BLAS 3 as `scipy.linalg.blas` returns them: a new matrix, c itself, or a copy of it."""

from __future__ import annotations

from typing import Any

from portagpu.blas.arguments import operand_of
from portagpu.blas.scipy_arguments import Routine, may_overwrite
from portagpu.errors import ShapeError
from portagpu.runtime.execution.stream import Stream

Array = Any


def result_of(
    routine: Routine, c: Array, overwrite_c: Any, shape: tuple[int, int], *, like: Array, stream: Stream | None
) -> tuple[Array, Array]:
    """What a routine returns, and the same as a matrix of ``shape``: a new one beside ``like`` where c is None.

    Raises `ShapeError` for a c of another shape, and as `Routine.matrix` and `Routine.target` do.
    """
    overwrites = may_overwrite(overwrite_c, "c")
    if c is None:
        made = routine.new(like, shape)
        return made, made
    whole = operand_of(c, "c")
    present = routine.matrix(whole, "c")
    if present.shape != shape:
        raise ShapeError(f"c has shape {whole.shape}; the result has {shape}", hint="pass a c of that shape")
    target = routine.target(present, c, overwrite=overwrites, stream=stream)
    if whole.ndim == 2:
        return target, target
    return target.reshape(whole.shape), target
