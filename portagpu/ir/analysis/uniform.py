"""Uniform values: the same in all threads of a block, by a fixed point over variables.

"Divergent" here means "not proven uniform". A variable is divergent when a divergent value is assigned to it, or when
which value it gets depends on a divergent condition.
"""

from __future__ import annotations

from types import UnionType

from portagpu.ir.nodes import (
    Assign,
    Break,
    CallFunction,
    Cast,
    Continue,
    Evaluate,
    Expr,
    For,
    If,
    Load,
    Operation,
    Return,
    Stmt,
    Var,
    VectorLoad,
    While,
)
from portagpu.ir.operations import PER_THREAD
from portagpu.ir.program import Function, ParameterRole, Program
from portagpu.ir.types import Pointer, Space, Type
from portagpu.ir.walk import all_expressions, all_statements, blocks, children, expressions, own_calls

Slot = tuple[str, Type]
BLOCK_VOTES = frozenset({"syncthreads_count", "syncthreads_and", "syncthreads_or"})
# warp operations as programs mean them, each at the top of a statement
WARP_OPERATIONS = frozenset(
    {
        *("warp_shfl", "warp_all", "warp_any", "warp_eq", "warp_ballot", "warp_match_any", "warp_match_all"),
        *("warp_active", "warp_sync"),
    }
)
# warp operations where threads do not run in lockstep (`portagpu.passes.emulation.emulated_warps`): barriers of the
# whole block, whose last argument says which threads take part in the exchange
EXCHANGES = frozenset({"warp_shuffle", "warp_ballots", "warp_match"})
BARRIERS = BLOCK_VOTES | EXCHANGES | {"syncthreads", "warp_barrier", "grid_sync", "cluster_sync", "cluster_wait"}


class Uniformity:
    """Uniform values of one function; ``arguments`` says whether its scalar parameters are uniform.

    ``divergent``: names of the parameters that are not, where callers are known. ``control``: whether variables that
    some threads alone set are divergent, whatever they are set to. Without it data alone decides, as compilers may see
    it: what a function makes of uniform values is uniform, too.
    """

    def __init__(
        self, function: Function, *, arguments: bool, divergent: frozenset[str] | None = None, control: bool = True
    ) -> None:
        self._divergent: set[Slot] = set()
        self._control = control
        if divergent is not None:
            self._divergent |= {(p.name, p.type) for p in function.parameters if p.name in divergent}
        elif not arguments:
            self._divergent |= {
                (p.name, p.type)
                for p in function.parameters
                if not isinstance(p.type, Pointer) and p.role is not ParameterRole.SHARED
            }
        count = -1
        while count != len(self._divergent):
            count = len(self._divergent)
            self._visit(function.body, False)

    def is_uniform(self, expr: Expr) -> bool:
        """Whether all threads of a block certainly get one value.

        Memory that is read at one place is taken to hold still while the block reads it.
        """
        if isinstance(expr, Var):
            return (expr.name, expr.type) not in self._divergent
        if isinstance(expr, CallFunction) and self._control:
            return False
        if isinstance(expr, Operation) and (expr.name in PER_THREAD or (expr.effect and expr.name not in BLOCK_VOTES)):
            return False
        if isinstance(expr, Load | VectorLoad):
            base = expr.base.type
            if isinstance(base, Pointer) and base.space is Space.THREAD:
                return False
        if isinstance(expr, Operation) and expr.name in BLOCK_VOTES:
            return True
        return all(self.is_uniform(child) for child in children(expr))

    def _visit(self, body: tuple[Stmt, ...], divergent: bool) -> None:
        for statement in body:
            inner = divergent
            match statement:
                case Assign():
                    if divergent or not self.is_uniform(statement.value):
                        self._divergent.add((statement.target.name, statement.target.type))
                case If():
                    inner = divergent or not self.is_uniform(statement.condition)
                case For():
                    bounds = (statement.start, statement.stop, statement.step)
                    apart = not all(map(self.is_uniform, bounds))
                    inner = divergent or apart or self.leaves_apart(statement)
                    if apart or (inner and self._control):
                        self._divergent.add((statement.counter.name, statement.counter.type))
                case While():
                    condition = self.is_uniform(statement.condition)
                    inner = divergent or not condition or self.leaves_apart(statement)
                case _:
                    pass
            for block in blocks(statement):
                self._visit(block, inner and self._control)

    def runs_apart(self, statement: If | For | While) -> bool:
        """Whether only some threads may run a part of a statement, or some more often."""
        if not all(map(self.is_uniform, expressions(statement))):
            return True
        return not isinstance(statement, If) and self.leaves_apart(statement, Break)

    def leaves_apart(self, loop: For | While, jump: type[Break] | UnionType = Break | Continue) -> bool:
        """Whether threads leave the loop, or one of its iterations, apart by a jump."""

        def visit(body: tuple[Stmt, ...], divergent: bool, depth: int) -> bool:
            for statement in body:
                if isinstance(statement, jump) and divergent and depth == 0:
                    return True
                inner = divergent
                if isinstance(statement, If):
                    inner = divergent or not self.is_uniform(statement.condition)
                nested = depth + isinstance(statement, For | While)
                if any(visit(block, inner, nested) for block in blocks(statement)):
                    return True
            return False

        return visit(loop.body, False, 0)


class Marks:
    """Which statements of a function hold a barrier or a return, found in one walk.

    The frontend puts every barrier, and every call of a function with barriers, at the top of a statement; later passes
    put conversions around them.
    """

    def __init__(self, body: tuple[Stmt, ...], callees: frozenset[str]) -> None:
        self._callees = callees
        self._barriers: set[int] = set()
        self._returns: set[int] = set()
        self.barrier, self.leaves = self._walk(body)

    def _walk(self, body: tuple[Stmt, ...]) -> tuple[bool, bool]:
        barrier = leaves = False
        for statement in body:
            waits, returns = is_barrier(statement, self._callees), isinstance(statement, Return)
            for block in blocks(statement):
                inner = self._walk(block)
                waits, returns = waits or inner[0], returns or inner[1]
            if waits:
                self._barriers.add(id(statement))
            if returns:
                self._returns.add(id(statement))
            barrier, leaves = barrier or waits, leaves or returns
        return barrier, leaves

    def has_barrier(self, *statements: Stmt) -> bool:
        """Whether a barrier stands anywhere in the statements."""
        return any(id(s) in self._barriers for s in statements)

    def has_return(self, *statements: Stmt) -> bool:
        """Whether the function is left anywhere in the statements."""
        return any(id(s) in self._returns for s in statements)


def callees_with_barriers(program: Program) -> frozenset[str]:
    """The functions of a program that hold a barrier, or call one that does."""
    callees: frozenset[str] = frozenset()
    for function in program.functions:  # callees come first
        if Marks(function.body, callees).barrier:
            callees |= {function.name}
    return callees


def is_barrier(statement: Stmt, callees: frozenset[str]) -> bool:
    """Whether a statement is itself a barrier of the block, or calls a function that holds one."""
    value = _computed(statement)
    if isinstance(value, Operation) and value.name in BARRIERS:
        return True
    # passes that narrow or round results leave calls inside of other expressions
    return value is not None and bool(callees) and any(call.function in callees for call in own_calls(statement))


def may_wait(body: tuple[Stmt, ...], callees: frozenset[str]) -> bool:
    """Whether threads wait for each other in the statements on some device; ``callees`` are functions that may."""
    return Marks(body, callees).barrier or any(_is_warp_operation(s) for s in all_statements(body))


def _is_warp_operation(statement: Stmt) -> bool:
    value = _computed(statement)
    return isinstance(value, Operation) and value.name in WARP_OPERATIONS


def _computed(statement: Stmt) -> Expr | None:
    """The value of a statement, without the conversions to the bits of it that are used."""
    value = statement.value if isinstance(statement, Evaluate | Assign) else None
    while isinstance(value, Cast):
        value = value.operand
    return value


def slots_in(expr: Expr) -> set[Slot]:
    """Variables that an expression reads."""
    return {(e.name, e.type) for e in all_expressions(expr) if isinstance(e, Var)}


def is_pure(expr: Expr) -> bool:
    """Whether a thread that has left may evaluate it, too: no call, no effect, no memory but the block's own."""
    if isinstance(expr, CallFunction) or (isinstance(expr, Operation) and expr.effect):
        return False
    if isinstance(expr, Load | VectorLoad):
        base = expr.base.type
        if not isinstance(base, Pointer) or base.space not in (Space.SHARED, Space.CONSTANT):
            return False
    return all(is_pure(child) for child in children(expr))


def jumps(body: tuple[Stmt, ...]) -> bool:
    """Whether a break or continue in here belongs to a loop outside."""
    for statement in body:
        if isinstance(statement, Break | Continue):
            return True
        if isinstance(statement, If) and any(jumps(part) for part in blocks(statement)):
            return True
    return False


def leaves(statement: Stmt) -> bool:
    """Whether threads may leave a function or an iteration in a statement, so that only some go on behind it."""
    return any(isinstance(s, Return | Break | Continue) for s in all_statements((statement,)))


def mentions(parts: tuple[tuple[Stmt, ...], ...]) -> dict[Slot, int]:
    """How often the statements name each variable."""
    found: dict[Slot, int] = {}
    for part in parts:
        for statement in all_statements(part):
            slots = [s for expr in expressions(statement) for s in slots_in(expr)]
            if isinstance(statement, Assign):
                slots.append((statement.target.name, statement.target.type))
            for slot in slots:
                found[slot] = found.get(slot, 0) + 1
    return found
