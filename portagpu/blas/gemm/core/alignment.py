"""Row alignment for wide loads: views that have it, and copies that get it."""

from __future__ import annotations

from portagpu.blas.gemm.core.interface import ALIGNMENT, order_of
from portagpu.blas.gemm.core.operands import with_strides
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.copies import copy_strided
from portagpu.runtime.execution.stream import Stream


def begins_aligned(matrix: DeviceNDArray) -> bool:
    """Whether the base and all steps but the last are multiples of the alignment."""
    steps = zip(matrix.shape[:-1], matrix.strides[:-1], strict=True)
    return matrix.offset % ALIGNMENT == 0 and all(n == 1 or s % ALIGNMENT == 0 for n, s in steps)


def aligned_copy(matrix: DeviceNDArray, stream: Stream, role: str = "") -> DeviceNDArray:
    """An operand as it is, or a copy with aligned rows (columns, for order "F"); role: see `new_aligned_rows`."""
    order = order_of(matrix)
    flipped = swapped(matrix) if order == "F" else matrix
    if order and begins_aligned(flipped):
        return matrix
    shared = matrix.ndim == 3 and matrix.strides[0] == 0
    made = new_aligned_rows(flipped[0] if shared else flipped, stream, role=role)
    if shared:
        made = made.broadcast_to((matrix.shape[0], *made.shape))
    return swapped(made) if order == "F" else made


def new_aligned_rows(matrix: DeviceNDArray, stream: Stream, *, copied: bool = True, role: str = "") -> DeviceNDArray:
    """An array of a matrix's shape whose rows begin at multiples of the alignment; a copy, unless told not to.

    With a ``role`` it is the workspace of that name: memory that is new each time costs milliseconds on some drivers.
    """
    *outer, rows, columns = matrix.shape
    pad = max(1, ALIGNMENT // matrix.itemsize)
    pitch = -(-columns // pad) * pad
    shape = (*outer, rows, pitch)
    if role:
        made = workspaces.of(stream, f"aligned {role}", shape, matrix.dtype)
    else:
        made = device_array(shape, matrix.dtype, context=matrix.context)
    if pitch != columns:
        made = made[..., :columns]
    if copied:
        copy_strided(matrix, made, stream)
    return made


def swapped(matrix: DeviceNDArray) -> DeviceNDArray:
    """The transpose of a matrix, or of each matrix of a batch."""
    *outer, rows, columns = matrix.shape
    *steps, down, right = matrix.strides
    return with_strides(matrix, (*outer, columns, rows), (*steps, right, down))
