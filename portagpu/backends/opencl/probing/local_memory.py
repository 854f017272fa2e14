"""How much local memory kernels can really use, as a static array and as an argument: drivers report neither."""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np
import pyopencl as cl

from portagpu.backends.journal import Journal
from portagpu.backends.opencl.probing.workbench import DRIVER_ERRORS, Workbench, first_telling_line

_GROUP = 64
_GROUPS = 2
_STATIC_STEP = 1024
_ARGUMENT_STEP = 256
_LEAST = 1024
_MODEST = 32 * 1024  # OpenCL's guaranteed minimum: what an unisolated process dares to try
_logger = logging.getLogger(__name__)


def usable(bench: Workbench, journal: Journal, *, isolated: bool) -> tuple[int, int]:
    """Bytes of local memory that work as a static array and as an argument."""
    reported = int(bench.device.local_mem_size)
    if not isolated:
        reported = min(reported, _MODEST)
    argument_kernel = _build_argument(bench)

    def static(size: int) -> bool:
        return journal.trial(f"static_{size}", lambda: _guarded(bench, lambda: _static_works(bench, size)), False)

    def argument(size: int) -> bool:
        if argument_kernel is None:
            return False
        return journal.trial(
            f"argument_{size}", lambda: _guarded(bench, lambda: _argument_works(bench, argument_kernel, size)), False
        )

    hidden = bench.hints.hidden_local_memory if isolated else None
    largest_static = largest(static, reported, _STATIC_STEP)
    if hidden is not None and largest_static == reported < hidden:
        largest_static = largest(static, hidden, _STATIC_STEP, known=reported)
    return largest_static, largest(argument, reported, _ARGUMENT_STEP)


def largest(works: Callable[[int], bool], limit: int, step: int, *, known: int = 0) -> int:
    """The largest multiple of ``step`` (or ``limit`` itself) that works, by bisection; ``known`` works already."""
    if limit < _LEAST:
        return 0
    if works(limit):
        return limit
    low, high = known // step, -(-limit // step)  # low works (or is nothing), high does not
    while high - low > 1:
        middle = (low + high) // 2
        if works(middle * step):
            low = middle
        else:
            high = middle
    return max(low * step, known)


def _guarded(bench: Workbench, attempt: Callable[[], bool]) -> bool:
    try:
        return attempt()
    except DRIVER_ERRORS as error:
        _logger.debug("local memory: %s", first_telling_line(error))
        bench.check_alive()
        return False


def _build_argument(bench: Workbench) -> cl.Kernel | None:
    try:
        return bench.build("local_argument")
    except DRIVER_ERRORS as error:
        _logger.debug("local memory argument: %s", first_telling_line(error))
        return None


def _shape(bench: Workbench) -> tuple[int, int]:
    group = min(_GROUP, int(bench.device.max_work_group_size))
    return group * _GROUPS, group


def _expected(items: int, group: int) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    lane = np.arange(items, dtype=np.uint64) % group
    value = (group - 1 - lane) * 2654435761 + np.arange(items, dtype=np.uint64) // group
    return (value & 0xFFFFFFFF).astype(np.uint32)


def _static_works(bench: Workbench, size: int) -> bool:
    items, group = _shape(bench)
    target = np.zeros(items, np.uint32)
    bench.run(bench.build("local_static", f"-DWORDS={size // 4}"), items, group, target)
    return np.array_equal(target, _expected(items, group))


def _argument_works(bench: Workbench, kernel: cl.Kernel, size: int) -> bool:
    items, group = _shape(bench)
    target = np.zeros(items, np.uint32)
    bench.run(kernel, items, group, target, cl.LocalMemory(size), np.uint32(size // 4))
    return np.array_equal(target, _expected(items, group))
