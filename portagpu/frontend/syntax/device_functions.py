"""Device functions: specialised for the values that their callers pass."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NoReturn

from portagpu.constants import constant_key
from portagpu.dtypes import FLOAT64
from portagpu.errors import KernelError, KernelNameError, UnsupportedSyntaxError
from portagpu.frontend.core.convert import (
    as_element,
    constant,
    constant_type,
    convert,
    describe,
    leaf_type,
    number_type,
)
from portagpu.frontend.core.exceptions import after_call, hidden_arguments, hidden_parameters
from portagpu.frontend.core.registry import Call
from portagpu.frontend.core.requests import BindParameter
from portagpu.frontend.core.state import CallSite, DeviceFunction, FunctionState
from portagpu.frontend.core.values import (
    Aggregate,
    ArrayValue,
    Const,
    TupleValue,
    Value,
    is_expr,
    leaves,
    rebuild,
    structure,
)
from portagpu.frontend.intrinsics.memory import use_shared
from portagpu.frontend.operations import original_words
from portagpu.frontend.operations.calls import bind_parameters
from portagpu.frontend.operations.signatures import fit
from portagpu.frontend.source.callables import DeviceCallable
from portagpu.frontend.source.capture import FunctionSource
from portagpu.frontend.source.recursion import is_endless, is_nested
from portagpu.frontend.syntax import statements
from portagpu.frontend.syntax.local_functions import check_result, with_captured
from portagpu.frontend.syntax.unset_variables import with_checks
from portagpu.ir.analysis.uniform import may_wait
from portagpu.ir.names import CAPTURED_ARRAYS, LOCAL_MARK
from portagpu.ir.nodes import CallFunction, Constant, Expr, Member, Var
from portagpu.ir.program import Function, MemoryArray, Parameter, ParameterRole
from portagpu.ir.types import VOID, Element, Pointer, Scalar, Space, Struct, Type
from portagpu.package_stamp import is_of_package
from portagpu.types import Number
from portagpu.types import Type as PublicType

_MAX_VARIANTS = 200  # of one function inside each other


def call_device_function(ctx: FunctionState, callee: DeviceCallable, site: Call) -> Value:
    """Call a device function, or a kernel as one, specialised for these argument types."""
    arguments = bind_parameters(ctx, callee, site)
    returns: PublicType | None = None
    if callee.declared:
        arguments, signature = fit(ctx, callee.__name__, callee.declared, arguments)
        returns = signature.return_type
    source, extra = callee.captured(ctx)
    arguments = [with_captured(ctx, a) for a in arguments] + extra
    arrays = ctx.env.get(CAPTURED_ARRAYS)
    if arrays is not None and not is_of_package(source.function):
        known = ctx.program.with_arrays
        source = known.get(source) or known.setdefault(source, source.with_parameters((CAPTURED_ARRAYS,)))
        arguments = [*arguments, arrays]
    # Which parameters must be constants (shapes of arrays, dtypes) shows only where the body uses them: that depends on
    # the meaning of names, on branches decided at compile time, and on what the callee's callees do. So the body is
    # lowered until it asks for one, and then with that one bound; a parameter is asked for once in a program.
    while True:
        bound = ctx.program.bound.get(callee.identity, frozenset())
        lowered = replace(source, constexpr=source.constexpr | bound)
        call_site = CallSite(ctx, dict(zip(source.parameters, arguments, strict=True)), bound)
        try:
            result = _call(callee, lowered, call_site, site.node)
            check_result(ctx, callee.__name__, result)
        except BindParameter as request:
            if request.site is not call_site:
                raise
            bound = ctx.program.bound.get(callee.identity, frozenset())  # calls inside may have asked for others
            ctx.program.bound[callee.identity] = bound | {request.name}
            continue
        if isinstance(returns, Number) and number_type(ctx, result) is not None:
            return convert(ctx, result, Scalar(returns.row), explicit=True)
        return result


def _call(callee: DeviceCallable, source: FunctionSource, site: CallSite, node: ast.Call) -> Value:
    ctx, arguments = site.caller, list(site.arguments.values())
    name = callee.__name__
    for parameter, value in zip(source.parameters, arguments, strict=True):
        if parameter in source.constexpr and not isinstance(value, Const):
            ctx.fail(
                f"`{parameter}` of `{name}` is a compile-time parameter, but gets {describe(ctx, value)}",
                hint="pass a constant",
            )
        if not all(isinstance(leaf, Const) or is_expr(leaf) for leaf in leaves(value)):
            ctx.fail(f"`{parameter}` of `{name}` gets {describe(ctx, value)}, which cannot be passed")
    key = (
        callee.identity,
        callee.is_inlined,
        source.parameters,
        tuple(_argument_key(ctx, source, p, v) for p, v in zip(source.parameters, arguments, strict=True)),
    )
    program = ctx.program
    if key in program.in_progress:
        _refuse_recursion(ctx, name, source, node)
    if sum(other[0] is callee.identity for other in program.in_progress) >= _MAX_VARIANTS:
        ctx.fail(
            f"`{name}` calls itself, {_MAX_VARIANTS} times so far, with other types or constants each time",
            kind=UnsupportedSyntaxError,
            hint="let the calls end at a constant, or use a loop",
        )
    found = program.functions.get(key)
    if found is None:
        program.in_progress.append(key)
        try:
            found = _lower_device_function(source, site, is_inlined=callee.is_inlined)
        except KernelError as error:
            if isinstance(error, KernelNameError) and len(error.notes) == 1:  # the first of the functions
                error.notes = (*error.notes, original_words.callee(name))
            if len(error.notes) < 8:
                error.notes = (*error.notes, f"called as `{name}` at {ctx.span.filename}:{ctx.span.line}")
            raise
        finally:
            program.in_progress.pop()
        program.functions[key] = found
    return _emit_call(ctx, found, source, arguments)


def _refuse_recursion(ctx: FunctionState, name: str, source: FunctionSource, node: ast.Call) -> NoReturn:
    """Raise for a function that calls itself: a mistake where no device could run it, else what kernels do not have."""
    itself = ctx.source.tree is source.tree
    if itself and is_endless(source.tree, node):
        ctx.fail(
            f"`{name}` calls itself on every path, without an end",
            hint="use a loop: kernels have no recursion",
            notes=(original_words.ENDLESS,),
        )
    if itself and is_nested(source.tree, node):
        ctx.fail(
            f"`{name}` calls itself and returns the result in a tuple, which has no type: it would contain itself",
            hint="fill an array in a loop",
            notes=(original_words.GROWING,),
        )
    ctx.fail(f"`{name}` calls itself", kind=UnsupportedSyntaxError, hint="kernels have no recursion; use a loop")


def _is_bound(source: FunctionSource, parameter: str, value: Value, py_float: Scalar) -> bool:
    """Whether an argument becomes part of the specialisation instead of a C parameter."""
    if not isinstance(value, Const):
        return False
    return parameter in source.constexpr or constant_type(value.value, py_float) is None


def _argument_key(ctx: FunctionState, source: FunctionSource, parameter: str, value: Value) -> Any:
    if isinstance(value, Const):
        if parameter in source.constexpr or constant_type(value.value, Scalar(FLOAT64, weak=True)) is None:
            return ("bound", constant_key(value.value))
        return ("number", type(value.value))
    parts = tuple(_part_key(ctx, part) for part in leaves(value))
    return (structure(value), parts, isinstance(value, ArrayValue) and value.layout)


def _part_key(ctx: FunctionState, part: Value) -> Any:
    if isinstance(part, Const | Constant):
        return ("const", part.type if isinstance(part, Constant) else None, constant_key(part.value))
    return leaf_type(ctx, part)


def _lower_device_function(source: FunctionSource, site: CallSite, *, is_inlined: bool) -> DeviceFunction:
    program = site.caller.program

    def attempt(types: Any) -> FunctionState:
        inner = FunctionState(program, source, is_kernel=False)
        inner.return_types, inner.call_site = types, site
        for name, value in site.arguments.items():
            inner.env[name] = _inner_parameter(inner, source, name, value)
        with inner.nested() as body:
            statements.lower_body(inner, source.tree.body)
            statements.lower_end(inner)
        inner.body = tuple(body)
        return inner

    done = attempt(None)
    result = statements.return_template(done)
    if not statements.returns_as_is(done, result):
        done = attempt(result)
    done.return_types = result  # checks raise, and return zeros
    done.body = with_checks(done, done.body)
    parts = () if result is None else tuple(p for p in leaves(result) if is_expr(p))
    c_type: Any = VOID
    if len(parts) == 1:
        c_type = parts[0].type
    elif parts:
        c_type = Struct(tuple(_item_type(p.type) for p in parts))
        program.structs.setdefault(c_type)
    shared = tuple(done.shared.values())
    parameters = list(done.parameters)
    parameters += [
        Parameter(name=a.name, type=Pointer(a.element, Space.SHARED), role=ParameterRole.SHARED) for a in shared
    ]
    lent = tuple(done.local_arrays.values()) if done.lends else ()
    parameters += [
        Parameter(name=a.name, type=Pointer(a.element, Space.THREAD), role=ParameterRole.SCALAR) for a in lent
    ]
    parameters += hidden_parameters(done)
    function = Function(
        name=program.unique(source.name),
        parameters=tuple(parameters),
        result=c_type,
        body=done.body,
        locals=() if done.lends else tuple(done.local_arrays.values()),
        span=source.span(source.tree),
        effect=done.effect,
        is_inlined=is_inlined,
    )
    callees = frozenset(d.function.name for d in program.functions.values() if d.barrier)
    return DeviceFunction(
        function=function,
        result=result,
        shared=shared,
        barrier=may_wait(function.body, callees),
        records=done.records,
        raises=done.raises,
        hidden=tuple(done.hidden.values()),
        lent=lent,
    )


def _inner_parameter(inner: FunctionState, source: FunctionSource, name: str, value: Value) -> Value:
    if _is_bound(source, name, value, inner.program.py_float):
        return value
    parts: list[Value] = []
    several = len(leaves(value)) > 1 or isinstance(value, Aggregate)
    for label, leaf in zip(_labels(name, value), leaves(value), strict=True):
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
            kind = leaf_type(inner, leaf)
        if isinstance(kind, Pointer):
            kind = Pointer(kind.element, kind.space, kind.readonly)
        inner.parameters.append(Parameter(name=label, type=kind, role=ParameterRole.SCALAR))
        if several:
            inner.stable.add(label)
        parts.append(Var(label, kind, span=inner.span))
    return rebuild(value, iter(parts))


def _labels(name: str, value: Value) -> list[str]:
    """Names of the C parameters of a value's leaves: those of a namedtuple's fields, else numbers."""
    if isinstance(value, TupleValue) and value.fields:
        pairs = zip(value.fields, value.items, strict=True)
        return [label for field, item in pairs for label in _labels(f"{name}.{field}", item)]
    count = len(leaves(value))
    if isinstance(value, ArrayValue) or (count == 1 and not isinstance(value, TupleValue)):
        return [name, *(f"{name}.{n}" for n in range(1, count))]
    return [f"{name}.{n}" for n in range(count)]


def _emit_call(ctx: FunctionState, found: DeviceFunction, source: FunctionSource, arguments: list[Value]) -> Value:
    values: list[Expr] = []
    for name, value in zip(source.parameters, arguments, strict=True):
        if _is_bound(source, name, value, ctx.program.py_float):
            continue
        several = len(leaves(value)) > 1 or isinstance(value, Aggregate)
        for leaf in leaves(value):
            if isinstance(leaf, Const):
                kind = constant_type(leaf.value, ctx.program.py_float)
                if kind is not None and not several:
                    values.append(constant(ctx, leaf.value, kind))
            elif is_expr(leaf) and not (isinstance(leaf, Constant) and several):
                values.append(leaf)
    for array in found.shared:
        use_shared(ctx, array)
        values.append(Var(array.name, Pointer(array.element, Space.SHARED), span=ctx.span))
    values += (_lend(ctx, found, array) for array in found.lent)
    values += hidden_arguments(ctx, found)
    function = found.function
    ctx.effect = ctx.effect or function.effect
    node = CallFunction(function.name, tuple(values), function.result, function.effect, span=ctx.span)
    result = found.result
    if function.result is VOID or result is None:
        statements.evaluate(ctx, node)
        after_call(ctx, found)
        return Const(None) if result is None else result
    if not isinstance(function.result, Struct):
        # a call that waits at a barrier is a statement of its own: see passes/barriers/converge.py
        if not found.barrier and not found.raises and not isinstance(result, ArrayValue):
            return rebuild_single(result, node)
        held = ctx.temp(node)  # an array's base may be used many times
        after_call(ctx, found)
        return rebuild_single(result, held)
    held = ctx.temp(node)
    after_call(ctx, found)
    return rebuild(result, _members(ctx, result, held))


def _lend(ctx: FunctionState, found: DeviceFunction, array: MemoryArray) -> Expr:
    """A local array of this function's, one for each place of a call, for one that the called function returns."""
    span = ctx.span
    key = ("lent", span.line, span.column, span.end_column, found.function.name, array.name)
    held = ctx.memory_array(key, lambda name: replace(array, name=name, span=span), f"{ctx.name_hint}{LOCAL_MARK}")
    return Var(held.name, Pointer(held.element, Space.THREAD), span=span)


def rebuild_single(template: Value, node: Expr) -> Value:
    """Put a call's one runtime number in its place in the result."""
    parts = [node if is_expr(p) else p for p in leaves(template)]
    return rebuild(template, iter(parts))


def _item_type(kind: Type) -> Element | Pointer:
    return kind if isinstance(kind, Pointer) else as_element(kind)


def _members(ctx: FunctionState, template: Value, held: Var) -> Iterator[Value]:
    item = 0
    for part in leaves(template):
        if is_expr(part):
            yield Member(held, item, _item_type(part.type), span=ctx.span)
            item += 1
        else:
            yield part
