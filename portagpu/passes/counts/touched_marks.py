"""Pass: each access of global memory leaves marks of the bytes that it reads or writes.

There are two marks, of reads and of writes, for each granule of a kernel's arrays: as many bytes as the smallest access
has. It is no pass of every kernel, but the last one where a launch is to be counted. An address is looked up among the
arrays, whose bounds come in a table; one that is in none of them is noted, and the count is none.

    y[i] = x[i]     y[touch(y, i, WRITE)] = x[touch(x, i, READ)]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from portagpu.dtypes import UINT8, UINT32
from portagpu.errors import UncountedWorkError
from portagpu.ir.names import own
from portagpu.ir.nodes import (
    Assign,
    Binary,
    BinaryOp,
    CallFunction,
    Cast,
    Compare,
    CompareOp,
    Constant,
    Expr,
    For,
    If,
    Instruction,
    Load,
    Offset,
    Operation,
    Return,
    Select,
    Stmt,
    Store,
    Var,
    VectorLoad,
    VectorStore,
)
from portagpu.ir.program import Function, Parameter, ParameterRole, Program
from portagpu.ir.types import INT, LONG, ULONG, Pointer, Scalar, Space, Type, Vector, element_size
from portagpu.ir.walk import all_expressions, all_statements, expressions, has_effect, rebuilt
from portagpu.passes.counts.work_counters import ADD_WORK, MARKS, TABLE, totals_parameter
from portagpu.passes.rewriting import functions_of, handed_down, replaced
from portagpu.source import Span

READ, WRITE = 1, 2
_NOWHERE = 2**64 - 1
_TOUCH = own("touch")
_TABLE = Parameter(name=own("touch_table"), type=Pointer(ULONG, Space.GLOBAL), role=ParameterRole.COUNTS, axis=TABLE)
_MARKS = Parameter(
    name=own("touch_marks"), type=Pointer(Scalar(UINT8), Space.GLOBAL), role=ParameterRole.COUNTS, axis=MARKS
)
_HALF = 2  # bytes
_READERS = frozenset({"load_half", "load_half_aligned", "volatile_load", "subgroup_block_read"})
_WRITERS = frozenset({"store_half", "store_half_aligned", "volatile_store", "subgroup_block_write"})


@dataclass(frozen=True, slots=True)
class _Access:
    """One access: how many bytes from where on, and which marks it leaves."""

    pointer: Expr
    index: Expr | None
    unit: int  # bytes of what the index counts
    size: int
    marks: int
    packed: bool = False


def touched_marks(program: Program) -> Program:
    """The program that marks what it touches. Raises `UncountedWorkError` where it cannot."""
    accesses = [a for f in functions_of(program) if f.name != ADD_WORK for a in _accesses(f)]
    granule = min((1 if a.packed else _grain(a.pointer.type) for a in accesses), default=1)
    arrays = tuple(p for p in program.kernel.parameters if p.role is ParameterRole.POINTER)
    bases = tuple(Parameter(name=own(f"base{n}"), type=ULONG, role=ParameterRole.SCALAR) for n in range(len(arrays)))
    handed = (*bases, _TABLE, _MARKS, totals_parameter())
    marking = _Marking(handed)
    program = replace(
        program,
        kernel=marking.function(program.kernel),
        functions=tuple(f if f.name == ADD_WORK else marking.function(f) for f in program.functions),
    )
    shared = tuple(replace(p, role=ParameterRole.SHARED) for p in handed)
    program = handed_down(program, shared, _touches)
    span, kernel = program.kernel.span, program.kernel
    found = tuple(
        Assign(Var(b.name, ULONG, span=span), _address(Var(p.name, p.type, span=span)), span=span)
        for b, p in zip(bases, arrays, strict=True)
    )
    kernel = replace(kernel, body=(*found, *kernel.body), parameters=(*kernel.parameters, _TABLE, _MARKS))
    touch = _touch(shared, len(bases), granule, span)
    return replace(program, kernel=kernel, functions=(touch, *program.functions), granule=granule)


def _touches(function: Function) -> bool:
    return any(isinstance(e, CallFunction) and e.function == _TOUCH for e in _everything(function))


def _everything(function: Function) -> Iterator[Expr]:
    for statement in all_statements(function.body):
        for top in expressions(statement):
            yield from all_expressions(top)


def _address(pointer: Expr) -> Operation:
    return Operation("global_address", (pointer,), ULONG, effect=True, span=pointer.span)


def _is_global(kind: Type) -> bool:
    return isinstance(kind, Pointer) and kind.space is Space.GLOBAL


def _grain(kind: Type) -> int:
    """Bytes of one number of what a pointer points to."""
    assert isinstance(kind, Pointer)
    return kind.element.dtype.size


# accesses -----------------------------------------------------------------------------------------------------------


def _accesses(function: Function) -> Iterator[_Access]:
    nodes: list[Any] = [*_everything(function), *all_statements(function.body)]
    return (access for access in map(_access_of, nodes) if access is not None)


def _access_of(node: Expr | Stmt) -> _Access | None:
    """The access of global memory that a node makes itself."""
    match node:
        case Load() | Store():
            value = node.type if isinstance(node, Load) else node.value.type
            size, unit = _size(value), 1 if node.packed else _step(node.base)
            marks = READ if isinstance(node, Load) else WRITE
            found = _Access(node.base, node.index, unit, size, marks, node.packed)
        case VectorLoad() | VectorStore():
            kind = node.type if isinstance(node, VectorLoad) else node.value.type
            assert isinstance(kind, Vector)
            marks = READ if isinstance(node, VectorLoad) else WRITE
            found = _Access(node.base, node.index, _step(node.base), kind.lanes * kind.dtype.size, marks)
        case Operation():
            made = _operation(node)
            if made is None:
                return None
            found = made
        case _:
            return None
    return found if _is_global(found.pointer.type) else None


def _operation(node: Operation) -> _Access | None:
    name = node.name
    if name.startswith("atomic_"):
        return _Access(node.args[0], None, 0, _step(node.args[0]), READ | WRITE)
    if name in _READERS or name in _WRITERS:
        value = node.type if name in _READERS else node.args[1].type
        halves = value.lanes if isinstance(value, Vector) else 1
        size = _HALF * halves if "half" in name else _size(value)
        return _Access(node.args[0], None, 0, size, READ if name in _READERS else WRITE)
    if name.startswith("copy_"):
        return _Access(node.args[1], None, 0, int(name.removeprefix("copy_")), READ)
    return None


def _size(kind: Type) -> int:
    assert isinstance(kind, Scalar | Vector)
    return element_size(kind)


def _step(base: Expr) -> int:
    return element_size(base.type.element) if isinstance(base.type, Pointer) else 0


# rewriting ----------------------------------------------------------------------------------------------------------


class _Marking:
    def __init__(self, handed: tuple[Parameter, ...]) -> None:
        self._handed = handed

    def function(self, function: Function) -> Function:
        """The function whose accesses leave marks."""
        body = replaced(function.body, lambda statement: [self._statement(statement)], self._expression)
        return replace(function, body=body)

    def _expression(self, expr: Expr) -> Expr:
        access = _access_of(expr)
        expr = rebuilt(expr, self._expression)
        return expr if access is None else self._marked(expr, access)

    def _statement(self, statement: Stmt) -> Stmt:
        if isinstance(statement, Instruction) and statement.name == "async_copy_bytes":
            return self._copy(statement)
        access = _access_of(statement)
        return statement if access is None else self._marked(statement, access)

    def _marked(self, node: Any, access: _Access) -> Any:
        span = node.span
        size: Expr = Constant(access.size, ULONG, span=span)
        if isinstance(node, Operation):
            at = int(node.name.startswith("copy_"))
            if at and not isinstance(node.args[2], Constant):
                size = Select(node.args[2], size, Constant(0, ULONG, span=span), ULONG, span=span)
            args = list(node.args)
            args[at] = self._pointer(args[at], size, access.marks)
            return replace(node, args=tuple(args))
        index = self._call(node.base, node.index, access.unit, size, access.marks)
        return replace(node, index=Cast(index, node.index.type, True, span=span))

    def _pointer(self, pointer: Expr, size: Expr, marks: int) -> Expr:
        """A pointer behind which bytes are accessed."""
        nothing = Constant(0, INT, span=pointer.span)
        index = Cast(self._call(pointer, nothing, 1, size, marks), INT, True, span=pointer.span)
        assert isinstance(pointer.type, Pointer)
        return Offset(pointer, index, pointer.type, span=pointer.span)

    def _copy(self, statement: Instruction) -> Instruction:
        (size,), (to, source, *read) = statement.attributes, statement.operands
        if not isinstance(source, Operation) or source.name != "global_address":
            raise _unmarked("a copy is made from an address that is a number", statement)
        span = statement.span
        whole: Expr = Constant(int(str(size)), ULONG, span=span)
        count = Cast(read[0], ULONG, span=span) if read else whole
        source = replace(source, args=(self._pointer(source.args[0], count, READ),))
        return replace(statement, operands=(to, source, *read))

    def _call(self, base: Expr, index: Expr, unit: int, size: Expr, marks: int) -> CallFunction:
        """The index, after the marks of what is accessed there. The base is asked for its address once more."""
        base = _without_marks(base)
        if has_effect(base):
            raise _unmarked("a pointer comes from an expression with an effect", base)
        span = index.span
        handed = tuple(Var(p.name, p.type, span=span) for p in self._handed)
        args = (
            _address(base),
            Cast(index, LONG, span=span),
            Constant(unit, ULONG, span=span),
            size,
            Constant(marks, INT, span=span),
            *handed,
        )
        return CallFunction(_TOUCH, args, LONG, effect=True, span=span)


def _without_marks(expr: Expr) -> Expr:
    """An expression as it was before it left marks."""
    if isinstance(expr, Cast) and isinstance(expr.operand, CallFunction) and expr.operand.function == _TOUCH:
        index = expr.operand.args[1]
        assert isinstance(index, Cast)
        return _without_marks(index.operand)
    made: Expr = rebuilt(expr, _without_marks)
    return made


def _unmarked(what: str, at: Expr | Stmt) -> UncountedWorkError:
    return UncountedWorkError(
        f"the bytes that this kernel touches cannot be told: {what}",
        span=at.span,
        hint="subscript arrays instead of computing with addresses",
    )


# the function that leaves marks -------------------------------------------------------------------------------------


def _touch(handed: tuple[Parameter, ...], arrays: int, granule: int, span: Span) -> Function:
    """``touch(address, index, unit, size, marks, ...)``: the index, after marks for ``size`` bytes from there on.

    The table has how many marks there are of a kind; then for each array the bytes of its memory, and where this
    begins among the bytes of all arrays.
    """
    address, unit, size, start, place = (
        Var(name, ULONG, span=span) for name in ("address", "unit", "size", "start", "place")
    )
    index, marks, granules = Var("index", LONG, span=span), Var("marks", INT, span=span), Var("n", LONG, span=span)
    table, memory, totals = (Var(p.name, p.type, span=span) for p in handed[arrays:])

    def number(value: int, kind: Scalar = ULONG) -> Constant:
        return Constant(value, kind, span=span)

    def binary(op: BinaryOp, left: Expr, right: Expr, kind: Scalar = ULONG) -> Binary:
        return Binary(op, left, right, kind, span=span)

    def entry(n: int) -> Load:
        return Load(table, number(n, INT), ULONG, span=span)

    def compared(op: CompareOp, left: Expr, right: Expr) -> Compare:
        return Compare(op, left, right, span=span)

    def marked(mark: int, shift: Expr) -> If:
        asked = compared(CompareOp.NE, binary(BinaryOp.AND, marks, number(mark, INT), INT), number(0, INT))
        where = binary(BinaryOp.ADD, granules, Cast(shift, LONG, span=span), LONG)
        return If(asked, (Store(memory, where, number(1, Scalar(UINT8)), span=span),), (), span=span)

    def in_granules(byte: Expr) -> Cast:
        return Cast(binary(BinaryOp.DIV, byte, number(granule)), LONG, span=span)

    moved = binary(BinaryOp.ADD, address, binary(BinaryOp.MUL, Cast(index, ULONG, span=span), unit))
    search: list[Stmt] = [Assign(address, moved, span=span), Assign(place, number(_NOWHERE), span=span)]
    for n in range(arrays):
        base = Var(handed[n].name, ULONG, span=span)
        found = Assign(place, binary(BinaryOp.ADD, start, entry(2 + 2 * n)), span=span)
        search += [
            Assign(start, binary(BinaryOp.SUB, address, base), span=span),
            If(compared(CompareOp.LT, start, entry(1 + 2 * n)), (found,), (), span=span),
        ]
    end = binary(BinaryOp.ADD, binary(BinaryOp.ADD, place, size), number(granule - 1))
    both = (marked(READ, number(0)), marked(WRITE, entry(0)))
    loop = For(granules, in_granules(place), in_granules(end), number(1, LONG), False, both, span=span)
    unknown = Store(totals, number(0, INT), number(1, Scalar(UINT32)), span=span)
    known = compared(CompareOp.NE, place, number(_NOWHERE))
    some = compared(CompareOp.NE, size, number(0))
    body = (*search, If(known, (loop,), (unknown,), span=span))
    parameters = (address, index, unit, size, marks)
    return Function(
        name=_TOUCH,
        parameters=(*(Parameter(name=v.name, type=v.type, role=ParameterRole.SHARED) for v in parameters), *handed),
        result=LONG,
        body=(If(some, body, (), span=span), Return((index,), span=span)),
        locals=(),
        span=span,
        effect=True,
    )
