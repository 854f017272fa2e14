"""axpy, scal, copy, swap and rot on device arrays: what the functions under BLAS's names, and other levels, call.

Vectors are arrays of one axis, of any strides, of one dtype; work is enqueued on a stream of theirs. What is written
shares no memory with anything else, but x and y may be the same elements in the same order.
"""

from __future__ import annotations

from portagpu.blas.level1 import map_variant
from portagpu.blas.level1.chunks import check_places, forwards
from portagpu.blas.level1.map_variant import MapCall, Operation
from portagpu.blas.level1.selection import MAP_CHOICE, MAP_REGISTRY
from portagpu.errors import MissingCapabilityError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream


def axpy(alpha: complex, x: DeviceNDArray, y: DeviceNDArray, stream: Stream) -> None:
    """``y += alpha * x``; with alpha 0, x is not read. Raises `MissingCapabilityError`."""
    if alpha == 0:
        return
    if x.dtype.kind == "c":
        _run("axpy", map_variant.AXPY_COMPLEX, x, y, stream, alpha.real, alpha.imag)
    else:
        _run("axpy", map_variant.AXPY, x, y, stream, alpha.real)


def scal(alpha: complex, x: DeviceNDArray, stream: Stream) -> None:
    """``x *= alpha``. Raises `MissingCapabilityError`."""
    if alpha.imag == 0:  # parts of complex numbers, too
        _run("scal", map_variant.SCALE, x, x, stream, alpha.real)
    else:
        _run("scal", map_variant.SCALE_COMPLEX, x, x, stream, alpha.real, alpha.imag)


def copy(x: DeviceNDArray, y: DeviceNDArray, stream: Stream) -> None:
    """``y = x``. Raises `MissingCapabilityError`."""
    _run("copy", map_variant.COPY, x, y, stream)


def swap(x: DeviceNDArray, y: DeviceNDArray, stream: Stream) -> None:
    """``x, y = y, x``. Raises `MissingCapabilityError`."""
    _run("swap", map_variant.SWAP, x, y, stream)


def rotate(x: DeviceNDArray, y: DeviceNDArray, h: tuple[float, float, float, float], stream: Stream) -> None:
    """``x, y = h[0] * x + h[1] * y, h[2] * x + h[3] * y``: rot and rotm. Raises `MissingCapabilityError`."""
    _run("rot", map_variant.ROTATE, x, y, stream, *h)


def _run(
    routine: str, operation: Operation, x: DeviceNDArray, y: DeviceNDArray, stream: Stream, *factors: float
) -> None:
    if y.size == 0:
        return
    check_places(x, y)
    x, y = forwards(x, y)
    call = MapCall(routine=routine, operation=operation, x=x, y=y, stream=stream, factors=factors)
    config = MAP_CHOICE.choose(call.problem, y.context)
    if config is None:
        raise MissingCapabilityError(f"{y.context.device.name} does not compute in {y.dtype}", hint="use float32")
    MAP_REGISTRY.variant_of(config).run(config, call)
