"""Spin loops: loops in which a thread waits for another one, such as the taking of a lock.

CUDA lets the threads of a warp go on independently of each other. Where a compiler runs neighbouring threads in the
lanes of a vector instead, all of them stay in such a loop until the last has left it: one holds the lock and cannot
reach the end of its section, the others wait for that.
"""

from __future__ import annotations

from collections.abc import Iterator

from portagpu.ir.analysis.uniform import Slot, jumps, slots_in
from portagpu.ir.nodes import Assign, CallFunction, Expr, If, Operation, Return, Stmt, While
from portagpu.ir.program import Program
from portagpu.ir.walk import all_expressions, all_statements, expressions


def waiting_loop(program: Program, *, steered: bool = False) -> While | None:
    """The last ``while`` loop that ends by what an atomic operation tells, if any. ``for`` loops end by themselves.

    ``steered``: also where atomic operations decide in branches whether the loop comes nearer to its end.
    """
    atomic: set[str] = set()  # functions with an atomic operation
    waiting: While | None = None
    for function in (*program.functions, program.kernel):
        statements = tuple(all_statements(function.body))
        waiting = next((s for s in statements if isinstance(s, While) and _waits(s, atomic, steered)), waiting)
        if any(_is_atomic(expr, atomic) for s in statements for expr in expressions(s)):
            atomic.add(function.name)
    return waiting


def _is_atomic(expr: Expr, atomic: set[str]) -> bool:
    """Whether an expression has an atomic operation, or a call of a function with one."""
    return any(
        (isinstance(part, Operation) and part.name.startswith(("atomic_", "volatile_")))
        or (isinstance(part, CallFunction) and part.function in atomic)
        for part in all_expressions(expr)
    )


def _waits(loop: While, atomic: set[str], steered: bool) -> bool:
    """Whether an atomic operation in the loop is among what its end is computed from."""
    return any(_is_atomic(value, atomic) for value in exit_values(loop, steered=steered))


def exit_values(loop: While, *, steered: bool = False) -> Iterator[Expr]:
    """What the loop's end is computed from: its conditions, and all that it assigns to variables in them.

    ``steered``: and the conditions under which it assigns to them.
    """
    deciding = [loop.condition, *_exit_conditions(loop.body)]
    values: dict[Slot, list[Expr]] = {}
    for statement in all_statements(loop.body):
        if isinstance(statement, Assign):
            values.setdefault((statement.target.name, statement.target.type), []).append(statement.value)
        elif isinstance(statement, If) and steered:
            for inner in all_statements((*statement.then, *statement.orelse)):
                if isinstance(inner, Assign):
                    values.setdefault((inner.target.name, inner.target.type), []).append(statement.condition)
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
