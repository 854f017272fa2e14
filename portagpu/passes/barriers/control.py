"""Loops around barriers: what decides how often they run."""

from __future__ import annotations

from portagpu.ir.analysis.uniform import BLOCK_VOTES, Marks, Slot, jumps, mentions, slots_in
from portagpu.ir.nodes import Assign, Expr, For, If, Operation, Stmt, While
from portagpu.ir.walk import all_statements, blocks, expressions


class Control:
    """Variables that decide how often the loops around barriers run, with what they are computed from.

    They matter as long as such a loop is ahead: a counter whose name is used again after the last of them does not.
    """

    def __init__(self, body: tuple[Stmt, ...], marks: Marks) -> None:
        self._statements = list(all_statements(body))
        self._place: dict[int, int] = {}  # of statements, by id: from where loops are ahead
        self._loops: list[tuple[int, For | While]] = []  # around barriers, and where they end
        self._slots: dict[int, set[Slot]] = {}  # by the number of loops that are over
        outermost = -1  # the end of the loop around a barrier that encloses what comes next
        start = 0
        for number, statement in enumerate(self._statements):
            if number > outermost:
                start = number
            if isinstance(statement, For | While) and marks.has_barrier(statement):
                end = number + sum(1 for _ in all_statements(statement.body))
                self._loops.append((end, statement))
                outermost = max(outermost, end)
            self._place.setdefault(id(statement), start)

    def ahead_of(self, statement: Stmt) -> set[Slot]:
        """The variables that steer loops which begin or go on after a statement."""
        place = self._place[id(statement)]
        over = sum(end < place for end, _ in self._loops)
        if over not in self._slots:
            self._slots[over] = self._steering([loop for end, loop in self._loops if end >= place])
        return self._slots[over]

    def _steering(self, loops: list[For | While]) -> set[Slot]:
        found: set[Slot] = set()
        for loop in loops:
            for expr in expressions(loop):
                found |= slots_in(expr)
            found |= _exits(loop.body)
        size = -1
        while size != len(found):
            size = len(found)
            for statement in self._statements:
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
