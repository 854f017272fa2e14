"""dot, nrm2, asum and amax on device arrays: what the functions under BLAS's names, and other levels, call.

Vectors are arrays of one axis, or batches (batch, n), of any strides; ``result`` has an element for each vector. Work
is enqueued; sums are formed in the same order each time.
"""

from __future__ import annotations

import numpy as np

from portagpu.blas.gemm.core.fill import clear
from portagpu.blas.level1.chunks import check_places, forwards
from portagpu.blas.level1.selection import SUM_CHOICE, SUM_REGISTRY
from portagpu.blas.level1.sum_variant import SumCall
from portagpu.errors import MissingCapabilityError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream


def dot(x: DeviceNDArray, y: DeviceNDArray, result: DeviceNDArray, stream: Stream, *, conjugate: bool = False) -> None:
    """The sum of ``x * y``, or with ``conjugate`` of ``conj(x) * y``: ``result`` (1,) or (batch,), of their dtype."""
    is_complex = x.dtype.kind == "c"
    x, y = forwards(x, y)
    _run("dotc" if conjugate and is_complex else "dot", x, y, result, stream)


def nrm2(x: DeviceNDArray, result: DeviceNDArray, stream: Stream) -> None:
    """The Euclidean norm, without spurious overflow or underflow; ``result`` (1,) or (batch,), of x's real dtype."""
    (x,) = forwards(x)
    _run("nrm2", x, x, result, stream)


def asum(x: DeviceNDArray, result: DeviceNDArray, stream: Stream) -> None:
    """The sum of ``|re| + |im|``; ``result`` (1,) or (batch,), of x's real dtype."""
    (x,) = forwards(x)
    _run("asum", x, x, result, stream)


def amax(x: DeviceNDArray, result: DeviceNDArray, stream: Stream) -> None:
    """The index of the first largest ``|re| + |im|``, of the first nan if there is one; ``result``: int64.

    x has at least one element.
    """
    _run("amax", x, x, result, stream)


def _run(routine: str, x: DeviceNDArray, y: DeviceNDArray, result: DeviceNDArray, stream: Stream) -> None:
    if result.size == 0:
        return
    if x.size == 0:
        clear(result, stream)
        return
    check_places(x, y)
    call = SumCall(routine=routine, x=x, y=y, result=result, stream=stream)
    config = SUM_CHOICE.choose(call.problem, x.context)
    if config is None:
        raise MissingCapabilityError(f"{x.context.device.name} does not compute in {x.dtype}", hint="use float32")
    SUM_REGISTRY.variant_of(config).run(config, call)


def result_dtype(routine: str, dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """The dtype of ``result``, for vectors of a dtype."""
    if routine == "amax":
        return np.dtype(np.int64)
    return dtype if routine == "dot" or dtype.kind != "c" else np.dtype(f"f{dtype.itemsize // 2}")
