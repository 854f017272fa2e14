"""Arrays of zeros on the device, enqueued on a stream; in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from portagpu import cuda
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

_THREADS = 256


@cuda.jit
def fill_zeros(bits):
    """Set all to zero."""
    i = cuda.grid(1)
    if i < bits.size:
        bits[i] = 0


def clear(bits: DeviceNDArray, stream: Stream) -> None:
    """Enqueue `fill_zeros` for an array of one axis."""
    fill_zeros[-(-bits.size // _THREADS), _THREADS, stream](bits)
