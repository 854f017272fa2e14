"""Elements of rows taken at places."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.ufuncs.kernel_source import launch


@cuda.jit
def gather_kernel(source, places, target, length, taken):
    """``target[row, k] = source[row, places[row, k]]`` of rows of ``length`` elements, ``taken`` of each."""
    i = cuda.grid(1)
    if i < target.size:
        target[i] = source[i // taken * length + places[i]]


def gathered(source: DeviceNDArray, places: DeviceNDArray, length: int, taken: int, stream: Any) -> DeviceNDArray:
    """Flat rows of the elements at ``taken`` places in each row of ``length``; all arrays have one axis.

    float16 is moved as its bits: where kernels compute with float32, NaN would become another one.
    """
    if source.dtype == np.float16:
        return gathered(source.view(np.uint16), places, length, taken, stream).view(np.float16)
    target = device_array(places.size, source.dtype, context=source.context)
    if target.size:
        launch(gather_kernel, target.size, None, stream, (source, places, target, length, taken), source.context)
    return target
