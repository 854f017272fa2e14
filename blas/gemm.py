"""Runs one matrix product on device arrays: chooses variant and parameters, launches the dialect's kernels."""

from __future__ import annotations

from portagpu.blas.choice import choose
from portagpu.blas.direct_kernels import multiply_elements
from portagpu.blas.problem import Problem
from portagpu.blas.registry import variant_of
from portagpu.blas.variant import Config, Product
from portagpu.runtime.array import DeviceNDArray
from portagpu.runtime.stream import Stream

_DIRECT_LIMIT = 32 * 32 * 32  # multiply-adds; below, packing or tiles cost more than they gain


def gemm(a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray, stream: Stream, config: Config | None = None) -> None:
    """``c = a @ b`` for two-dimensional device arrays of one dtype with at least one element each; enqueued.

    ``c`` must not overlap ``a`` or ``b``. ``config`` overrides the tuned or default parameters.
    """
    if c.layout == "F" and c.shape[0] > 1 and c.shape[1] > 1:
        a, b, c = b.T, a.T, c.T
    (m, k), n = a.shape, b.shape[1]
    if config is None:
        if m * n * k <= _DIRECT_LIMIT:
            _direct(a, b, c, stream)
            return
        config = choose(Problem(m=m, n=n, k=k, dtype=c.dtype.name), c.context)
    variant_of(config).run(config, Product(a=a, b=b, c=c, stream=stream))


def _direct(a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray, stream: Stream) -> None:
    m, n = c.shape
    caps = c.context.capabilities
    block = (16, 4) if caps.max_work_group_size >= 64 else (1, 1)
    multiply_elements[(-(-n // block[0]), -(-m // block[1])), block, stream](a, b, c)
