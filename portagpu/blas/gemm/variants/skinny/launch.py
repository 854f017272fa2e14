"""Launches of the skinny variants: strips of sums, and the parts of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.blas.gemm.core.accumulation import Conversion, number_type
from portagpu.blas.gemm.core.few_rows import FewRows, Operands
from portagpu.blas.gemm.core.interface import Product
from portagpu.blas.gemm.core.kernel_arguments import Extents, Matrix, Parts, Split, StridedMatrix
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.gemm.kernels.skinny_split_k import StripPlan, add_strips
from portagpu.device.capabilities import Capabilities
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.runtime.arrays.array import DeviceNDArray

MOST_PARTS = 2**24
"""Sums of all parts of a product, at most."""
MOST_REGISTERS = 128
"""Registers of a thread, at most, where what is under way is in shared memory: 16 warps then fit into a unit."""
_NOTHING = np.int32(0)


def arrives(caps: Capabilities) -> bool:
    """Whether blocks can see what others wrote before: the last one then adds up the parts of sums."""
    return caps.device_fences


def launch_strips(
    kernel: Dispatcher,
    product: Product,
    view: FewRows,
    found: Operands,
    x: tuple[DeviceNDArray, ...],
    b: tuple[DeviceNDArray, ...],
    types: Conversion,
    *,
    strip: StripPlan,
    splits: int,
    chunk: int,
    constants: tuple[Any, ...],
) -> None:
    """Enqueue a block for each strip of sums and each of their ``splits`` parts of ``chunk`` terms.

    Unless the last block adds up the parts, a second launch does. x, b: the arrays that the kernel takes of the few
    rows and of the large matrix.
    """
    stream, batch = product.stream, product.batch
    accumulator = number_type(types.vector)
    places = -(-view.rows // strip.rows) * -(-view.n // strip.width) * batch
    parts: Any = _NOTHING
    arrived: Any = _NOTHING
    if strip.split:
        size = places * splits * strip.rows * strip.width
        parts = workspaces.of(stream, "parts", (size,), np.dtype(accumulator))
        arrived = workspaces.zeros(stream, "arrived", places) if strip.arrive else _NOTHING
    kind = np.uint64 if found.is_large else np.uint32
    few, large, result = found.few, found.large, found.result
    extents = Extents(kind(view.rows), kind(view.n), kind(view.k))
    split = Split(kind(splits), kind(chunk))
    steps = (kind(step) for step in (*found.few_steps, few.batch))
    target = StridedMatrix(result.memory, *(kind(step) for step in (*found.result_steps, result.batch)))
    factors = product.factors(number_type(types.scaled), turned=view.swapped)
    kernel[places * splits, strip.threads, stream](
        StridedMatrix(x[0], *steps),
        *x[1:],
        Matrix(b[0], kind(large.pitch), kind(large.batch)),
        *b[1:],
        target,
        Parts(parts, arrived),
        extents,
        split,
        factors,
        *constants,
    )
    if strip.split and not strip.arrive:
        add_strips[places, strip.threads, stream](
            target, Parts(parts, _NOTHING), extents, split, factors, strip, accumulator
        )
