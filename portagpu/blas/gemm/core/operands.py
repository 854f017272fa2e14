"""Operands: a matrix's flat memory, its pitch, and the step between matrices of a batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from portagpu.blas.gemm.core.interface import order_of
from portagpu.blas.gemm.core.kernel_arguments import Matrix, StridedMatrix
from portagpu.runtime.arrays.array import DeviceNDArray


@dataclass(frozen=True, slots=True)
class Operand:
    """A matrix (rows, columns), or a batch of them, whose rows (columns, if ``transposed``) have unit steps.

    Kernels address element [i, row, column] of ``array.ravel()`` as ``i * batch + row * pitch + column``, or
    ``column * pitch + row`` if transposed. (They call ``ravel()`` on its transpose, if it has two axes and is
    transposed; `placed_operand` and `portagpu.blas.gemm.core.flat_operands` make operands that are flat already.)
    ``wide``: elements that can be copied at once, 16 bytes at most, so that copies are aligned and never cross the end
    of a row; 1 if not asked for.
    """

    array: DeviceNDArray
    pitch: int
    batch: int
    transposed: bool
    wide: int = 1

    @property
    def order(self) -> str:
        """ "C" if rows have unit steps, "F" if columns have."""
        return "F" if self.transposed else "C"

    @property
    def memory(self) -> DeviceNDArray:
        """One-dimensional memory from the first element to the last, of an operand that was made flat."""
        assert self.array.ndim == 1
        return self.array

    @property
    def distances(self) -> tuple[np.integer, np.integer]:
        """``pitch`` and ``batch`` in the narrowest unsigned type that holds every index of the memory."""
        kind = np.uint64 if self.array.is_large else np.uint32
        return kind(self.pitch), kind(self.batch)

    def viewed(self, dtype: np.dtype[Any]) -> Operand:
        """The same memory as elements of another type of the same size."""
        return replace(self, array=flat(self.memory, self.array.size, dtype))

    def is_aligned(self, lanes: int) -> bool:
        """Whether vectors of so many elements may be read at multiples of their length in each row."""
        shape, x = self.array.shape, self.array
        lines = 2 if self.array.ndim == 1 else shape[-1 if self.transposed else -2]
        return (
            x.offset % (lanes * x.itemsize) == 0 and (lines == 1 or self.pitch % lanes == 0) and self.batch % lanes == 0
        )


def operand(matrix: DeviceNDArray) -> Operand:
    """A matrix, or a batch, of order "C" or "F"."""
    transposed, pitch, batch = steps_of(matrix)
    as_it_is = matrix.layout == ("F" if transposed and matrix.ndim == 2 else "C")
    return Operand(matrix if as_it_is else flat(matrix, span_of(matrix)), pitch, batch, transposed)


def placed_operand(matrix: DeviceNDArray) -> Operand:
    """An operand of flat memory with an offset: kernels are the same for all shapes, and wherever a matrix begins."""
    transposed, pitch, batch = steps_of(matrix)
    return Operand(placed(matrix), pitch, batch, transposed)


def matrix_of(x: Operand, number: Any) -> Matrix:
    """An operand as kernels take it; ``number``: the type of its steps."""
    return Matrix(x.array, number(x.pitch), number(x.batch))


def strided_matrix_of(x: Operand, number: Any) -> StridedMatrix:
    """As `matrix_of`, with a step each way: kernels need not know which one is the unit."""
    down, right = (1, x.pitch) if x.transposed else (x.pitch, 1)
    return StridedMatrix(x.array, number(down), number(right), number(x.batch))


def steps_of(matrix: DeviceNDArray) -> tuple[bool, int, int]:
    """Of a matrix, or a batch: whether it is transposed, and the elements from row to row and matrix to matrix."""
    order, item = order_of(matrix), matrix.itemsize
    assert order, "gemm copies other operands"
    transposed = order == "F"
    rows, columns = matrix.shape[-2:]
    dense, lines = (rows, columns) if transposed else (columns, rows)
    pitch = matrix.strides[-1 if transposed else -2] // item if lines > 1 else dense  # of one line, it may be anything
    batch = matrix.strides[0] // item if matrix.ndim == 3 and matrix.shape[0] > 1 else 0
    return transposed, pitch, batch


def index_type(*arrays: DeviceNDArray) -> Any:
    """The type of sizes and steps: wide enough for subscripts of all arrays."""
    return np.int64 if any(a.is_large for a in arrays) else np.int32


def with_strides(
    matrix: DeviceNDArray,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: np.dtype[Any] | None = None,
    first: int = 0,
    *,
    readonly: bool = False,
    shifted: bool = False,
) -> DeviceNDArray:
    """A view of an array's memory, ``first`` bytes after its first element; the caller sees to it that it is inside.

    ``shifted``: kernels are those of arrays with an offset, whether there is one or not.
    """
    return DeviceNDArray(
        shape,
        dtype or matrix.dtype,
        strides,
        matrix.buffer,
        matrix.context,
        offset=matrix.offset + first,
        base=matrix if matrix.base is None else matrix.base,
        stream=matrix.stream,
        readonly=matrix.readonly or readonly,
        allocation_key=matrix.allocation_key,
        shifted=shifted,
    )


def flat(array: DeviceNDArray, extent: int, dtype: np.dtype[Any] | None = None) -> DeviceNDArray:
    """The ``extent`` elements of memory from an array's first one on, whatever lies between its rows.

    dtype: read the memory as elements of this type, as `DeviceNDArray.view` does for a fraction of its time.
    """
    kind = dtype or array.dtype
    return with_strides(array, (extent,), (kind.itemsize,), kind)


def placed(
    array: DeviceNDArray, extent: int | None = None, first: int = 0, dtype: np.dtype[Any] | None = None
) -> DeviceNDArray:
    """As `flat`, for kernels that are the same ones wherever an array begins, and whether others may write to it.

    ``extent``: by default up to the last element of an array that ascends; ``first``: bytes from the array's first
    element to that of the memory.
    """
    kind = dtype or array.dtype
    return DeviceNDArray(
        (span_of(array) if extent is None else extent,),
        kind,
        (kind.itemsize,),
        array.buffer,
        array.context,
        offset=array.offset + first,
        base=array if array.base is None else array.base,
        stream=array.stream,
        allocation_key=array.allocation_key,
        shifted=True,
    )


def real_rows(matrix: DeviceNDArray) -> DeviceNDArray:
    """Complex rows with unit steps as rows of real and imaginary parts, twice as long."""
    real = real_dtype(matrix.dtype)
    shape = (*matrix.shape[:-1], 2 * matrix.shape[-1])
    return with_strides(matrix, shape, (*matrix.strides[:-1], real.itemsize), real)


def real_flat(matrix: DeviceNDArray) -> DeviceNDArray:
    """The memory of complex matrices, which ascend, as real and imaginary parts side by side."""
    real = real_dtype(matrix.dtype)
    return placed(matrix, 2 * span_of(matrix), dtype=real)


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the parts of a complex number."""
    return np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)


def span_of(matrix: DeviceNDArray) -> int:
    """Elements from the first to the last."""
    return sum((n - 1) * s for n, s in zip(matrix.shape, matrix.strides, strict=True) if n > 1) // matrix.itemsize + 1
