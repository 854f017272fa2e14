"""Memory of tensors on the CPU, which kernels use where it is."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from portagpu import dtypes
from portagpu.errors import DTypeError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.lending import lent
from portagpu.runtime.execution.context import Context

_PLAIN = (torch.Tensor, torch.nn.Parameter)  # subclasses may be more than memory


def lent_tensors(context: Context, values: Iterable[Any]) -> dict[int, DeviceNDArray]:
    """Device arrays of tensors, by ``id`` of these; what kernels take in other ways is not among them."""
    found: dict[int, DeviceNDArray] = {}
    for value in values:
        if isinstance(value, list):
            found.update(lent_tensors(context, value))
        elif type(value) in _PLAIN and _is_memory(value):
            dtype = _dtypes().get(value.dtype)
            if dtype is None:
                continue
            strides = tuple(n * dtype.itemsize for n in value.stride())
            made = lent(context, (value.data_ptr(), tuple(value.shape), strides, dtype))
            if made is not None:
                found[id(value)] = made
    return found


def _is_memory(tensor: torch.Tensor) -> bool:
    """Whether a tensor is nothing but elements in the host's memory, and has some."""
    if tensor.device.type != "cpu" or tensor.layout is not torch.strided or not tensor.ndim or not tensor.numel():
        return False
    return not (tensor.is_conj() or tensor.is_neg())


@functools.cache
def _dtypes() -> dict[torch.dtype, np.dtype[Any]]:
    """NumPy's dtypes of torch's, of all that kernels have."""
    found = {getattr(torch, row.name): row.numpy for row in dtypes.ALL}
    with contextlib.suppress(DTypeError):  # without ml_dtypes: what takes the tensor says what to install
        found[torch.bfloat16] = dtypes.BFLOAT16.numpy
    return found
