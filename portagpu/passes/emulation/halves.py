"""Pass: float16 computed in float32, where a device lacks half arithmetic or functions.

Where half is a format in memory only, every float16 value, or vector of them, becomes one of float32 that is rounded
after each operation; arrays keep their 16-bit elements. float32 is wide enough that rounding twice gives
the float16 result of ``+ - * /`` and of a square root.

Devices with half arithmetic but without functions of halves compute those in float32.
"""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np

from portagpu.device.capabilities import Capabilities
from portagpu.dtypes import FLOAT16, FLOAT32, FLOAT64, UINT16
from portagpu.ir.nodes import (
    Binary,
    Cast,
    Constant,
    Evaluate,
    Expr,
    Load,
    Node,
    Offset,
    Operation,
    Store,
    Var,
    VectorLoad,
    VectorStore,
)
from portagpu.ir.program import ConstantArray, Function, MemoryArray, Parameter, Program
from portagpu.ir.types import VOID, Element, Pointer, Scalar, Struct, Vector
from portagpu.ir.walk import all_expressions, all_statements, expressions

_FLOAT = Scalar(FLOAT32)
_HALF = Scalar(FLOAT16)


def without_halves(program: Program, caps: Capabilities) -> Program:
    """A program that uses float16 as the device can say it."""
    if caps.fp16_functions:
        return program
    if not caps.fp16 or needs_functions(program):
        return widen_halves(program)
    return widen_functions(program)


def widen_halves(program: Program) -> Program:
    """A program for devices without half arithmetic."""
    return replace(
        program,
        kernel=_function(program.kernel),
        functions=tuple(map(_function, program.functions)),
        shared=tuple(map(_array, program.shared)),
        constants=tuple(map(_constant_array, program.constants)),
        structs=tuple(_type(s) for s in program.structs),
    )


def needs_functions(program: Program) -> bool:
    """Whether what occurs cannot be said one by one in float32: vectors of float16, and reading bits as float16, or the
    other way."""
    arrays = (*program.shared, *(a for f in (program.kernel, *program.functions) for a in f.locals))
    if any(isinstance(a.element, Vector) and _is_half(a.element) for a in arrays):
        return True
    found = (
        expr
        for function in (program.kernel, *program.functions)
        for statement in all_statements(function.body)
        for top in expressions(statement)
        for expr in all_expressions(top)
    )
    return any((_is_half(e.type) and isinstance(e.type, Vector)) or _reads_bits(e) for e in found)


def _reads_bits(expr: Expr) -> bool:
    if not isinstance(expr, Operation) or expr.name != "as_type":
        return False
    return any(_is_half(e.type) for e in (expr, *expr.args))


def widen_functions(program: Program) -> Program:
    """A program for devices with half arithmetic, but without functions of halves."""
    return replace(
        program,
        kernel=replace(program.kernel, body=_without_half_functions(program.kernel.body)),
        functions=tuple(replace(f, body=_without_half_functions(f.body)) for f in program.functions),
    )


# halves as rounded floats -------------------------------------------------------------------------------------------


def _is_half(kind: Any) -> bool:
    return isinstance(kind, Scalar | Vector) and kind.dtype is FLOAT16


def _is_double(kind: Any) -> bool:
    """Whether a cast to float16 by way of float32 would round twice."""
    return isinstance(kind, Scalar | Vector) and kind.dtype is FLOAT64


def _bits(kind: Element) -> Element:
    """The type of the bits of a half, or of a vector of halves."""
    return replace(kind, dtype=UINT16)


def _type(kind: Any) -> Any:
    if _is_half(kind):
        return replace(kind, dtype=FLOAT32)
    if isinstance(kind, Pointer) and _is_half(kind.element):
        return replace(kind, element=_bits(kind.element))
    if isinstance(kind, Struct):
        return Struct(tuple(map(_type, kind.items)))
    return kind


def _name(name: str, kind: Any) -> str:
    """A variable that holds a half needs a name apart from a float of the same name."""
    return f"{name}.half" if _is_half(kind) else name


def _function(function: Function) -> Function:
    return replace(
        function,
        parameters=tuple(_parameter(p) for p in function.parameters),
        result=_type(function.result),
        body=_rewritten(function.body),
        locals=tuple(map(_array, function.locals)),
    )


def _parameter(parameter: Parameter) -> Parameter:
    return replace(parameter, name=_name(parameter.name, parameter.type), type=_type(parameter.type))


def _array(array: MemoryArray) -> MemoryArray:
    return replace(array, element=_bits(array.element)) if _is_half(array.element) else array


def _constant_array(array: ConstantArray) -> ConstantArray:
    if not _is_half(array.element):
        return array
    bits = np.array(array.data, np.float16).view(np.uint16)
    return replace(array, element=Scalar(UINT16), data=tuple(bits.tolist()))


def _rewritten(value: Any) -> Any:
    """A node, or a tuple of them, in float32."""
    if isinstance(value, tuple):
        return tuple(map(_rewritten, value))
    if not isinstance(value, Node):
        return value
    node: Any = type(value)
    kind = getattr(value, "type", None)
    changes = {}
    for name in _field_names(node):
        before = getattr(value, name)
        after = _type(before) if name == "type" else _rewritten(before)
        if after is not before and after != before:
            changes[name] = after
    made = replace(value, **changes) if changes else value
    if isinstance(value, VectorStore) and _is_half(value.value.type):
        return _stored(made, "store_half_aligned" if value.aligned else "store_half")
    if isinstance(value, Operation) and value.name == "as_type":
        return _reinterpreted(value, made)
    if isinstance(value, Store) and isinstance(value.base.type, Pointer) and _is_half(value.base.type.element):
        return _stored(made, "store_half_aligned" if isinstance(value.base.type.element, Vector) else "store_half")
    if isinstance(value, Store) and value.packed and _is_half(value.value.type):
        return _stored_bytes(made)
    return _value(value, made) if _is_half(kind) else made


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind) if f.name != "span")


def _value(old: Any, made: Any) -> Any:
    """A number that was a half, as a float with a half's precision."""
    match old:
        case Var():
            return replace(made, name=_name(old.name, old.type))
        case Constant():
            with np.errstate(over="ignore"):
                return replace(made, value=float(np.float16(old.value)))
        case Load() if old.packed:
            return Operation("half_value", (replace(made, type=_bits(old.type)),), made.type, span=old.span)
        case Load() | VectorLoad():
            aligned = isinstance(old.type, Vector) and (isinstance(old, Load) or old.aligned)
            name = "load_half_aligned" if aligned else "load_half"
            return Operation(name, (_place(made.base, made.index),), made.type, span=old.span)
        case Binary() | Cast():
            if isinstance(old, Cast) and _is_half(old.operand.type):
                return made
            rounded = made.operand if isinstance(old, Cast) and _is_double(old.operand.type) else made
            return Operation("round_half", (rounded,), made.type, span=old.span)
        case Operation() if not old.effect and not old.name.startswith("warp_"):
            return Operation("round_half", (made,), made.type, span=old.span)
        case _:
            return made


def _reinterpreted(old: Operation, made: Any) -> Any:
    """Bits read as another type: of a half there are bits only after they are asked for."""
    source, target = old.args[0].type, old.type
    assert isinstance(source, Scalar | Vector) and isinstance(target, Scalar | Vector)
    bits: Expr = made.args[0]
    if _is_half(source):
        bits = Operation("half_bits", (bits,), _bits(source), span=old.span)
    if not _is_half(target):
        return replace(made, args=(bits,))
    inner = Operation("as_type", (bits,), _bits(target), span=old.span)
    return Operation("half_value", (inner,), made.type, span=old.span)


def _place(base: Expr, index: Expr) -> Offset:
    assert isinstance(base.type, Pointer)
    return Offset(base, index, base.type, span=base.span)


def _stored(store: Any, name: str) -> Evaluate:
    args = (_place(store.base, store.index), store.value)
    return Evaluate(Operation(name, args, VOID, effect=True, span=store.span), span=store.span)


def _stored_bytes(store: Any) -> Store:
    """A half that begins at any byte: its bits are stored."""
    bits = Operation("half_bits", (store.value,), Scalar(UINT16), span=store.span)
    return Store(store.base, store.index, bits, True, span=store.span)


# functions of halves ------------------------------------------------------------------------------------------------


def _without_half_functions(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_without_half_functions(item) for item in value)
    if not isinstance(value, Node):
        return value
    parts = {f.name: _without_half_functions(getattr(value, f.name)) for f in fields(value) if f.name != "span"}
    made: Any = replace(value, **parts)
    if (
        not isinstance(made, Operation)
        or made.name == "as_type"
        or not any(_is_half(n.type) for n in (made, *made.args))
    ):
        return made
    args = tuple(Cast(a, _FLOAT, span=a.span) if _is_half(a.type) else a for a in made.args)
    if not _is_half(made.type):
        return replace(made, args=args)
    computed = replace(made, args=args, type=_FLOAT)
    if made.effect:  # stays at the top of its statement
        return computed
    return Cast(computed, _HALF, span=made.span)
