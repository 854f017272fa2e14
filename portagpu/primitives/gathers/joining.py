"""Several arrays side by side in one, by one launch: what small ones need most."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.primitives.flat import flat
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.ufuncs.kernel_source import KEPT, kernel_from, launch

MOST_PARTS = 8
MOST_ELEMENTS, MOST_ON_CPUS = 2**20, 2**12
"""Beyond, copies by the driver are as fast: on CPUs a division for each element takes longer than a launch, soon."""


def fits(parts: Sequence[DeviceNDArray], out: DeviceNDArray) -> bool:
    """Whether parts, which have elements, can be joined by one launch: few, small, of one dtype and without gaps."""
    return (
        len(parts) <= MOST_PARTS
        and 0 < out.size <= (MOST_ON_CPUS if out.context.capabilities.is_serial else MOST_ELEMENTS)
        and out.dtype.kind in "biufc"
        and all(x.deferred is None and x.layout == "C" and x.dtype == out.dtype and x.size for x in parts)
    )


def join(parts: Sequence[DeviceNDArray], widths: Sequence[int], out: DeviceNDArray) -> None:
    """Write rows of parts, of so many elements each, side by side into rows of an array, as `fits` tells."""
    context = out.context
    with context.unsettled:
        args = (flat(out), sum(widths), *map(flat, parts), *widths)
        launch(_kernel(len(parts)), out.size, None, 0, args, context)


class _Named:
    """Gives the file of a kernel's text its name."""

    __name__ = "join"


@cache
def _kernel(count: int) -> Dispatcher:
    arrays, widths = [f"a{n}" for n in range(count)], [f"w{n}" for n in range(count)]
    text = [
        f"def kernel({', '.join(['out', 'width', *arrays, *widths])}):",
        "    i = grid(1)",
        "    if i < out.size:",
        "        row = i // width",
        "        at = i % width",
    ]
    indent = " " * 8
    for array, width in zip(arrays, widths, strict=True):
        text += [f"{indent}if at < {width}:", f"{indent}    out[i] = {array}[row * {width} + at]"]
        if array != arrays[-1]:
            text += [f"{indent}else:", f"{indent}    at -= {width}"]
            indent += "    "
    return kernel_from(text, {"core": _Named}, KEPT)
