"""PyOpenCL as its own programs use it: what benchmarks compare launches and compilation with."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyopencl as cl

from portagpu.errors import DeviceError

VERSION: str = cl.VERSION_TEXT
"""PyOpenCL's."""


def launches(
    context: cl.Context, device: cl.Device, source: str, name: str, items: int
) -> tuple[Callable[..., Any], Callable[[], None]]:
    """What launches a kernel with arguments, on a queue of its own and in one work-group, and what waits for it."""
    queue = cl.CommandQueue(context, device)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cl.CompilerWarning)
        kernel: Any = cl.Kernel(cl.Program(context, source).build(), name)
    return partial(kernel, queue, (items,), (items,)), queue.finish


def compile_and_launch(
    queue: cl.CommandQueue, source: str, name: str, types: Sequence[Any], arguments: Sequence[Any], items: int
) -> None:
    """Compile a program without PyOpenCL's cache and run a kernel of it in one work-group."""
    no_cache: Any = False  # PyOpenCL's own annotation forgets this value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cl.CompilerWarning)
        built: Any = cl.Program(queue.context, source).build(cache_dir=no_cache)
    kernel = cl.Kernel(built, name)
    kernel.set_scalar_arg_dtypes(list(types))
    kernel(queue, (items,), (items,), *arguments)  # some drivers compile only now
    queue.finish()


def copies(context: cl.Context, device: cl.Device) -> tuple[Callable[[Any, Any], None], Callable[[], None]]:
    """What copies to a buffer or array from another, as ``copy(target, source)``, on a queue of its own; and the wait.

    PyOpenCL's own copies between host and device return when they are done.
    """
    queue = cl.CommandQueue(context, device)

    def copy(target: Any, source: Any) -> None:
        cl.enqueue_copy(queue, target, source)

    return copy, queue.finish


def kernel_on_arrays(
    context: cl.Context,
    device: cl.Device,
    source: str,
    name: str,
    arguments: Sequence[Any],
    items: Sequence[Sequence[int]],
    *,
    in_place: bool = False,
) -> tuple[Callable[[], Any], Callable[[], None], Callable[[], list[Any]]]:
    """A kernel on a queue of its own; arguments are NumPy's numbers, and arrays, of which buffers become copies.

    ``items``: all work-items, and those of a work-group. ``in_place``: buffers are the arrays' own memory, which the
    caller has aligned. Returns what launches it, what waits for it, and what fetches
    the arrays. Raises `DeviceError` for a program that does not compile.
    """
    queue = cl.CommandQueue(context, device)
    flags = cl.mem_flags.READ_WRITE | (cl.mem_flags.USE_HOST_PTR if in_place else cl.mem_flags.COPY_HOST_PTR)
    arrays = [(x, cl.Buffer(context, flags, hostbuf=x)) for x in arguments if isinstance(x, np.ndarray)]
    buffers = iter(buffer for _, buffer in arrays)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cl.CompilerWarning)
            kernel: Any = cl.Kernel(cl.Program(context, source).build(), name)
    except cl.Error as error:
        raise DeviceError(f"the driver does not compile {name}: {str(error).splitlines()[0]}") from error
    kernel.set_args(*(next(buffers) if isinstance(x, np.ndarray) else x for x in arguments))

    def fetch() -> list[Any]:
        found = [np.empty_like(x) for x, _ in arrays]
        for (_, buffer), array in zip(arrays, found, strict=True):
            cl.enqueue_copy(queue, array, buffer)
        return found

    everything, group = map(tuple, items)
    return partial(cl.enqueue_nd_range_kernel, queue, kernel, everything, group), queue.finish, fetch
