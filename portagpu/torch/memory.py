"""Memory of tensors on the CPU, which kernels use where it is."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch

from portagpu import dtypes
from portagpu.errors import DTypeError
from portagpu.runtime.arrays.lending import Lending, can_lend, lent
from portagpu.runtime.execution.context import current_context

_PLAIN = (torch.Tensor, torch.nn.Parameter)  # subclasses may be more than memory


def lending_of(values: Iterable[Any]) -> Lending | None:
    """What lends the tensors among an operator's values to launches on the current device; None if it takes none.

    Nothing is asked about the device where no tensor is on the CPU. Other values kernels take as they are.
    """
    tensors = [(value, dtype) for value, dtype in _tensors(values) if dtype is not None]
    if not tensors:
        return None
    context = current_context()
    if not can_lend(context.capabilities):
        return None
    found = {}
    for tensor, dtype in tensors:
        strides = tuple(n * dtype.itemsize for n in tensor.stride())
        made = lent(context, (tensor.data_ptr(), tuple(tensor.shape), strides, dtype))
        if made is not None:
            found[id(tensor)] = made
    return Lending(context, found)


def _tensors(values: Iterable[Any]) -> Iterator[tuple[torch.Tensor, np.dtype[Any] | None]]:
    """Tensors that are nothing but memory of the host, with NumPy's dtype for theirs."""
    for value in values:
        if isinstance(value, list):
            yield from _tensors(value)
        elif type(value) in _PLAIN and _is_memory(value):
            yield value, _dtypes().get(value.dtype)


def _is_memory(tensor: torch.Tensor) -> bool:
    """Whether a tensor is nothing but elements in the host's memory, and has some."""
    if not tensor.is_cpu or tensor.layout is not torch.strided or not tensor.ndim or not tensor.numel():
        return False
    return not (tensor.is_conj() or tensor.is_neg())


@functools.cache
def _dtypes() -> dict[torch.dtype, np.dtype[Any]]:
    """NumPy's dtypes of torch's, of all that kernels have."""
    found = {getattr(torch, row.name): row.numpy for row in dtypes.ALL}
    with contextlib.suppress(DTypeError):  # without ml_dtypes: what takes the tensor says what to install
        found[torch.bfloat16] = dtypes.BFLOAT16.numpy
    return found
