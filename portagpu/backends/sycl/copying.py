"""Copies between strided views on a device, by a kernel."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from portagpu.backends.handles import Strided
from portagpu.backends.launches import Enqueue, LaunchSizes

_GROUP = 256  # items of a work-group
_MOST_GROUPS = 2**15  # along the second dimension
_UNITS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long"}
_NAME = "copy_strided"
_KERNEL = """\
#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<3>))
void {name}(const {unit} *source, {unit} *target, long lines, long source_offset, long target_offset,
    {parameters}) {{
  auto item = sycl::ext::oneapi::this_work_item::get_nd_item<3>();
  long column = item.get_global_id(2);
  if (column >= extent_{last}) return;
  for (long line = item.get_global_id(1); line < lines; line += item.get_global_range(1)) {{
    long from = source_offset + column * step_{last}, to = target_offset + column * to_step_{last}, rest = line;
{axes}    for (long unit = 0; unit < {units}; ++unit) target[to + unit] = source[from + unit];
  }}
}}
"""
_AXIS = """\
    from += rest % extent_{axis} * step_{axis};
    to += rest % extent_{axis} * to_step_{axis};
    rest /= extent_{axis};
"""


def strided_copy(
    source: Strided,
    target: Strided,
    build: Callable[[str], Any],
    new_kernel: Callable[[Any, str, Sequence[np.dtype[Any] | None]], Any],
    enqueue: Enqueue,
) -> Callable[[Any, Any, Any], None]:
    """What copies elements as between two views of one shape and dtype, given a queue and both memories."""
    unit = next(u for u in (8, 4, 2, 1) if all(_divides(u, view) for view in (source, target)))
    ndim = len(target.shape)
    program = build(_text(_UNITS[unit], target.dtype.itemsize // unit, max(1, ndim)))
    columns = target.shape[-1] if ndim else 1
    lines = math.prod(target.shape[:-1])
    numbers = [lines, source.offset // unit, target.offset // unit]
    for extent, step, to_step in zip(target.shape or (1,), source.strides or (0,), target.strides or (0,), strict=True):
        numbers += [extent, step // unit, to_step // unit]
    types = [None, None, *[np.dtype(np.int64)] * len(numbers)]
    sizes = LaunchSizes(*_spread(columns, lines))
    free: list[Any] = []  # kernel objects; one serves one caller at a time

    def copy(queue: Any, into: Any, from_: Any) -> None:
        try:
            kernel = free.pop()
        except IndexError:
            kernel = new_kernel(program, _NAME, types)
        kernel.set_args(from_, into, *numbers)
        enqueue(queue, kernel, sizes)
        free.append(kernel)

    return copy


def _text(unit: str, units: int, axes: int) -> str:
    parameters = ", ".join(f"long extent_{n}, long step_{n}, long to_step_{n}" for n in range(axes))
    around = "".join(_AXIS.format(axis=n) for n in range(axes - 2, -1, -1))
    return _KERNEL.format(name=_NAME, unit=unit, units=units, parameters=parameters, last=axes - 1, axes=around)


def _spread(columns: int, lines: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Items of a copy, and of a work-group."""
    across = min(64, 1 << max(0, columns - 1).bit_length())
    down = _GROUP // across
    return (-(-columns // across) * across, min(-(-lines // down), _MOST_GROUPS) * down), (across, down)


def _divides(unit: int, view: Strided) -> bool:
    return (
        view.dtype.itemsize % unit == 0 and view.offset % unit == 0 and all(step % unit == 0 for step in view.strides)
    )
