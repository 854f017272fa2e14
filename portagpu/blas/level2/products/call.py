"""`ProductCall`: a product with a vector, its arrays on the device; room for sums of parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from portagpu.blas.gemm.core.kernel_arguments import Complex
from portagpu.blas.gemm.core.operands import placed, real_dtype, real_flat
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.level1.vectors import Vector, vector_of
from portagpu.blas.level2.products.form import FULL, Extents, Form, Given, Sheet, Sums, Tiling
from portagpu.blas.level2.products.vector_kernels import finish, pack
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

_THREADS = 64  # of a block that packs
_WIDTH = 32  # outputs of a block, as `finish` has it in shared memory
_WAYS = 8  # threads that share an output's parts, where threads of a block run at the same time


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductCall:
    """``y = alpha * (what the form says) + beta * y``: lines of a sheet in memory, x as kernels read it, y a vector."""

    form: Form
    lines: int
    columns: int  # real numbers of a line
    memory: DeviceNDArray
    pitch: int
    growth: int  # see `Sheet`
    shape: int
    diagonal: int
    given: DeviceNDArray
    along: int  # where in ``given``
    across: int
    y: DeviceNDArray
    alpha: complex
    beta: complex
    conjugate: bool  # elements that are used across
    stream: Stream

    @property
    def kind(self) -> Any:
        """The unsigned type that holds every index."""
        large = self.memory.is_large or self.y.is_large or self.given.is_large
        return np.uint64 if large else np.uint32


def add_parts(
    call: ProductCall, tiling: tuple[int, int], launch: Callable[[Sheet, Given, Sums, Extents], None]
) -> None:
    """Enqueue ``launch``, which makes the sums of the parts of a tiling, and what makes y of them."""
    form, kind = call.form, call.kind
    strips, chunks = -(-call.lines // tiling[0]), -(-call.columns // tiling[1])
    along = chunks * call.lines * form.parts if form.along else 0
    across = strips * call.columns * form.parts if form.across else 0
    memory = workspaces.of(call.stream, "level2 sums", (along + across,), call.memory.dtype)
    kind = np.uint64 if memory.is_large else kind
    sums = Sums(placed(memory), kind(along), np.int32(call.shape))
    extents, given = Extents(kind(call.lines), kind(call.columns)), placed(call.given)
    sheet = sheet_of(call.memory, kind, (call.pitch, call.growth), call.shape, call.diagonal)
    launch(sheet, Given(given, kind(call.along), kind(call.across)), sums, extents)
    ways = _WAYS if call.y.context.capabilities.local_memory_dedicated else 1
    cut = Tiling(kind(tiling[0]), kind(tiling[1]))
    _finish(call.y, sums, extents, cut, (call.alpha, call.beta, call.stream), form, conjugate=call.conjugate, ways=ways)


def scale_vector(y: DeviceNDArray, beta: complex, stream: Stream) -> None:
    """Enqueue ``y = beta * y`` for a vector of any stride; with ``beta`` 0, y is not read."""
    if beta == 1 or y.size == 0:
        return
    parts = 2 if y.dtype.kind == "c" else 1
    nothing = workspaces.of(stream, "level2 sums", (1,), real_dtype(y.dtype) if parts == 2 else y.dtype)
    kind = np.uint64 if y.is_large else np.uint32
    sums, none = Sums(placed(nothing), kind(0), np.int32(FULL)), Extents(kind(0), kind(0))
    form, one = Form(parts, along=True, across=False), Tiling(kind(1), kind(1))
    _finish(y, sums, none, one, (0.0, beta, stream), form, conjugate=False, ways=1)


def sheet_of(memory: DeviceNDArray, kind: Any, steps: tuple[int, int], shape: int, diagonal: int) -> Sheet:
    """Lines in memory, as kernels take them; steps: pitch and growth in its elements, which may be negative."""
    mask = (1 << 8 * np.dtype(kind).itemsize) - 1
    pitch, growth = (kind(step & mask) for step in steps)
    return Sheet(memory, pitch, growth, np.int32(shape), np.int32(diagonal))


def given_vector(x: DeviceNDArray, stream: Stream, *, along: bool, conjugate: bool) -> tuple[DeviceNDArray, int, int]:
    """x as kernels read it: memory, and where it has what is used along lines, and across.

    ``along``: whether it is used along lines, whose elements are ``conjugate``d then. Enqueued.
    """
    n, item = x.size, x.itemsize
    is_complex = x.dtype.kind == "c"
    if not is_complex and (n == 1 or x.strides[0] == item):
        return placed(x), 0, 0
    first = 4 * n if is_complex and along else 0
    behind = 2 * n if is_complex else n
    packed = workspaces.of(stream, "level2 x", (first + behind,), real_dtype(x.dtype) if is_complex else x.dtype)
    kind = np.uint64 if packed.is_large or x.is_large else np.uint32
    threads = min(_THREADS, x.context.capabilities.max_work_group_size)
    parts = 2 if is_complex else 1
    sign = packed.dtype.type(1 if conjugate else -1)
    pack[-(-n // threads), threads, stream](
        real_vector(x), placed(packed), kind(n), kind(0), kind(first), kind(along), sign, parts
    )
    return packed, 0, first


def real_vector(x: DeviceNDArray) -> Vector:
    """A vector as kernels of real numbers take it: its memory's, two for each element of a complex one."""
    found = vector_of(x)
    return Vector(real_flat(found.memory), found.first, found.step) if x.dtype.kind == "c" else found


def _finish(
    y: DeviceNDArray,
    sums: Sums,
    extents: Extents,
    tiling: Tiling,
    how: tuple[complex, complex, Stream],
    form: Form,
    *,
    conjugate: bool,
    ways: int,
) -> None:
    alpha, beta, stream = how
    number = real_dtype(y.dtype).type if y.dtype.kind == "c" else y.dtype.type
    width = min(_WIDTH, y.context.capabilities.max_work_group_size // ways)
    finish[-(-y.size // width), (width, ways), stream](
        real_vector(y),
        sums,
        type(extents.lines)(y.size),
        extents,
        tiling,
        Complex(number(alpha.real), number(alpha.imag)),
        Complex(number(beta.real), number(beta.imag)),
        number(1 if conjugate else -1),
        form._replace(triangle=False),
        ways,
    )
