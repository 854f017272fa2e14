"""`add_products`: outer products added to a matrix or a triangle, on device arrays; what ger, syr and syr2 do."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu.blas.gemm.core.alignment import new_aligned_rows
from portagpu.blas.gemm.core.interface import order_of
from portagpu.blas.gemm.core.kernel_arguments import Complex
from portagpu.blas.gemm.core.operands import placed, real_flat
from portagpu.blas.gemm.core.vector_registers import native_lanes
from portagpu.blas.gemm.core.vector_types import vector_type
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.level2.products.call import real_vector, sheet_of
from portagpu.blas.level2.products.form import FULL, LOWER, READ, REAL, UPPER, Extents, Tiling
from portagpu.blas.level2.products.product import Lines, packed_lines
from portagpu.blas.level2.updates.kernels import Terms, Update, add_outer, pack_factors, pack_vector
from portagpu.device.capabilities import Capabilities
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.copies import copy_strided
from portagpu.runtime.execution.stream import Stream

_THREADS = 64
_VECTOR_BYTES = 16  # the widest load of today's GPUs
_VECTORS = 4  # of a line that a CPU's thread has on their way
_STRIPS = 8  # for each compute unit of a CPU
_GPU_THREADS = (64, 4)  # of a block, along lines and across
_GPU_LINES = 4  # of a thread
_TURNED = {FULL: FULL, LOWER: UPPER, UPPER: LOWER}


class Outer(NamedTuple):
    """``factor * x * y^T``, of the conjugates of x and y where they are told to be."""

    factor: complex
    x: DeviceNDArray
    y: DeviceNDArray
    conjugate_x: bool = False
    conjugate_y: bool = False

    @property
    def turned(self) -> Outer:
        """The same for the matrix's transpose."""
        return Outer(self.factor, self.y, self.x, self.conjugate_y, self.conjugate_x)


def add_products(
    a: DeviceNDArray, products: tuple[Outer, ...], stream: Stream, *, shape: int = FULL, real_diagonal: bool = False
) -> None:
    """``a += products``, in all of a or in a triangle; enqueued.

    a: a matrix of any strides; vectors of any strides, of its dtype: float32, float64, complex64 or complex128.
    ``shape``: `FULL`, `LOWER` or `UPPER`, of which nothing else is read or written; ``real_diagonal``: imaginary parts
    of the diagonal become zero.
    """
    order = order_of(a)
    if not order:
        held = new_aligned_rows(a, stream)
        add_products(held, products, stream, shape=shape, real_diagonal=real_diagonal)
        copy_strided(held, a, stream)
        return
    if order == "F":
        a, products, shape = a.T, tuple(product.turned for product in products), _TURNED[shape]
    lines, columns = a.shape
    pitch = a.strides[0] // a.itemsize if lines > 1 else columns
    _add(Lines(placed(a), lines, columns, pitch), products, stream, shape, real_diagonal)


def add_to_packed(
    ap: DeviceNDArray, n: int, products: tuple[Outer, ...], stream: Stream, *, shape: int, real_diagonal: bool = False
) -> None:
    """As `add_products`, for a packed triangle of n columns, `LOWER` or `UPPER`: ap (n * (n + 1) / 2), any stride."""
    found = packed_lines(ap, shape, n, stream)
    turned = tuple(product.turned for product in products)
    _add(found, turned, stream, _TURNED[shape], real_diagonal)
    if found.memory.buffer is not ap.buffer:  # it has gaps
        copy_strided(found.memory, ap, stream)


def _add(found: Lines, products: tuple[Outer, ...], stream: Stream, shape: int, real_diagonal: bool) -> None:
    whole, context = found.memory, found.memory.context
    parts = 2 if whole.dtype.kind == "c" else 1
    lines, columns = found.lines, found.columns
    memory = real_flat(whole) if parts == 2 else whole
    pitch, growth = found.pitch * parts, found.growth * parts
    kind = np.uint64 if memory.is_large or any(p.x.is_large or p.y.is_large for p in products) else np.uint32
    terms = _terms(products, (lines, columns), parts, memory.dtype, kind, stream)
    update, tiling = _shape_of_blocks(memory, (lines, columns * parts), pitch, context.capabilities)
    blocks = -(-lines // tiling[0]) * -(-columns * parts // tiling[1])
    add_outer[blocks, update.threads_x * update.threads_y, stream](
        sheet_of(memory, kind, (pitch, growth), shape, REAL if real_diagonal else READ),
        terms,
        Extents(kind(lines), kind(columns * parts)),
        Tiling(kind(tiling[0]), kind(tiling[1])),
        update._replace(parts=parts, terms=len(products) * parts, aligned=update.aligned and growth == 0),
    )


def _shape_of_blocks(
    memory: DeviceNDArray, extents: tuple[int, int], pitch: int, caps: Capabilities
) -> tuple[Update, tuple[int, int]]:
    """Threads and vectors of a block, and its lines and numbers of these: a thread that walks, or many side by side."""
    lines, columns = extents
    item, name = memory.itemsize, memory.dtype.name
    if not caps.local_memory_dedicated:
        vector = vector_type(name, native_lanes(caps, item))
        strip = max(1, -(-lines // (max(1, caps.compute_units) * _STRIPS)))
        return Update(1, 1, 1, 1, _VECTORS, vector, False), (strip, max(1, columns))
    vector = vector_type(name, _VECTOR_BYTES // item)
    aligned = memory.offset % _VECTOR_BYTES == 0 and pitch * item % _VECTOR_BYTES == 0
    threads_x, threads_y = _GPU_THREADS
    while threads_x * threads_y > caps.max_work_group_size:
        threads_x //= 2
    update = Update(1, 1, threads_x, threads_y, 1, vector, aligned)
    return update, (threads_y * _GPU_LINES, threads_x * vector.lanes)


def _terms(
    products: tuple[Outer, ...],
    shape: tuple[int, int],
    parts: int,
    dtype: np.dtype[Any],
    kind: Any,
    stream: Stream,
) -> Terms:
    """The factors of lines, and the vectors that are added to them, in real numbers."""
    lines, columns = shape
    number = dtype.type
    first = len(products) * parts * lines
    size = first + len(products) * parts * columns * parts
    packed = placed(workspaces.of(stream, "level2 terms", (size,), dtype))
    threads = min(_THREADS, packed.context.capabilities.max_work_group_size)
    for i, product in enumerate(products):
        factor = complex(product.factor)
        pack_factors[-(-lines // threads), threads, stream](
            real_vector(product.x),
            packed,
            kind(lines),
            kind(i * parts * lines),
            Complex(number(factor.real), number(factor.imag)),
            number(-1 if product.conjugate_x else 1),
            parts,
        )
        pack_vector[-(-columns // threads), threads, stream](
            real_vector(product.y),
            packed,
            kind(columns),
            kind(first + i * parts * columns * parts),
            number(-1 if product.conjugate_y else 1),
            parts,
        )
    return Terms(packed, kind(first))
