"""What the printer must know about a function before it prints: facts found by walking the IR."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from portagpu.ir.analysis.indices import Slot, index_slots
from portagpu.ir.analysis.memory_order import polled
from portagpu.ir.analysis.ranges import Ranges
from portagpu.ir.nodes import (
    Assign,
    Binary,
    BinaryOp,
    Cast,
    Constant,
    Expr,
    For,
    If,
    Load,
    Offset,
    Operation,
    Select,
    Stmt,
    Store,
    Var,
    VectorLoad,
)
from portagpu.ir.program import Function, Program
from portagpu.ir.types import Pointer, Scalar, Space
from portagpu.ir.walk import all_expressions, all_statements, blocks, children, expressions


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Facts about one function."""

    function: Function
    split: frozenset[str]  # local arrays that become scalars
    indices: frozenset[Slot]  # integer variables made of indices, extents and small constants only
    used: frozenset[str]  # names that occur
    block_memory: bool  # whether shared memory or a local array is accessed by subscripts
    constant_pointers: frozenset[str]  # pointer parameters that are only read
    merged: frozenset[str]  # pointer parameters that share a variable with others: one of them, depending on the path
    polled: frozenset[str]  # pointer parameters that a loop reads until another thread has written there
    home: dict[Slot, int]  # block in which a variable is declared

    # few functions need them

    @cached_property
    def ranges(self) -> Ranges:
        """Of integers, as long as index arithmetic stays as small as promised."""
        return Ranges(self.function)

    @cached_property
    def exact(self) -> Ranges:
        """Of integers, whatever overflows."""
        return Ranges(self.function, wraps=True)


def analyse(function: Function) -> Facts:
    """Collect the facts of a function."""
    names: set[str] = set()
    for statement in all_statements(function.body):
        for top in expressions(statement):
            names.update(e.name for e in all_expressions(top) if isinstance(e, Var))
        if isinstance(statement, Assign):
            names.add(statement.target.name)
    split = _split(function)
    return Facts(
        function=function,
        split=split,
        indices=index_slots(function),
        used=frozenset(names),
        block_memory=_has_block_memory(function, split),
        constant_pointers=_read_only(function),
        merged=_merged(function),
        polled=polled(function),
        home=_homes(function),
    )


def cuts_wide_integers(program: Program) -> bool:
    """Whether the program converts 64-bit integers to fewer bits, or shifts them down to such."""
    return any(
        _is_wide(e.operand) and not _is_wide(e) and e.cuts and isinstance(e.type, Scalar) and e.type.dtype.is_integer
        if isinstance(e, Cast)
        else isinstance(e, Binary) and e.op is BinaryOp.SHR and _is_wide(e)
        for function in (program.kernel, *program.functions)
        for statement in all_statements(function.body)
        for top in expressions(statement)
        for e in all_expressions(top)
    )


def _is_wide(expr: Expr) -> bool:
    return isinstance(expr.type, Scalar) and expr.type.dtype.is_integer and expr.type.dtype.size == 8


# arrays that become scalars ----------------------------------------------------------------------------------------


def _split(function: Function) -> frozenset[str]:
    candidates = {a.name for a in function.locals}

    def visit(expr: Expr) -> None:
        if isinstance(expr, Load) and _is_splittable(expr):
            return
        if isinstance(expr, Var):
            candidates.discard(expr.name)
        for child in children(expr):
            visit(child)

    for statement in all_statements(function.body):
        if isinstance(statement, Store) and _is_splittable(statement):
            visit(statement.value)
            continue
        for top in expressions(statement):
            visit(top)
    return frozenset(candidates)


def _is_splittable(access: Load | Store) -> bool:
    return isinstance(access.base, Var) and isinstance(access.index, Constant) and not access.packed


def _has_block_memory(function: Function, split: frozenset[str]) -> bool:
    everything = (e for s in all_statements(function.body) for top in expressions(s) for e in all_expressions(top))
    return any(
        isinstance(e, Var)
        and isinstance(e.type, Pointer)
        and e.type.space in (Space.SHARED, Space.THREAD)
        and e.name not in split
        for e in everything
    )


# read-only pointers --------------------------------------------------------------------------------------------------


_READERS = frozenset({"prefetch", "load_half", "load_half_aligned"})


def _read_only(function: Function) -> frozenset[str]:
    pointers = {p.name for p in function.parameters if isinstance(p.type, Pointer)}
    written: set[str] = set()

    def visit(expr: Expr, reading: bool) -> None:
        if isinstance(expr, Var):
            if not reading:
                written.add(expr.name)
            return
        if isinstance(expr, Load | VectorLoad):
            visit(expr.base, True)
            visit(expr.index, False)
            return
        if isinstance(expr, Offset):
            visit(expr.base, reading)
            visit(expr.index, False)
            return
        if isinstance(expr, Operation) and (expr.name == "reinterpret" or expr.name in _READERS):
            visit(expr.args[0], reading or expr.name in _READERS)
            return
        for child in children(expr):
            visit(child, False)

    for statement in all_statements(function.body):
        for top in expressions(statement):
            visit(top, False)
    return frozenset(pointers - written)


def _merged(function: Function) -> frozenset[str]:
    """Pointer parameters from which a variable or a selection may come that may come from others too.

    What is stored through such a variable is taken to be elsewhere by one GPU compiler, if the parameter is restrict.
    """
    found: set[str] = set()
    values: dict[Slot, list[Expr]] = {}
    for statement in all_statements(function.body):
        if isinstance(statement, Assign) and isinstance(statement.target.type, Pointer):
            values.setdefault((statement.target.name, statement.target.type), []).append(statement.value)
        for top in expressions(statement):
            for expr in all_expressions(top):
                if isinstance(expr, Select) and isinstance(expr.type, Pointer):
                    found |= {e.name for e in all_expressions(expr) if isinstance(e, Var)}
    for several in values.values():
        if len(several) > 1:
            found |= {e.name for value in several for e in all_expressions(value) if isinstance(e, Var)}
    return frozenset(found & {p.name for p in function.parameters if isinstance(p.type, Pointer)})


# declarations --------------------------------------------------------------------------------------------------------


def _homes(function: Function) -> dict[Slot, int]:
    """For each variable the innermost block (by the id of its tuple) that holds all its uses."""
    paths: dict[Slot, tuple[int, ...]] = {}

    def note(slot: Slot, path: tuple[int, ...]) -> None:
        known = paths.get(slot)
        if known is None:
            paths[slot] = path
            return
        common = 0
        for a, b in zip(known, path, strict=False):
            if a != b:
                break
            common += 1
        paths[slot] = known[:common]

    def visit(body: tuple[Stmt, ...], here: tuple[int, ...], counters: frozenset[Slot]) -> None:
        for statement in body:
            inner = counters
            for top in expressions(statement):
                for expr in all_expressions(top):
                    if isinstance(expr, Var) and (expr.name, expr.type) not in counters:
                        note((expr.name, expr.type), here)
            if isinstance(statement, Assign):
                note((statement.target.name, statement.target.type), here)
            if isinstance(statement, For):
                inner = counters | {(statement.counter.name, statement.counter.type)}
            for block in blocks(statement):
                visit(block, here if _is_else_if(statement, block) else (*here, id(block)), inner)

    visit(function.body, (id(function.body),), frozenset())
    return {slot: path[-1] for slot, path in paths.items()}


def _is_else_if(statement: Stmt, block: tuple[Stmt, ...]) -> bool:
    """Whether a block may be printed as ``else if``, where nothing can be declared."""
    return isinstance(statement, If) and block is statement.orelse and len(block) == 1 and isinstance(block[0], If)
