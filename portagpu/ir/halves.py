"""float16 on devices that do not compute with it, or have no functions of it.

Where OpenCL C has half as a format in memory only, every float16 value becomes a float32 one that is rounded after each
operation; arrays keep their 16-bit elements. float32 is wide enough that rounding twice gives the float16 result of
``+ - * /`` and of a square root.

Devices with half arithmetic but without the extension's functions compute those in float32.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from portagpu.dtypes import FLOAT16, FLOAT32, UINT16
from portagpu.errors import MissingCapabilityError
from portagpu.ir.nodes import Binary, Cast, Constant, Evaluate, Expr, Load, Member, Node, Offset, Operation, Store, Var
from portagpu.ir.program import ConstantArray, Function, MemoryArray, Parameter, Program
from portagpu.ir.types import VOID, Pointer, Scalar, Struct, Vector

_FLOAT = Scalar(FLOAT32)
_HALF = Scalar(FLOAT16)
_BITS = Scalar(UINT16)


def widen_halves(program: Program) -> Program:
    """A program for devices without half arithmetic. Raises `MissingCapabilityError` for vectors of float16."""
    return replace(
        program,
        kernel=_function(program.kernel),
        functions=tuple(map(_function, program.functions)),
        shared=tuple(map(_array, program.shared)),
        constants=tuple(map(_constant_array, program.constants)),
        structs=tuple(_type(s, None) for s in program.structs),
    )


def widen_functions(program: Program) -> Program:
    """A program for devices with half arithmetic, but without functions of halves."""
    return replace(
        program,
        kernel=replace(program.kernel, body=_without_half_functions(program.kernel.body)),
        functions=tuple(replace(f, body=_without_half_functions(f.body)) for f in program.functions),
    )


# halves as rounded floats -------------------------------------------------------------------------------------------


def _is_half(kind: Any) -> bool:
    return isinstance(kind, Scalar) and kind.dtype is FLOAT16


def _type(kind: Any, node: Node | None) -> Any:
    if _is_half(kind):
        return _FLOAT
    if isinstance(kind, Pointer) and _is_half(kind.element):
        return replace(kind, element=_BITS)
    if isinstance(kind, Struct):
        return Struct(tuple(_type(k, node) for k in kind.items))
    if isinstance(kind, Vector) and kind.dtype is FLOAT16:
        raise MissingCapabilityError(
            "this device has no vectors of float16",
            span=None if node is None else node.span,
            hint="use float32 vectors; float16 numbers and arrays work",
        )
    return kind


def _name(name: str, kind: Any) -> str:
    """A variable that holds a half needs a name apart from a float of the same name."""
    return f"{name}.half" if _is_half(kind) else name


def _function(function: Function) -> Function:
    return replace(
        function,
        parameters=tuple(_parameter(p) for p in function.parameters),
        result=_type(function.result, None),
        body=_rewritten(function.body),
        locals=tuple(map(_array, function.locals)),
    )


def _parameter(parameter: Parameter) -> Parameter:
    return replace(parameter, name=_name(parameter.name, parameter.type), type=_type(parameter.type, None))


def _array(array: MemoryArray) -> MemoryArray:
    return replace(array, element=_BITS) if _is_half(array.element) else array


def _constant_array(array: ConstantArray) -> ConstantArray:
    if not _is_half(array.element):
        return array
    bits = np.array(array.data, np.float16).view(np.uint16)
    return replace(array, element=_BITS, data=tuple(bits.tolist()))


def _rewritten(value: Any) -> Any:
    """A node, or a tuple of them, in float32."""
    if isinstance(value, tuple):
        return tuple(_rewritten(item) for item in value)
    if not isinstance(value, Node):
        return value
    changes = {f.name: _rewritten(getattr(value, f.name)) for f in fields(value) if f.name != "span"}
    kind = getattr(value, "type", None)
    if kind is not None:
        changes["type"] = _type(kind, value)
    made = replace(value, **changes)
    if isinstance(value, Store) and isinstance(value.base.type, Pointer) and _is_half(value.base.type.element):
        return _stored(made)
    return _value(value, made) if _is_half(kind) else made


def _value(old: Any, made: Any) -> Any:
    """A number that was a half, as a float with a half's precision."""
    match old:
        case Var():
            return replace(made, name=_name(old.name, old.type))
        case Constant():
            with np.errstate(over="ignore"):
                return replace(made, value=float(np.float16(old.value)))
        case Load():
            return Operation("load_half", (_place(made.base, made.index),), _FLOAT, span=old.span)
        case Binary() | Cast():
            if isinstance(old, Cast) and _is_half(old.operand.type):
                return made
            return Operation("round_half", (made,), _FLOAT, span=old.span)
        case Operation() if not old.effect and not old.name.startswith("warp_"):
            return Operation("round_half", (made,), _FLOAT, span=old.span)
        case Member():
            return made
        case _:
            return made


def _place(base: Expr, index: Expr) -> Offset:
    assert isinstance(base.type, Pointer)
    return Offset(base, index, base.type, span=base.span)


def _stored(store: Any) -> Evaluate:
    args = (_place(store.base, store.index), store.value)
    return Evaluate(Operation("store_half", args, VOID, effect=True, span=store.span), span=store.span)


# functions of halves ------------------------------------------------------------------------------------------------


def _without_half_functions(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_without_half_functions(item) for item in value)
    if not isinstance(value, Node):
        return value
    parts = {f.name: _without_half_functions(getattr(value, f.name)) for f in fields(value) if f.name != "span"}
    made: Any = replace(value, **parts)
    if not isinstance(made, Operation) or not any(_is_half(n.type) for n in (made, *made.args)):
        return made
    args = tuple(Cast(a, _FLOAT, span=a.span) if _is_half(a.type) else a for a in made.args)
    if not _is_half(made.type):
        return replace(made, args=args)
    computed = replace(made, args=args, type=_FLOAT)
    if made.effect:  # stays at the top of its statement
        return computed
    return Cast(computed, _HALF, span=made.span)
