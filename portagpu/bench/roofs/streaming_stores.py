"""Streams that store past the caches, in OpenCL C: what the C library's memset and memcpy do on CPUs.

An ordinary store reads its line first, so that a write moves twice what it is counted as. Clang's built-in function
for such stores is no part of OpenCL C; compilers of CPUs that rest on clang have it, and the others refuse the text.
The memory is NumPy's, which asks for huge pages, as drivers do not for their buffers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.backends.opencl.plain import kernel_on_arrays
from portagpu.bench.roofs.probe import Candidate
from portagpu.bench.roofs.streams import FILL, SCALAR, Form
from portagpu.errors import DeviceError
from portagpu.runtime.execution.context import Context

Array = np.ndarray[Any, Any]

_TEXT = """
#if !__has_builtin(__builtin_nontemporal_store)
#error "no stores past the caches"
#endif
__kernel void stream(%(parameters)s__global float16 *c, const uint steps) {
    const size_t first = get_global_id(0) * steps;
    for (size_t i = first; i < first + steps; i++)
        __builtin_nontemporal_store(%(value)s, c + i);
}
"""
_PAGE = 4096
_SOURCE = "__global const float16 *restrict "
_STREAMS = {"copy": ("a",), "write": (), "triad": ("a", "b")}
_VALUES = {"copy": "a[i]", "write": f"(float16)({FILL}f)", "triad": f"a[i] + b[i] * (float16)({SCALAR}f)"}


def candidate(name: str, form: Form, a: Array, b: Array, context: Context) -> Candidate | None:
    """A stream in a CPU's form with such stores; None where it stores nothing, or the compiler has none."""
    if name not in _STREAMS or form.near or form.lanes != 16 or context.device.backend != "opencl":
        return None
    sources = [{"a": a, "b": b}[label] for label in _STREAMS[name]]
    parameters = "".join(f"{_SOURCE}{label}, " for label in _STREAMS[name])
    text = _TEXT % {"parameters": parameters, "value": _VALUES[name]}
    items = ((a.size // form.block * form.threads,), (form.threads,))
    arguments = (*map(_aligned, sources), _aligned(np.zeros_like(a)), np.uint32(form.steps))
    place = context.cl_context, context.device.cl_device
    try:
        enqueue, wait, fetch = kernel_on_arrays(*place, text, "stream", arguments, items, in_place=True)
    except DeviceError:
        return None
    return Candidate(text=f"{form.text}, stores past the caches", run=_both(enqueue, wait), fetch=lambda: fetch()[-1])


def _aligned(array: Array) -> Array:
    """A copy that begins with a page: such stores need addresses that are multiples of their vectors' size."""
    room = np.empty(array.nbytes + _PAGE, np.uint8)
    begin = -room.ctypes.data % _PAGE
    found = room[begin : begin + array.nbytes].view(array.dtype)
    found[:] = array
    return found


def _both(enqueue: Callable[[], Any], wait: Callable[[], None]) -> Callable[[], None]:
    """Its queue is its own, so that it is waited for at once."""

    def run() -> None:
        enqueue()
        wait()

    return run


__all__ = ["candidate"]
