"""The result type of a device function for given argument types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from portagpu.device.capabilities import Capabilities
from portagpu.dtypes import DType
from portagpu.frontend.core.convert import leaf_type
from portagpu.frontend.core.state import FunctionState, ProgramState
from portagpu.frontend.core.values import Const, leaves
from portagpu.frontend.lowerings import REGISTERED as REGISTERED
from portagpu.frontend.source.capture import capture
from portagpu.frontend.syntax import statements
from portagpu.frontend.syntax.device_functions import call_device_function
from portagpu.ir.nodes import Var
from portagpu.ir.types import PYFLOAT, ConstantType, Scalar


def result_dtype(
    function: Callable[..., Any], arguments: tuple[Scalar | ConstantType, ...], caps: Capabilities
) -> DType:
    """The dtype of what ``function`` returns. Raises `KernelError` subclasses, also where that is no single number."""
    source = capture(function)
    program = ProgramState(caps, lower_call=call_device_function, wide_index=False, debug=False)
    ctx = FunctionState(program, source, is_kernel=False)
    for name, kind in zip(source.parameters, arguments, strict=True):
        if isinstance(kind, ConstantType):
            ctx.env[name] = Const(kind.value)
        else:
            ctx.env[name] = Var(name, program.py_float if kind == PYFLOAT else kind, span=ctx.span)
    with ctx.nested():
        statements.lower_body(ctx, source.tree.body)
    template = statements.return_template(ctx)
    parts = [] if template is None else leaves(template)
    result = leaf_type(ctx, parts[0]) if len(parts) == 1 else None
    if not isinstance(result, Scalar):
        ctx.fail(f"`{source.name}` must return one number", hint="return a number on every path")
    return result.dtype
