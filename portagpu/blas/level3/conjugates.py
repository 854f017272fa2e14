"""Conjugates of matrices and batches of any strides, in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from portagpu import cuda
from portagpu.blas.gemm.core.alignment import swapped
from portagpu.blas.gemm.core.interface import order_of
from portagpu.blas.level3.strided_memory import batch_of, index_kind, strided
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.stream import Stream

_THREADS = 64


@cuda.jit
def conjugate_strided(source, target, n, m, count):
    """``target = conj(source)``, which may be the same matrices; a thread for each element, a row's side by side."""
    kind = type(n)
    i = kind(cuda.blockIdx.x) * kind(cuda.blockDim.x) + kind(cuda.threadIdx.x)
    row, column = i // m, i % m
    matrix, row = row // n, row % n
    if matrix < count:
        value = source.memory[source.first + matrix * source.batch + row * source.down + column * source.right]
        target.memory[target.first + matrix * target.batch + row * target.down + column * target.right] = (
            value.conjugate()
        )


def conjugate_into(source: DeviceNDArray, target: DeviceNDArray, stream: Stream) -> None:
    """Enqueue ``target = conj(source)`` for matrices, or batches, of one shape, which may be the same array."""
    if source.size == 0:
        return
    if source.ndim > 3:
        for i in range(source.shape[0]):
            conjugate_into(source[i], target[i], stream)
        return
    if order_of(source) == "F":
        source, target = swapped(source), swapped(target)
    n, m = source.shape[-2:]
    kind = index_kind(source, target)
    threads = min(_THREADS, source.context.capabilities.max_work_group_size)
    conjugate_strided[-(-source.size // threads), threads, stream](
        strided(source, kind), strided(target, kind), kind(n), kind(m), kind(batch_of(source))
    )


def conjugate_transpose(x: DeviceNDArray, stream: Stream) -> DeviceNDArray:
    """The conjugate transpose of a matrix, or of each of a batch: a view of real ones, a new array of complex ones."""
    if x.dtype.kind != "c" or x.size == 0:
        return swapped(x)
    turned = order_of(x[(0,) * (x.ndim - 2)]) == "F"
    shape = (*x.shape[:-2], *x.shape[-2:][::-1]) if turned else x.shape
    made = device_array(shape, x.dtype, context=x.context)
    conjugate_into(x, swapped(made) if turned else made, stream)
    return made if turned else swapped(made)
