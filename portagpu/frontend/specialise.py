"""Specialisation of a kernel for its argument types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from portagpu.device.capabilities import Capabilities
from portagpu.dtypes import BOOL, FLOAT16, FLOAT32, UINT8
from portagpu.errors import MissingCapabilityError
from portagpu.frontend.arrays.attributes import item_bytes
from portagpu.frontend.core.convert import constant, convert, require_fp64
from portagpu.frontend.core.exceptions import hidden_parameters, prologue
from portagpu.frontend.core.operators import ring
from portagpu.frontend.core.state import FunctionState, ProgramState
from portagpu.frontend.core.values import ArrayValue, Const, TupleValue, Value
from portagpu.frontend.intrinsics.clusters import check_cluster
from portagpu.frontend.lowerings import REGISTERED as REGISTERED
from portagpu.frontend.source.capture import FunctionSource
from portagpu.frontend.source.dependencies import Dependencies
from portagpu.frontend.syntax import statements
from portagpu.frontend.syntax.device_functions import call_device_function
from portagpu.frontend.syntax.unset_variables import with_checks
from portagpu.ir.nodes import BinaryOp, Cast, Expr, Var
from portagpu.ir.program import Function, Parameter, ParameterRole, Program
from portagpu.ir.recursion import deeply_nested
from portagpu.ir.types import (
    BYTE,
    VOID,
    ArgumentType,
    ArrayType,
    ConstantType,
    Layout,
    Pointer,
    Scalar,
    TupleType,
    in_memory,
)
from portagpu.package_stamp import is_of_package
from portagpu.types.record_layout import Record


@deeply_nested
def specialise(
    source: FunctionSource,
    arguments: tuple[ArgumentType, ...],
    caps: Capabilities,
    *,
    wide_index: bool = False,
    debug: bool = False,
    fast: bool = False,
    bounds: bool = False,
    block_dim: tuple[int, int, int] | None = None,
    cluster: tuple[int, int, int] | None = None,
    dependencies: Dependencies | None = None,
) -> Program:
    """Lower a kernel for the given argument types: typed IR, which the passes of a device come after.

    ``wide_index`` asks for 64-bit subscripts, ``debug`` for exceptions, ``fast`` for none where float32 numbers are
    divided by zero, ``bounds`` for checks of subscripts. ``cluster``: blocks that run together.
    ``dependencies`` records what is read of the program around the kernel.
    Raises subclasses of `portagpu.errors.KernelError`.
    """
    state = ProgramState(
        caps,
        lower_call=call_device_function,
        wide_index=wide_index,
        debug=debug,
        fast=fast,
        bounds=bounds,
        cluster=cluster,
        dependencies=dependencies,
    )
    state.device_arrays = source.arrays
    return _lower(state, source, arguments, block_dim)


@deeply_nested
def check_device_function(source: FunctionSource, arguments: tuple[ArgumentType, ...], caps: Capabilities) -> None:
    """Lower a device function by itself, to see whether its text fits these types. Raises `KernelError` subclasses."""
    program = ProgramState(caps, lower_call=call_device_function, wide_index=False, debug=False)
    ctx = FunctionState(program, source, is_kernel=False)
    for position, (name, kind) in enumerate(zip(source.parameters, arguments, strict=True)):
        ctx.env[name] = parameter_of(ctx, name, kind, (position,))
    with ctx.nested():
        statements.lower_body(ctx, source.tree.body)


def _lower(
    program: ProgramState,
    source: FunctionSource,
    arguments: tuple[ArgumentType, ...],
    block_dim: tuple[int, int, int] | None,
) -> Program:
    ctx = FunctionState(program, source, is_kernel=True)
    check_cluster(ctx)
    own = program.unique(source.name)  # before any device function of that name
    with ctx.nested() as body:
        for position, (name, kind) in enumerate(zip(source.parameters, arguments, strict=True)):
            ctx.env[name] = parameter_of(ctx, name, kind, (position,))
        statements.lower_body(ctx, source.tree.body)
    checked = with_checks(ctx, body)
    ctx.parameters += hidden_parameters(ctx)
    kernel = Function(
        name=own,
        parameters=tuple(ctx.parameters),
        result=VOID,
        body=(*prologue(ctx), *checked),
        locals=tuple(ctx.local_arrays.values()),
        span=source.span(source.tree),
        effect=True,
    )
    return Program(
        kernel=kernel,
        functions=tuple(d.function for d in program.functions.values()),
        shared=tuple(program.shared.values()),
        constants=tuple(row for _, row in program.constants.values()),
        structs=tuple(program.structs),
        wide_index=program.wide_index,
        block_dim=block_dim,
        dynamic_shared=program.dynamic_shared,
        cluster=program.cluster,
        cooperative=program.cooperative,
        faults=tuple(program.faults.values()),
        remarks=tuple(program.remarks.values()),
        checked=program.debug or program.bounds,
        halves=program.halves,
        retyped=program.retyped,
        library=is_of_package(source.function),
    )


def parameter_of(ctx: FunctionState, name: str, kind: ArgumentType, path: tuple[int, ...]) -> Value:
    """C parameters of one kernel argument, and the value that its name has in the kernel."""

    def add(suffix: str, c_type: Any, role: ParameterRole, axis: int = 0, unit: int = 0) -> Var:
        full = f"{name}.{suffix}" if suffix else name
        ctx.parameters.append(Parameter(name=full, type=c_type, role=role, path=path, axis=axis, unit=unit))
        if suffix:
            ctx.stable.add(full)
        return Var(full, c_type, span=ctx.span)

    if isinstance(kind, ConstantType):
        return Const(kind.value)
    if isinstance(kind, TupleType):
        labels = kind.fields or range(len(kind.items))
        items = tuple(
            parameter_of(ctx, f"{name}.{label}", k, (*path, n))
            for n, (label, k) in enumerate(zip(labels, kind.items, strict=True))
        )
        return TupleValue(items, kind.fields)
    if isinstance(kind, Scalar):
        if kind.dtype is BOOL:
            return convert(ctx, add("", Scalar(UINT8), ParameterRole.SCALAR), kind)
        if kind.dtype is FLOAT16:
            require_fp64(ctx, kind.dtype)
            return Cast(add("", Scalar(FLOAT32), ParameterRole.SCALAR), kind, span=ctx.span)
        if kind.dtype.needs_fp64 and not ctx.program.caps.fp64:
            if not kind.weak:
                _refuse_fp64(ctx, name, kind)
            kind = ctx.program.py_complex if kind.dtype.is_complex else ctx.program.py_float
        if path and len(path) > 1:
            ctx.stable.add(name)
        return add("", kind, ParameterRole.SCALAR)
    return _array_parameter(ctx, name, kind, add)


def _refuse_fp64(ctx: FunctionState, name: str, kind: object) -> None:
    ctx.fail(
        f"argument `{name}` is {kind} and this device has no float64",
        kind=MissingCapabilityError,
        hint="pass float32 data: x.astype(np.float32)",
    )


def _check_element(ctx: FunctionState, name: str, kind: ArrayType) -> None:
    """Raise for numbers that the device cannot compute with; records say so where such a field is used."""
    if isinstance(kind.element, Record):
        return
    if kind.element.dtype.needs_fp64 and not ctx.program.caps.fp64:
        _refuse_fp64(ctx, name, kind)
    require_fp64(ctx, kind.element.dtype)


def _array_parameter(ctx: FunctionState, name: str, kind: ArrayType, add: Callable[..., Var]) -> ArrayValue:
    _check_element(ctx, name, kind)
    program = ctx.program
    held_as = BYTE if kind.align or isinstance(kind.element, Record) else in_memory(kind.element)
    pointer = Pointer(held_as, kind.space, kind.readonly, restrict=not kind.alias)
    base: Expr = add("", pointer, ParameterRole.POINTER)
    ctx.stable.add(name)
    if kind.offset:
        from_start = add("offset", program.index_type, ParameterRole.OFFSET, unit=1 if kind.align else 0)
        base = ctx.temp_stable(f"{name}.base", base, from_start)
    shape = tuple(add(f"n{axis}", program.shape_type, ParameterRole.SHAPE, axis) for axis in range(kind.ndim))
    one = constant(ctx, 1, program.index_type)
    strides: list[Expr] = [one] * kind.ndim
    if kind.layout is Layout.ANY:
        strides = [add(f"s{a}", program.index_type, ParameterRole.STRIDE, a, kind.align) for a in range(kind.ndim)]
    else:
        order = range(kind.ndim - 1, -1, -1) if kind.layout is Layout.C else range(kind.ndim)
        step: Expr = one
        for axis in order:
            strides[axis] = step
            extent = convert(ctx, shape[axis], program.index_type)
            step = extent if step is one else ring(ctx, BinaryOp.MUL, step, extent)
    if kind.align:
        unit = kind.align if kind.layout is Layout.ANY else item_bytes(kind.element)
        strides = [ring(ctx, BinaryOp.MUL, s, constant(ctx, unit, program.index_type)) for s in strides]
    return ArrayValue(
        element=kind.element,
        base=base,
        shape=shape,
        strides=tuple(strides),
        space=kind.space,
        readonly=kind.readonly,
        layout=kind.layout,
        align=kind.align,
    )
