"""Liveness: variables whose value some later statement may read before it is set again.

Two loops that count with one variable, as ``step`` in two reductions, do not know of each other: nothing of the first
one's is live between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from portagpu.ir.analysis.uniform import Slot, slots_in
from portagpu.ir.nodes import Assign, Break, Continue, Expr, For, If, Return, Stmt, While
from portagpu.ir.walk import expressions

_Slots = frozenset[Slot]
_NONE: _Slots = frozenset()


class Liveness:
    """Live variables after each statement of a function's body."""

    def __init__(self, body: tuple[Stmt, ...]) -> None:
        self._after: dict[int, _Slots] = {}  # by the statement's id
        self._block(body, _NONE, _NONE, _NONE)

    def after(self, statement: Stmt) -> Set[Slot]:
        """The variables that are live after a statement."""
        return self._after[id(statement)]

    def _block(self, body: tuple[Stmt, ...], live: _Slots, at_break: _Slots, at_continue: _Slots) -> _Slots:
        """The variables live before a block, after which ``live`` are; jumps lead to where the others are live."""
        for statement in reversed(body):
            self._after[id(statement)] = self._after.get(id(statement), _NONE) | live
            live = self._before(statement, live, at_break, at_continue)
        return live

    def _before(self, statement: Stmt, live: _Slots, at_break: _Slots, at_continue: _Slots) -> _Slots:
        read = _read(expressions(statement))
        match statement:
            case Assign():
                return (live - {(statement.target.name, statement.target.type)}) | read
            case If():
                then = self._block(statement.then, live, at_break, at_continue)
                return read | then | self._block(statement.orelse, live, at_break, at_continue)
            case While():
                return self._loop(statement.body, live, read)
            case For():
                counter = {(statement.counter.name, statement.counter.type)}
                head = self._loop(statement.body, live, read | counter)
                return (head - counter) | _read((statement.start, statement.stop, statement.step))
            case Break():
                return at_break
            case Continue():
                return at_continue
            case Return():
                return read
            case _:
                return live | read

    def _loop(self, body: tuple[Stmt, ...], live: _Slots, read: _Slots) -> _Slots:
        """The variables live before each turn of a loop, which reads ``read`` to decide whether there is one."""
        head = live | read
        while True:
            before = head | self._block(body, head, live, head)
            if before == head:
                return head
            head = before


def _read(values: Iterable[Expr]) -> _Slots:
    return frozenset(slot for value in values for slot in slots_in(value))
