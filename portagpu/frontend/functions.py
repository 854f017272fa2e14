"""Specialisation: a kernel for its argument types, device functions for theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from portagpu.device.capabilities import Capabilities
from portagpu.dtypes import BOOL, FLOAT16, FLOAT32, FLOAT64, UINT8
from portagpu.errors import MissingCapabilityError, UnsupportedSyntaxError
from portagpu.frontend import intrinsics, statements
from portagpu.frontend import library as library  # registers the lowerings of builtins, math and NumPy
from portagpu.frontend.calls import DEVICE_FUNCTION, Call, DeviceCallable, check_parameters
from portagpu.frontend.capture import FunctionSource, capture
from portagpu.frontend.convert import constant, constant_type, convert, describe
from portagpu.frontend.operators import ring
from portagpu.frontend.state import DeviceFunction, FunctionState, ProgramState
from portagpu.frontend.values import ArrayValue, Const, TupleValue, Value, is_expr, leaves, rebuild, structure
from portagpu.ir.nodes import (
    BinaryOp,
    CallFunction,
    Cast,
    Constant,
    Expr,
    Function,
    Member,
    Parameter,
    ParameterRole,
    Program,
    Var,
)
from portagpu.ir.types import (
    DYNAMIC_SHARED,
    INT,
    VOID,
    ArgumentType,
    ArrayType,
    ConstantType,
    Layout,
    Pointer,
    Scalar,
    Space,
    Struct,
    TupleType,
)


def specialise(
    source: FunctionSource,
    arguments: tuple[ArgumentType, ...],
    caps: Capabilities,
    *,
    wide_index: bool = False,
    debug: bool = False,
    block_dim: tuple[int, int, int] | None = None,
) -> Program:
    """Lower a kernel for the given argument types.

    ``wide_index`` asks for 64-bit subscripts. Raises subclasses of `portagpu.errors.KernelError`.
    """
    program = ProgramState(caps, wide_index=wide_index, debug=debug)
    ctx = FunctionState(program, source, is_kernel=True)
    with ctx.nested() as body:
        for position, (name, kind) in enumerate(zip(source.parameters, arguments, strict=True)):
            ctx.env[name] = _parameter(ctx, name, kind, (position,))
        statements.lower_body(ctx, source.tree.body)
    if program.dynamic_shared:
        ctx.parameters.append(
            Parameter(
                name="pg.dynamic_shared",
                type=DYNAMIC_SHARED,
                role=ParameterRole.DYNAMIC_SHARED,
            )
        )
        ctx.parameters.append(Parameter(name="pg.dynamic_bytes", type=INT, role=ParameterRole.DYNAMIC_SHARED))
    kernel = Function(
        name=source.name,
        python_name=source.name,
        parameters=tuple(ctx.parameters),
        result=VOID,
        body=tuple(body),
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
        wide_index=wide_index,
        block_dim=block_dim,
        dynamic_shared=program.dynamic_shared,
    )


def _parameter(ctx: FunctionState, name: str, kind: ArgumentType, path: tuple[int, ...]) -> Value:
    """C parameters of one kernel argument, and the value that its name has in the kernel."""

    def add(suffix: str, c_type: Any, role: ParameterRole, axis: int = 0) -> Var:
        full = f"{name}.{suffix}" if suffix else name
        ctx.parameters.append(Parameter(name=full, type=c_type, role=role, path=path, axis=axis))
        if suffix:
            ctx.stable.add(full)
        return Var(full, c_type, span=ctx.span)

    if isinstance(kind, ConstantType):
        return Const(kind.value)
    if isinstance(kind, TupleType):
        return TupleValue(tuple(_parameter(ctx, f"{name}.{n}", k, (*path, n)) for n, k in enumerate(kind.items)))
    if isinstance(kind, Scalar):
        if kind.dtype is BOOL:
            return convert(ctx, add("", Scalar(UINT8), ParameterRole.SCALAR), kind)
        if kind.dtype is FLOAT16:
            return Cast(add("", Scalar(FLOAT32), ParameterRole.SCALAR), kind, span=ctx.span)
        if kind.dtype is FLOAT64 and not ctx.program.caps.fp64:
            if not kind.weak:
                _refuse_fp64(ctx, name, kind)
            kind = ctx.program.py_float
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


def _array_parameter(ctx: FunctionState, name: str, kind: ArrayType, add: Callable[..., Var]) -> ArrayValue:
    if kind.element.dtype is FLOAT64 and not ctx.program.caps.fp64:
        _refuse_fp64(ctx, name, kind)
    if kind.element.dtype is FLOAT16 and not ctx.program.caps.fp16:
        ctx.fail(
            f"argument `{name}` is {kind} and this device has no float16 arithmetic",
            kind=MissingCapabilityError,
            hint="pass float32 data: x.astype(np.float32)",
        )
    program = ctx.program
    pointer = Pointer(kind.element, kind.space, kind.readonly, restrict=not kind.alias)
    base: Expr = add("", pointer, ParameterRole.POINTER)
    ctx.stable.add(name)
    if kind.offset:
        from_start = add("offset", program.index_type, ParameterRole.OFFSET)
        base = ctx.temp_stable(f"{name}.base", base, from_start)
    shape = tuple(add(f"n{axis}", program.shape_type, ParameterRole.SHAPE, axis) for axis in range(kind.ndim))
    one = constant(ctx, 1, program.index_type)
    strides: list[Expr] = [one] * kind.ndim
    if kind.layout is Layout.ANY:
        strides = [add(f"s{axis}", program.index_type, ParameterRole.STRIDE, axis) for axis in range(kind.ndim)]
    else:
        order = range(kind.ndim - 1, -1, -1) if kind.layout is Layout.C else range(kind.ndim)
        step: Expr = one
        for axis in order:
            strides[axis] = step
            extent = convert(ctx, shape[axis], program.index_type)
            step = extent if step is one else ring(ctx, BinaryOp.MUL, step, extent)
    return ArrayValue(
        element=kind.element,
        base=base,
        shape=shape,
        strides=tuple(strides),
        space=kind.space,
        readonly=kind.readonly,
        layout=kind.layout,
    )


# device functions -------------------------------------------------------------------------------------------------


def call_device_function(ctx: FunctionState, callee: DeviceCallable, site: Call) -> Value:
    """Call a device function, specialised for these argument types."""
    name = callee.py_func.__name__
    if not callee.is_device_function:
        ctx.fail(
            f"`{name}` is a kernel; a kernel cannot call a kernel",
            hint=f"decorate `{name}` with @cuda.jit(device=True), or launch it from the host",
        )
    source = capture(callee.py_func)
    check_parameters(ctx, name, source.parameters, site)
    arguments = [*site.args, *(site.keywords[p] for p in source.parameters[len(site.args) :])]
    for parameter, value in zip(source.parameters, arguments, strict=True):
        if parameter in source.constexpr and not isinstance(value, Const):
            ctx.fail(
                f"`{parameter}` of `{name}` is a compile-time parameter, but gets {describe(ctx, value)}",
                hint="pass a constant",
            )
    key = (
        callee.py_func,
        tuple(_argument_key(source, p, v) for p, v in zip(source.parameters, arguments, strict=True)),
    )
    program = ctx.program
    if key in program.in_progress:
        ctx.fail(f"`{name}` calls itself", kind=UnsupportedSyntaxError, hint="OpenCL has no recursion; use a loop")
    found = program.functions.get(key)
    if found is None:
        program.in_progress.append(key)
        try:
            found = _lower_device_function(ctx, source, arguments)
        except Exception as error:
            _add_call_note(ctx, error, name)
            raise
        finally:
            program.in_progress.pop()
        program.functions[key] = found
    return _emit_call(ctx, found, source, arguments)


def _add_call_note(ctx: FunctionState, error: Exception, name: str) -> None:
    notes = getattr(error, "notes", None)
    if notes is not None and len(notes) < 8:
        error.notes = (*notes, f"called as `{name}` at {ctx.span.filename}:{ctx.span.line}")  # type: ignore[attr-defined]


def _is_bound(source: FunctionSource, parameter: str, value: Value, py_float: Scalar) -> bool:
    """Whether an argument becomes part of the specialisation instead of a C parameter."""
    if not isinstance(value, Const):
        return False
    return parameter in source.constexpr or constant_type(value.value, py_float) is None


def _argument_key(source: FunctionSource, parameter: str, value: Value) -> Any:
    if isinstance(value, Const):
        if parameter in source.constexpr or constant_type(value.value, Scalar(FLOAT64, weak=True)) is None:
            return ("bound", type(value.value), _hashable(value.value))
        return ("number", type(value.value))
    parts = tuple(
        ("const", _hashable(p.value)) if isinstance(p, Const | Constant) else p.type  # type: ignore[union-attr]
        for p in leaves(value)
    )
    return (structure(value), parts, isinstance(value, ArrayValue) and value.layout)


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return ("id", id(value))
    return value


def _lower_device_function(ctx: FunctionState, source: FunctionSource, arguments: list[Value]) -> DeviceFunction:
    program = ctx.program

    def attempt(types: Any) -> FunctionState:
        inner = FunctionState(program, source, is_kernel=False)
        inner.return_types = types
        for name, value in zip(source.parameters, arguments, strict=True):
            inner.env[name] = _inner_parameter(inner, source, name, value)
        with inner.nested() as body:
            statements.lower_body(inner, source.tree.body)
        inner.body = tuple(body)
        return inner

    first = attempt(None)
    result = statements.return_template(first)
    done = attempt(result)
    parts = () if result is None else tuple(p for p in leaves(result) if is_expr(p))
    c_type: Any = VOID
    if len(parts) == 1:
        c_type = parts[0].type  # type: ignore[union-attr]
    elif parts:
        c_type = Struct(tuple(p.type for p in parts))  # type: ignore[union-attr,misc]
        program.structs.setdefault(c_type)
    shared = tuple(done.shared.values())
    parameters = list(done.parameters)
    parameters += [
        Parameter(name=a.name, type=Pointer(a.element, Space.LOCAL), role=ParameterRole.SHARED) for a in shared
    ]
    function = Function(
        name=program.unique(source.name),
        python_name=source.name,
        parameters=tuple(parameters),
        result=c_type,
        body=done.body,
        locals=tuple(done.local_arrays.values()),
        span=source.span(source.tree),
        effect=done.effect,
    )
    return DeviceFunction(function=function, result=result, shared=shared)


def _inner_parameter(inner: FunctionState, source: FunctionSource, name: str, value: Value) -> Value:
    if _is_bound(source, name, value, inner.program.py_float):
        return value
    parts: list[Value] = []
    several = len(leaves(value)) > 1 or isinstance(value, ArrayValue | TupleValue)
    for n, leaf in enumerate(leaves(value)):
        kind: Any
        if isinstance(leaf, Const):
            kind = constant_type(leaf.value, inner.program.py_float)
            if kind is None or several:
                parts.append(leaf)
                continue
        elif isinstance(leaf, Constant):
            if several:
                parts.append(leaf)
                continue
            kind = leaf.type
        else:
            kind = leaf.type  # type: ignore[union-attr]
        if isinstance(kind, Pointer):
            kind = Pointer(kind.element, kind.space, kind.readonly)
        suffix = "" if not several or (n == 0 and isinstance(value, ArrayValue)) else f".{n}"
        inner.parameters.append(Parameter(name=name + suffix, type=kind, role=ParameterRole.SCALAR))
        if several:
            inner.stable.add(name + suffix)
        parts.append(Var(name + suffix, kind, span=inner.span))
    return rebuild(value, iter(parts))


def _emit_call(ctx: FunctionState, found: DeviceFunction, source: FunctionSource, arguments: list[Value]) -> Value:
    values: list[Expr] = []
    for name, value in zip(source.parameters, arguments, strict=True):
        if _is_bound(source, name, value, ctx.program.py_float):
            continue
        several = len(leaves(value)) > 1 or isinstance(value, ArrayValue | TupleValue)
        for leaf in leaves(value):
            if isinstance(leaf, Const):
                kind = constant_type(leaf.value, ctx.program.py_float)
                if kind is not None and not several:
                    values.append(constant(ctx, leaf.value, kind))
            elif not (isinstance(leaf, Constant) and several):
                values.append(leaf)  # type: ignore[arg-type]
    for array in found.shared:
        intrinsics.use_shared(ctx, array)
        values.append(Var(array.name, Pointer(array.element, Space.LOCAL), span=ctx.span))
    function = found.function
    ctx.effect = ctx.effect or function.effect
    node = CallFunction(function.name, tuple(values), function.result, function.effect, span=ctx.span)
    result = found.result
    if function.result is VOID or result is None:
        statements.evaluate(ctx, node)
        return Const(None) if result is None else result
    if not isinstance(function.result, Struct):
        return rebuild_single(result, node)
    held = ctx.temp(node)
    return rebuild(result, _members(ctx, result, held))


def rebuild_single(template: Value, node: Expr) -> Value:
    """Put a call's one runtime number in its place in the result."""
    parts = [node if is_expr(p) else p for p in leaves(template)]
    return rebuild(template, iter(parts))


def _members(ctx: FunctionState, template: Value, held: Var) -> Iterator[Value]:
    item = 0
    for part in leaves(template):
        if is_expr(part):
            yield Member(held, item, part.type, span=ctx.span)  # type: ignore[union-attr,arg-type]
            item += 1
        else:
            yield part


DEVICE_FUNCTION.append(call_device_function)
