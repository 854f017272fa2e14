"""Loops in which a thread waits for another one, such as the taking of a lock.

CUDA lets the threads of a warp go on independently of each other. Where a compiler runs neighbouring threads in the
lanes of a vector instead, all of them stay in such a loop until the last has left it: one holds the lock and cannot
reach the end of its section, the others wait for that.
"""

from __future__ import annotations

from collections.abc import Iterator

from portagpu.ir.nodes import Assign, CallFunction, Expr, If, Operation, Return, Stmt, While
from portagpu.ir.program import Program
from portagpu.ir.uniform import Slot, jumps, slots_in
from portagpu.ir.walk import all_expressions, all_statements, expressions


def has_waiting_loop(program: Program) -> bool:
    """Whether a ``while`` loop anywhere ends by what an atomic operation tells. ``for`` loops end by themselves."""
    atomic: set[str] = set()  # functions with an atomic operation
    waiting = False
    for function in (*program.functions, program.kernel):
        statements = tuple(all_statements(function.body))
        waiting |= any(isinstance(s, While) and _waits(s, atomic) for s in statements)
        if any(_is_atomic(expr, atomic) for s in statements for expr in expressions(s)):
            atomic.add(function.name)
    return waiting


def _is_atomic(expr: Expr, atomic: set[str]) -> bool:
    """Whether an expression has an atomic operation, or a call of a function with one."""
    return any(
        (isinstance(part, Operation) and part.name.startswith("atomic_"))
        or (isinstance(part, CallFunction) and part.function in atomic)
        for part in all_expressions(expr)
    )


def _waits(loop: While, atomic: set[str]) -> bool:
    """Whether an atomic operation in the loop is among what its end is computed from."""
    return any(_is_atomic(value, atomic) for value in exit_values(loop))


def exit_values(loop: While) -> Iterator[Expr]:
    """What the loop's end is computed from: its conditions, and all that it assigns to variables in them."""
    deciding = [loop.condition, *_exit_conditions(loop.body)]
    values: dict[Slot, list[Expr]] = {}
    for statement in all_statements(loop.body):
        if isinstance(statement, Assign):
            values.setdefault((statement.target.name, statement.target.type), []).append(statement.value)
    seen: set[Slot] = set()
    while deciding:
        expr = deciding.pop()
        yield expr
        for slot in slots_in(expr) - seen:
            seen.add(slot)
            deciding += values.get(slot, ())


def _exit_conditions(body: tuple[Stmt, ...]) -> list[Expr]:
    """Conditions of the branches with breaks, returns and the like."""
    return [s.condition for s in all_statements(body) if isinstance(s, If) and _leaves(s)]


def _leaves(branch: If) -> bool:
    return jumps((branch,)) or any(isinstance(inner, Return) for inner in all_statements((branch,)))
