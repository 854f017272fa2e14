"""Ordering operations: barriers, fences, atomics, exchanges, which make other threads' writes visible.

C lets a compiler keep the value of a `restrict` pointer's element in a register for as long as the pointer lives, over
every fence: it may take for granted that nothing else writes there. One vendor's compiler does so over inline assembly
that clobbers memory. So a program in which threads learn of each other has no `restrict` on what it writes
(`communicates`), nor on what it only reads again and again until another one has written it (`polled`).
"""

from __future__ import annotations

from portagpu.ir.analysis.spin_loops import exit_values
from portagpu.ir.analysis.uniform import BARRIERS
from portagpu.ir.nodes import Expr, Instruction, Load, Operation, Stmt, Var, VectorLoad, While
from portagpu.ir.program import Function, Program
from portagpu.ir.types import Pointer
from portagpu.ir.walk import all_expressions, all_statements, assigned, expressions

_FENCES = frozenset({"threadfence", "threadfence_block", "threadfence_system", "nanosleep"})
_EXCHANGES = frozenset({"subgroup_broadcast", "subgroup_shuffle"})
_PREFIXES = ("atomic_", "cluster_", "warp_", "volatile_")
_SILENT = frozenset({"warp_active"})  # says who runs, and nothing of memory


def communicates(program: Program) -> bool:
    """Whether threads may learn of each other's writes while the program runs."""
    functions = (*program.functions, program.kernel)
    return any(_orders(statement) for f in functions for statement in all_statements(f.body))


def _orders(statement: Stmt) -> bool:
    if isinstance(statement, Instruction):
        return True  # copies and their waits, barriers of parts of a block; what computes only loses nothing by it
    return any(_is_ordering(expr) for top in expressions(statement) for expr in all_expressions(top))


def _is_ordering(expr: Expr) -> bool:
    if not isinstance(expr, Operation) or not expr.effect or expr.name in _SILENT:
        return False
    return expr.name in BARRIERS or expr.name in _FENCES or expr.name in _EXCHANGES or expr.name.startswith(_PREFIXES)


def polled(function: Function) -> frozenset[str]:
    """Pointer parameters of which a loop reads one and the same element until its value ends the loop."""
    pointers = {p.name for p in function.parameters if isinstance(p.type, Pointer)}
    found: set[str] = set()
    for loop in all_statements(function.body):
        if not isinstance(loop, While):
            continue
        changed = assigned(loop.body)
        for value in exit_values(loop):
            for expr in all_expressions(value):
                if isinstance(expr, Load | VectorLoad) and isinstance(expr.base, Var) and expr.base.name in pointers:
                    index = {(e.name, e.type) for e in all_expressions(expr.index) if isinstance(e, Var)}
                    if not index & changed:
                        found.add(expr.base.name)
    return frozenset(found)
