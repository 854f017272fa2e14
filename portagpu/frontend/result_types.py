"""What device functions return for given argument types, without a kernel that calls them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from portagpu.device.capabilities import Capabilities
from portagpu.dtypes import DType
from portagpu.errors import UnsupportedSyntaxError
from portagpu.frontend.core.convert import describe, leaf_type, number_type
from portagpu.frontend.core.registry import Call
from portagpu.frontend.core.state import FunctionState, ProgramState
from portagpu.frontend.core.values import Const, leaves
from portagpu.frontend.lowerings import REGISTERED as REGISTERED
from portagpu.frontend.source.callables import DeviceCallable
from portagpu.frontend.source.capture import FunctionSource, capture
from portagpu.frontend.specialise import parameter_of
from portagpu.frontend.syntax import statements
from portagpu.frontend.syntax.device_functions import call_device_function
from portagpu.ir.nodes import Instruction, Var
from portagpu.ir.operations import PER_THREAD
from portagpu.ir.recursion import deeply_nested
from portagpu.ir.types import PYFLOAT, ArgumentType, ConstantType, Scalar
from portagpu.ir.walk import named_nodes


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


_OF_BLOCKS = (
    "syncthreads",
    "warp_",
    "subgroup_",
    "grid",
    "block",
)  # what names of other threads' operations begin with


@deeply_nested
def elementwise_result(
    function: DeviceCallable, source: FunctionSource, arguments: tuple[ArgumentType, ...], caps: Capabilities
) -> DType:
    """The dtype of what a device function returns that works on a number by itself, whichever thread calls it.

    Raises `KernelError` subclasses, also where it returns something else than one number on every path, and where it
    waits for other threads, asks which one it is, or has shared memory.
    """
    program = ProgramState(caps, lower_call=call_device_function, wide_index=False, debug=False)
    ctx = FunctionState(program, source, is_kernel=False)
    ctx.span = source.span(source.tree)
    values = tuple(parameter_of(ctx, f"argument{n}", kind, (n,)) for n, kind in enumerate(arguments))
    with ctx.nested():
        site = Call(node=source.tree, function=Const(function), args=values, keywords={})  # type: ignore[arg-type]
        result = call_device_function(ctx, function, site)
        kind = number_type(ctx, result)
        shown = describe(ctx, result)
    for array in program.shared.values():
        raise UnsupportedSyntaxError(
            f"`{source.name}` is called for one number, and has shared memory here",
            span=array.span,
            hint="cuda.local.array is a thread's own",
        )
    for called in program.functions.values():
        for node in named_nodes(called.function.body):
            if isinstance(node, Instruction) or node.name in PER_THREAD or node.name.startswith(_OF_BLOCKS):
                raise UnsupportedSyntaxError(
                    f"`{source.name}` is called for one number, by any thread: it has no {node.name}",
                    span=node.span,
                    hint="its parameters tell which number it is",
                )
    if not isinstance(kind, Scalar):
        ctx.fail(f"`{source.name}` returns {shown}", hint="return one number, on every path")
    return kind.dtype
