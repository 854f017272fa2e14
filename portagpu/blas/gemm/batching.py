"""Products with leading axes, as few batched products as the strides allow."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from portagpu.blas.gemm.core.fusion import Fusion
from portagpu.blas.gemm.core.operands import with_strides
from portagpu.blas.gemm.engine import gemm
from portagpu.blas.gemm.scaling import finish
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream


def multiply(
    a: DeviceNDArray,
    b: DeviceNDArray,
    c: DeviceNDArray,
    stream: Stream,
    *,
    alpha: complex,
    beta: complex,
    precision: str,
    fusion: Fusion | None = None,
) -> None:
    """Enqueue ``c = alpha * a @ b + beta * c`` with NumPy's rules for vectors and leading axes, which c has in full.

    fusion: what becomes of the sums before they are stored, if anything.
    """
    if c.size == 0:
        return
    if a.ndim == 2 and b.ndim == 2:
        gemm(a, b, c, stream, alpha=alpha, beta=beta, precision=precision, fusion=fusion)
        return
    c = _with_two_axes(c, row=a.ndim == 1, column=b.ndim == 1)
    shape = c.shape
    if a.ndim == 1:
        a = with_strides(a, (1, *a.shape), (a.itemsize * a.shape[0], *a.strides))
    if b.ndim == 1:
        b = with_strides(b, (*b.shape, 1), (*b.strides, b.itemsize))
    batch = shape[:-2]
    steps = [_steps(x, batch) for x in (a, b, c)]
    matrices = [(x.shape[-2:], x.strides[-2:]) for x in (a, b, c)]
    if not any(steps[1]) and _continues(batch, steps[0], matrices[0]) and _continues(batch, steps[2], matrices[2]):
        # one matrix b for all: the matrices of a are one tall matrix
        rows = math.prod(batch) * a.shape[-2]
        tall_a = with_strides(a, (rows, a.shape[-1]), _row_steps(batch, steps[0], matrices[0]))
        tall_c = with_strides(c, (rows, c.shape[-1]), _row_steps(batch, steps[2], matrices[2]))
        flat_b = with_strides(b, *matrices[1])
        tall = fusion if fusion is None or rows == a.shape[-2] else replace(fusion, rows=a.shape[-2])
        gemm(tall_a, flat_b, tall_c, stream, alpha=alpha, beta=beta, precision=precision, fusion=tall)
        return
    folded = _fold(batch, steps)
    outer, inner = folded[0][:-1], folded[0][-1]
    for turn, index in enumerate(np.ndindex(*outer)):
        views = [
            with_strides(
                x,
                (inner, *extents),
                (taken[-1], *strides),
                first=sum(i * s for i, s in zip(index, taken[:-1], strict=True)),
            )
            for x, taken, (extents, strides) in zip((a, b, c), folded[1], matrices, strict=True)
        ]
        own = None if fusion is None else fusion.from_matrix(turn * inner)
        gemm(views[0], views[1], views[2], stream, alpha=alpha, beta=beta, precision=precision, fusion=own)


def finish_all(c: DeviceNDArray, fusion: Fusion, stream: Stream, *, row: bool, column: bool) -> None:
    """Enqueue what fusion makes of the elements that c has. Its matrices are a row or a column: those of vectors."""
    if c.size == 0:
        return
    c = _with_two_axes(c, row=row, column=column)
    for number, index in enumerate(np.ndindex(*c.shape[:-2])):
        finish(c[index] if index else c, 1, fusion.from_matrix(number), stream)


def _with_two_axes(c: DeviceNDArray, *, row: bool, column: bool) -> DeviceNDArray:
    """A result with the axes that it has not where the operands are vectors."""
    shape, steps = c.shape, c.strides
    if column:
        shape, steps = (*shape, 1), (*steps, c.itemsize)
    if row:
        shape, steps = (*shape[:-1], 1, shape[-1]), (*steps[:-1], c.itemsize, steps[-1])
    return with_strides(c, shape, steps) if row or column else c


def _steps(x: DeviceNDArray, batch: tuple[int, ...]) -> tuple[int, ...]:
    """Steps along the axes of the batch: 0 where an array is broadcast."""
    own = x.shape[:-2]
    missing = len(batch) - len(own)
    return (0,) * missing + tuple(0 if n == 1 else s for n, s in zip(own, x.strides[:-2], strict=True))


def _continues(batch: tuple[int, ...], steps: tuple[int, ...], matrix: tuple[tuple[int, ...], tuple[int, ...]]) -> bool:
    """Whether each matrix of a batch begins where the rows of the one before end."""
    (rows, _), (down, _) = matrix
    if rows == 1:  # the steps of the batch are those between rows
        expected = next((s for n, s in zip(reversed(batch), reversed(steps), strict=True) if n > 1), down)
    else:
        expected = down * rows
    for extent, step in zip(reversed(batch), reversed(steps), strict=True):
        if extent > 1 and (step != expected or step == 0):
            return False
        expected *= extent
    return True


def _row_steps(
    batch: tuple[int, ...], steps: tuple[int, ...], matrix: tuple[tuple[int, ...], tuple[int, ...]]
) -> tuple[int, int]:
    """Steps of the tall matrix that `_continues` found."""
    (rows, _), (down, right) = matrix
    if rows == 1:
        down = next((s for n, s in zip(reversed(batch), reversed(steps), strict=True) if n > 1), down)
    return down, right


def _fold(batch: tuple[int, ...], steps: list[tuple[int, ...]]) -> tuple[list[int], list[list[int]]]:
    """The same batch with fewer axes: neighbours become one where the steps of all arrays allow it."""
    extents: list[int] = []
    folded: list[list[int]] = [[], [], []]
    for axis, extent in enumerate(batch):
        if extent == 1 and len(batch) > 1 and (extents or axis < len(batch) - 1):
            continue
        here = [s[axis] for s in steps]
        if extents and all(f[-1] == step * extent for f, step in zip(folded, here, strict=True)):
            extents[-1] *= extent
            for f, step in zip(folded, here, strict=True):
                f[-1] = step
        else:
            extents.append(extent)
            for f, step in zip(folded, here, strict=True):
                f.append(step)
    return extents, folded
