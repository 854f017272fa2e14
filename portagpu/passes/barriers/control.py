"""Loops around barriers: what decides how often they run."""

from __future__ import annotations

from portagpu.ir.analysis.uniform import BLOCK_VOTES, Marks, Slot, jumps, mentions, slots_in
from portagpu.ir.nodes import Assign, Expr, For, If, Operation, Stmt, While
from portagpu.ir.walk import all_statements, blocks, expressions


def control_slots(body: tuple[Stmt, ...], marks: Marks) -> set[Slot]:
    """Variables that decide how often the loops around barriers run, with what they are computed from."""
    found: set[Slot] = set()
    for statement in all_statements(body):
        if isinstance(statement, For | While) and marks.has_barrier(statement):
            for expr in expressions(statement):
                found |= slots_in(expr)
            found |= _exits(statement.body)
    size = -1
    while size != len(found):
        size = len(found)
        for statement in all_statements(body):
            # a vote's result is the block's: threads that have left vote neutrally, whatever they hold
            if isinstance(statement, Assign) and not _is_vote(statement.value):
                slot = (statement.target.name, statement.target.type)
                found |= slots_in(statement.value) if slot in found else set()
    return found


def unassigned_slots(body: tuple[Stmt, ...]) -> set[Slot]:
    """Variables that no assignment of a body sets, so that threads that have left know them as the others do."""
    assigned = {(s.target.name, s.target.type) for s in all_statements(body) if isinstance(s, Assign)}
    return set(mentions((body,))) - assigned


def _exits(body: tuple[Stmt, ...]) -> set[Slot]:
    """Variables in the conditions of the breaks of one loop."""
    found: set[Slot] = set()
    for statement in body:
        if isinstance(statement, If) and jumps((statement,)):
            found |= slots_in(statement.condition)
            for block in blocks(statement):
                found |= _exits(block)
    return found


def _is_vote(expr: Expr) -> bool:
    return isinstance(expr, Operation) and expr.name in BLOCK_VOTES
