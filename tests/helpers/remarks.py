"""What the compiler remarks about a kernel, found without building it."""

from __future__ import annotations

from portagpu import cuda
from portagpu.device.ideal_device import IDEAL
from portagpu.dispatch.arguments.type_names import argument_type

FLOATS = cuda.float32[::1]


def remarks_of(function, *types):
    """(variable or array, line after the function's first) of each remark."""
    kernel = cuda.jit(function)
    program = kernel.lowered(tuple(map(argument_type, types)), IDEAL)
    start = function.__code__.co_firstlineno
    return {(r.text.split("`")[1], r.span.line - start) for r in program.remarks}
