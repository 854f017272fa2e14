"""Copies between strided views on a device, by a kernel."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from portagpu.backends.driver import Driver
from portagpu.backends.handles import Strided
from portagpu.backends.launches import LaunchSizes
from portagpu.backends.opencl.codegen.rendering import render
from portagpu.device.capabilities import Capabilities

_GROUP = 256  # items of a work-group
_MOST_GROUPS = 2**15  # along the second dimension; CUDA's devices have 65535
_UNITS = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyView:
    """What the copy template needs: the unit's C type, how many units an element has, and the axes."""

    type: str
    units: int
    axes: tuple[int, ...]


def strided_copy(
    source: Strided, target: Strided, build: Callable[[str], Any], driver: Driver
) -> Callable[[Any, Any, Any], None]:
    """What copies elements as between two views of one shape and dtype, given a queue and both memories.

    ``driver``: one that takes OpenCL C.
    """
    caps, enqueue = driver.device.capabilities, driver.enqueue
    assert caps is not None
    unit = next(u for u in (8, 4, 2, 1) if all(_divides(u, view) for view in (source, target)))
    ndim = len(target.shape)
    view = CopyView(type=_UNITS[unit], units=target.dtype.itemsize // unit, axes=tuple(range(max(1, ndim))))
    program, free = _kept(driver, view, build)
    columns = target.shape[-1] if ndim else 1
    lines = math.prod(target.shape[:-1])
    numbers: list[Any] = [np.int64(lines), np.int64(source.offset // unit), np.int64(target.offset // unit)]
    for extent, step, to_step in zip(target.shape or (1,), source.strides or (0,), target.strides or (0,), strict=True):
        numbers += [np.int64(extent), np.int64(step // unit), np.int64(to_step // unit)]

    types = (None, None, *[np.dtype(np.int64)] * len(numbers))
    sizes = LaunchSizes(*_spread(columns, lines, caps))

    def copy(queue: Any, into: Any, from_: Any) -> None:
        try:
            kernel = free.pop()
        except IndexError:
            kernel = driver.kernel(program, "copy_strided", types)
        kernel.set_args(from_, into, *numbers)
        enqueue(queue, kernel, sizes)
        free.append(kernel)

    return copy


_programs: WeakKeyDictionary[Driver, dict[CopyView, tuple[Any, list[Any]]]] = WeakKeyDictionary()


def _kept(driver: Driver, view: CopyView, build: Callable[[str], Any]) -> tuple[Any, list[Any]]:
    """The program of a driver's copies, and kernels of it that nobody uses: one serves one caller at a time.

    Drivers take milliseconds to make a new one ready.
    """
    known = _programs.setdefault(driver, {})
    found = known.get(view)
    if found is None:
        found = known[view] = (build(render("runtime/copy.mako", view)), [])
    return found


def _spread(columns: int, lines: int, caps: Capabilities) -> tuple[tuple[int, int], tuple[int, int] | None]:
    """Items of a copy, and of a work-group: left to themselves, drivers make groups of one item of what is prime."""
    if caps.max_work_group_size < _GROUP:
        return (columns, lines), None
    across = min(64, 1 << max(0, columns - 1).bit_length())
    down = _GROUP // across
    return (-(-columns // across) * across, min(-(-lines // down), _MOST_GROUPS) * down), (across, down)


def _divides(unit: int, view: Strided) -> bool:
    return (
        view.dtype.itemsize % unit == 0 and view.offset % unit == 0 and all(step % unit == 0 for step in view.strides)
    )
