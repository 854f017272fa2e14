"""Kernels whose text is made at run time: a thread for each element or loop position."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Sequence
from typing import Any

from portagpu.dialect.names import INTRINSICS, blockDim, blockIdx, gridDim, threadIdx
from portagpu.dispatch import ready
from portagpu.dispatch.decorators import jit
from portagpu.dispatch.dispatcher import Dispatcher

KEPT: dict[str, Any] = {"cache": True, "fma": False}
"""Options of kernels for arrays: their code is kept on disk, by their text; each step is rounded, as by NumPy."""
_THREADS = 256
_NAMES = {
    "grid": INTRINSICS["grid"],
    "blockDim": blockDim,
    "blockIdx": blockIdx,
    "gridDim": gridDim,
    "threadIdx": threadIdx,
}  # of every kernel
_numbers = itertools.count()


def kernel_from(lines: Sequence[str], namespace: dict[str, Any], options: dict[str, Any]) -> Dispatcher:
    """The kernel that ``lines``, a function called ``kernel``, define; errors show its lines."""
    filename = f"<portagpu {namespace['core'].__name__} {next(_numbers)}>"
    text = "\n".join(lines) + "\n"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    names = {**_NAMES, **namespace}
    exec(compile(text, filename, "exec"), names)
    kernel: Dispatcher = jit(names["kernel"], **options)
    return kernel


def position(ndim: int, extents: str) -> tuple[list[str], str]:
    """Lines that take the thread's number ``i`` apart, and the subscripts; ``extents`` is an expression of a shape."""
    if ndim == 1:
        return [], "i"
    lines = ["        rest = i"]
    for axis in range(ndim - 1, 0, -1):
        lines += [f"        i{axis} = rest % {extents}[{axis}]", f"        rest = rest // {extents}[{axis}]"]
    return [*lines, "        i0 = rest"], ", ".join(f"i{axis}" for axis in range(ndim))


def launch(kernel: Dispatcher, count: int, block: int | None, stream: Any, args: tuple[Any, ...], context: Any) -> None:
    """Run a kernel of the package with a thread for each of ``count`` positions, at most ``block`` in a block."""
    threads = _threads(block, context)
    ready.launch(kernel, -(-count // threads), threads, args, stream)


def launch_for_user(
    kernel: Dispatcher, count: int, block: int | None, stream: Any, args: tuple[Any, ...], context: Any
) -> None:
    """The same with a function of the user's, who is told what wastes time, and what arguments are wrong."""
    threads = _threads(block, context)
    kernel[-(-count // threads), threads, stream](*args)


def _threads(block: int | None, context: Any) -> int:
    caps = context.capabilities
    threads: int = min(block or _THREADS, caps.max_work_group_size, caps.max_work_item_sizes[0])
    return threads
