"""Copies between strided views on a device, by a kernel."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from portagpu.backends.driver import Driver
from portagpu.backends.handles import Strided
from portagpu.backends.launches import LaunchSizes
from portagpu.backends.opencl.codegen.rendering import render
from portagpu.device.capabilities import Capabilities, DeviceType

_GROUP = 256  # items of a work-group
_TILE = 4096  # elements that an item of a CPU copies
_SIDE = 32  # of a tile that is read across lines: its lines stay in the nearest cache
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
    units = target.dtype.itemsize // unit
    axes = _joined(zip(target.shape, source.strides, target.strides, strict=True))
    view = CopyView(type=_UNITS[unit], units=units, axes=tuple(range(len(axes))))
    columns, lines = axes[-1].extent, math.prod(axis.extent for axis in axes[:-1])
    numbers = [lines, source.offset // unit, target.offset // unit]
    for axis in axes:
        numbers += [axis.extent, axis.step // unit, axis.to_step // unit]
    if _is_by_tiles(caps):
        height, width = tile = _tile(axes, lines)
        program, free = _kept(driver, "runtime/copy_tiles.mako", view, build)
        numbers += tile
        sizes = LaunchSizes((-(-columns // width), -(-lines // height)), (1, 1))
    else:
        program, free = _kept(driver, "runtime/copy.mako", view, build)
        sizes = LaunchSizes(*_spread(columns, lines, caps))
    types = (None, None, *[np.dtype(np.int64)] * len(numbers))
    given = tuple(map(np.int64, numbers))

    def copy(queue: Any, into: Any, from_: Any) -> None:
        try:
            kernel = free.pop()
        except IndexError:
            kernel = driver.kernel(program, "copy_strided", types)
        kernel.set_args(from_, into, *given)
        enqueue(queue, kernel, sizes)
        free.append(kernel)

    return copy


_programs: WeakKeyDictionary[Driver, dict[tuple[str, CopyView], tuple[Any, list[Any]]]] = WeakKeyDictionary()


def _kept(driver: Driver, template: str, view: CopyView, build: Callable[[str], Any]) -> tuple[Any, list[Any]]:
    """The program of a driver's copies, and kernels of it that nobody uses: one serves one caller at a time.

    Drivers take milliseconds to make a new one ready.
    """
    known = _programs.setdefault(driver, {})
    found = known.get((template, view))
    if found is None:
        found = known[template, view] = (build(render(template, view)), [])
    return found


def _is_by_tiles(caps: Capabilities) -> bool:
    return caps.device_type is DeviceType.CPU


class _Axis(NamedTuple):
    """Elements along an axis, and bytes from one to the next in both views."""

    extent: int
    step: int
    to_step: int


def _joined(axes: Iterable[tuple[int, int, int]]) -> list[_Axis]:
    """The axes, the target's neighbours in the last one, with those as one that lie behind each other in both views."""
    found: list[_Axis] = []
    for axis in sorted((_Axis(*one) for one in axes if one[0] != 1), key=lambda axis: -abs(axis.to_step)):
        before = found[-1] if found else None
        if before and before.step == axis.extent * axis.step and before.to_step == axis.extent * axis.to_step:
            found[-1] = _Axis(before.extent * axis.extent, axis.step, axis.to_step)
        else:
            found.append(axis)
    return found or [_Axis(1, 0, 0)]


def _tile(axes: Sequence[_Axis], lines: int) -> tuple[int, int]:
    """Lines and columns that an item of a CPU copies: squares where the views lie across each other."""
    last = axes[-1]
    is_across = lines > 1 and abs(last.step) > abs(axes[-2].step) > 0
    width = min(last.extent, _SIDE if is_across else _TILE)
    return (_SIDE if is_across else max(1, _TILE // width)), width


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
