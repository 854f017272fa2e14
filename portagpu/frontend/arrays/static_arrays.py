"""Arrays of compile-time shape, and host arrays that a kernel captures: program-scope constant memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.errors import KernelValueError
from portagpu.frontend.core.bfloat16 import is_bfloat16
from portagpu.frontend.core.convert import constant, require_fp64
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue
from portagpu.ir.names import own
from portagpu.ir.nodes import Expr, Var
from portagpu.ir.program import ConstantArray
from portagpu.ir.types import BYTE, PYINT, Element, Layout, Pointer, Scalar, Space, in_memory
from portagpu.types.record_layout import Record, alignment_of, record_of


def captured_array(ctx: FunctionState, array: np.ndarray[Any, Any]) -> ArrayValue:
    """A host array that the kernel captures (global, closure, ``const.array_like``): program-scope constant memory."""
    record = record_of(array.dtype)
    known = ctx.program.constants.get(id(array))
    element = BYTE if record else Scalar(dtypes.from_numpy(array.dtype))
    if known is None:
        require_fp64(ctx, element.dtype)
        limit = ctx.program.caps.constant_memory
        if array.nbytes > limit:
            ctx.fail(
                f"the captured array has {array.nbytes} bytes; constant memory of this device holds {limit}",
                kind=KernelValueError,
                hint="pass the array as a kernel argument",
            )
        numbers = array.view(np.uint16) if is_bfloat16(element) else array
        row = ConstantArray(
            name=ctx.program.unique(own(f"const{len(ctx.program.constants)}")),
            element=in_memory(element),
            data=tuple(array.tobytes() if record else np.ascontiguousarray(numbers).reshape(-1).tolist()),
            span=ctx.span,
            aligned=record is not None,
        )
        ctx.program.constants[id(array)] = known = (array, row)
    row = known[1]
    base = Var(row.name, Pointer(row.element, Space.CONSTANT, readonly=True), span=ctx.span)
    return static_array(ctx, base, record or element, array.shape, Space.CONSTANT, readonly=True)


def static_array(
    ctx: FunctionState,
    base: Expr,
    element: Element | Record,
    shape: tuple[int, ...],
    space: Space,
    *,
    readonly: bool = False,
) -> ArrayValue:
    """An array of compile-time shape in C order; one of records lies in bytes aligned to 16, if it has four or more."""
    align, strides, step = 0, [], 1
    if isinstance(element, Record):
        step = element.itemsize
        align = alignment_of(step) if math.prod(shape) * step >= 4 else 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return ArrayValue(
        element=element,
        base=base,
        shape=tuple(constant(ctx, n, PYINT) for n in shape),
        strides=tuple(constant(ctx, s, ctx.program.index_type) for s in reversed(strides)),
        space=space,
        readonly=readonly,
        layout=Layout.C,
        align=align,
    )
