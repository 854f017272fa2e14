"""One matrix product with given parameters."""

from __future__ import annotations

from portagpu.blas.registry import variant_of
from portagpu.blas.variant import Config, Product
from portagpu.runtime.array import DeviceNDArray
from portagpu.runtime.stream import Stream


def rows_of_c(
    a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray
) -> tuple[DeviceNDArray, DeviceNDArray, DeviceNDArray]:
    """The same product such that c's rows are contiguous where its columns were: ``c.T = b.T @ a.T``."""
    if c.layout == "F" and c.shape[0] > 1 and c.shape[1] > 1:
        return b.T, a.T, c.T
    return a, b, c


def multiply(a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray, stream: Stream, config: Config) -> None:
    """``c = a @ b`` for two-dimensional device arrays of one dtype with at least one element each; enqueued.

    ``c`` must not overlap ``a`` or ``b``.
    """
    a, b, c = rows_of_c(a, b, c)
    variant_of(config).run(config, Product(a=a, b=b, c=c, stream=stream))
