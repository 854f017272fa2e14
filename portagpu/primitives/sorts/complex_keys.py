"""The order of complex numbers, as NumPy has it: by three keys, the least one first.

Numbers without NaN come first, in the order of real and then of imaginary parts; then those whose imaginary part is
NaN, those whose real part is, and those whose parts both are. Only what is a number goes down where the order descends.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.primitives.gathers.gather import gathered
from portagpu.primitives.sorts.ordering import order_of
from portagpu.primitives.sorts.radix_request import Request
from portagpu.primitives.sorts.radix_sort import sort_rows
from portagpu.primitives.sorts.rows import BITS
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.ufuncs.kernel_source import launch


@cuda.jit
def split_parts(source, real, imaginary, parts):
    """Real and imaginary parts, and which of them are NaN."""
    i = cuda.grid(1)
    if i < parts.size:
        x, y = source[2 * i], source[2 * i + 1]
        real[i] = x
        imaginary[i] = y
        parts[i] = np.uint8((2 if x != x else 0) + (1 if y != y else 0))


def complex_order(x: DeviceNDArray, length: int, descending: bool, stream: Any) -> DeviceNDArray:
    """The places, int64, of the elements of rows of ``length`` in their order; ``x`` is contiguous."""
    part = np.dtype(np.float32 if x.itemsize == 8 else np.float64)
    flat = x.reshape(-1).view(part)
    size, context = x.size, x.context
    real, imaginary = (device_array(size, part, context=context) for _ in range(2))
    parts = device_array(size, np.uint8, context=context)
    if size:
        launch(split_parts, size, None, stream, (flat, real, imaginary, parts), context)
    order = order_of(part, descending=bool(descending), nan_is_least=bool(descending))
    places = None
    for keys, own in (
        (imaginary.view(BITS[part.itemsize]), order),
        (real.view(BITS[part.itemsize]), order),
        (parts, order_of(parts.dtype)),
    ):
        if places is not None:
            keys = gathered(keys, places, length, length, stream)
        request = Request(
            keys=keys,
            length=length,
            order=own,
            values=None if places is None else places.view(np.uint64),
            indexed=places is None,
            keeps_keys=False,
            stream=stream,
        )
        moved = sort_rows(request).moved
        assert moved is not None
        places = moved.view(np.int64)
    assert places is not None
    return places
