"""Definite assignment: reads of variables that some path leaves without a value.

In Python, reading one is an error; in C it is whatever the compiler put there (here: zero). The walk follows what was
lowered, so that branches which are decided at compile time count as decided.

Two questions are asked. A check at run time (`Unset.reads`) is wanted wherever no path is certain. A warning is wanted
only where no good reason can be seen why the variable has a value (`Read.doubtful`):

- loops are taken to run at least once, since nobody loops over what he knows to be empty;
- in a loop that sets a variable in each iteration, a read under a condition is taken to be one of a later iteration;
- a condition is taken to tell whether the variable is set, if the variable was set under the same condition, or next to
  another variable that the condition reads (``found = True; place = i``).
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, field

from portagpu.ir.names import is_own
from portagpu.ir.nodes import (
    Assign,
    Break,
    Cast,
    Compare,
    CompareOp,
    Constant,
    Continue,
    Expr,
    For,
    If,
    Logical,
    LogicalOp,
    Not,
    Return,
    Select,
    Stmt,
    Var,
    While,
)
from portagpu.ir.types import Type
from portagpu.ir.walk import all_expressions, all_statements, children, expressions

Slot = tuple[str, Type]


@dataclass(frozen=True, slots=True)
class Read:
    """A statement that reads a variable which may have no value; the read happens where all ``guards`` hold."""

    statement: Stmt
    variable: Var
    guards: tuple[Expr, ...]
    doubtful: bool  # nothing tells that the path without a value is never taken


@dataclass(frozen=True, slots=True)
class _State:
    """What is known at one place: variables that have a value on every path, and that have one if loops run."""

    certain: frozenset[Slot]
    likely: frozenset[Slot]

    def __and__(self, other: _State | None) -> _State:
        if other is None:
            return self
        return _State(self.certain & other.certain, self.likely & other.likely)


def root(name: str) -> str:
    """The name in the user's text of a variable, or of one of its parts; variables of our own keep theirs."""
    return name if is_own(name) else name.partition(".")[0]


def unset_reads(body: tuple[Stmt, ...], given: Iterable[Slot], stable: Set[str] = frozenset()) -> list[Read]:
    """Reads of variables that some path leaves without a value.

    ``given`` have one from the start. ``stable``: names of what never changes, such as local and shared arrays.
    """
    targets = {
        (s.target.name, s.target.type)
        for s in all_statements(body)
        if isinstance(s, Assign) and not is_own(s.target.name)
    }
    names = {root(name) for name, _ in targets}
    moved = {source for s in all_statements(body) if isinstance(s, Assign) and (source := copied(s)) is not None}
    # in another type, which no assignment gives it: what a loop found before its first iteration
    targets |= {source for source in moved if root(source[0]) in names and not is_own(source[0])}
    targets = {slot for slot in targets if slot[0] not in stable}
    walk = _Walk(targets - set(given))
    if walk.tracked:
        walk.run(body, _State(frozenset(), frozenset()), ())
    return walk.found


@dataclass(slots=True)
class _Loop:
    left: list[_State] = field(default_factory=list)  # where a break leaves it
    again: frozenset[str] = frozenset()  # names that it sets somewhere
    depth: int = 0  # conditions around the loop


class _Walk:
    def __init__(self, tracked: set[Slot]) -> None:
        self.tracked = tracked
        self.found: list[Read] = []
        self._loops: list[_Loop] = []
        self._reasons: dict[str, set[str]] = {}  # by name: texts of conditions and variables that tell of it
        self._texts: dict[int, tuple[Expr, str]] = {}  # by identity, which lasts as long as the expression is kept

    def run(self, body: tuple[Stmt, ...], state: _State | None, conditions: tuple[Expr, ...]) -> _State | None:
        """The state after a block, or None where nothing goes on after it."""
        set_here: set[str] = set()
        settled: tuple[Expr, ...] | None = None  # conditions under which all that is set here knows of each other
        for statement in body:
            if state is None:
                return None
            match statement:
                case Assign():
                    state = self._assign(statement, state, conditions)
                    name = root(statement.target.name)
                    # what is set side by side tells of each other, and so does what they are set under
                    if name not in set_here or settled is not conditions:
                        set_here.add(name)
                        new = {name} if settled is conditions else {*set_here, *map(self._text, conditions)}
                        settled = conditions
                        for other in set_here:
                            self._reasons.setdefault(other, set()).update(new)
                        self._reasons[name].update(set_here, map(self._text, conditions))
                case If():
                    self._read(statement, state, conditions)
                    before = {name: set(reasons) for name, reasons in self._reasons.items()}
                    then = self.run(statement.then, state, (*conditions, statement.condition))
                    no = Not(statement.condition, span=statement.span)
                    orelse = self.run(statement.orelse, state, (*conditions, no))
                    if then is None or orelse is None:  # what follows runs under the other condition
                        conditions = (*conditions, no) if then is None else (*conditions, statement.condition)
                    state = orelse if then is None else then & orelse
                    if then is not None and orelse is not None and state is not None:
                        # set in one branch, and told by its condition before: the `else` of a loop that was left
                        asked = {root(e.name) for e in all_expressions(statement.condition) if isinstance(e, Var)}
                        told = {s for s in then.likely ^ orelse.likely if asked & before.get(root(s[0]), set())}
                        state = _State(state.certain, state.likely | told)
                case For() | While():
                    state = self._loop(statement, state, conditions)
                case Break():
                    self._loops[-1].left.append(state)
                    return None
                case Continue():
                    return None
                case Return():
                    self._read(statement, state, conditions)
                    return None
                case _:
                    self._read(statement, state, conditions)
        return state

    def _assign(self, statement: Assign, state: _State, conditions: tuple[Expr, ...]) -> _State:
        slot = (statement.target.name, statement.target.type)
        source = copied(statement)
        if source is None or source not in self.tracked:
            self._read(statement, state, conditions)
        elif slot in self.tracked:  # the same variable in another type: it has a value if that one has
            certain = state.certain | {slot} if source in state.certain else state.certain - {slot}
            likely = state.likely | {slot} if source in state.likely else state.likely - {slot}
            return _State(certain, likely)
        if slot in self.tracked and slot not in state.certain:
            return _State(state.certain | {slot}, state.likely | {slot})
        return state

    def _loop(self, loop: For | While, state: _State, conditions: tuple[Expr, ...]) -> _State | None:
        if isinstance(loop, For):
            self._read(loop, state, conditions)
            slot = (loop.counter.name, loop.counter.type)
            inside = _State(state.certain | {slot}, state.likely | {slot})
        else:
            self._read(loop, state, conditions)
            inside = state
        names = frozenset(root(s.target.name) for s in all_statements(loop.body) if isinstance(s, Assign))
        self._loops.append(_Loop(again=names, depth=len(conditions)))
        end = self.run(loop.body, inside, conditions)
        left = self._loops.pop().left
        endless = isinstance(loop, While) and isinstance(loop.condition, Constant) and bool(loop.condition.value)
        after = None if endless else state
        for exit_state in left:
            after = exit_state & after
        if after is None:
            return None
        runs = [*left, *([] if end is None or endless else [end])]
        likely = after.likely
        if runs:
            likely = frozenset.intersection(*(s.likely for s in runs))
        certain = after.certain
        if isinstance(loop, For) and _runs(loop) and runs:
            certain = frozenset.intersection(*(s.certain for s in runs))
        return _State(certain, likely | certain)

    def _read(self, statement: Stmt, state: _State, conditions: tuple[Expr, ...]) -> None:
        seen: set[Slot] = set()
        for top in expressions(statement):
            for variable, guards in _reads(top, (), self.tracked):
                slot = (variable.name, variable.type)
                if slot in state.certain or slot in seen:
                    continue
                seen.add(slot)
                doubtful = slot not in state.likely and not self._is_implied(variable, (*conditions, *guards), guards)
                self.found.append(Read(statement, variable, guards, doubtful))

    def _is_implied(self, variable: Var, conditions: tuple[Expr, ...], guards: tuple[Expr, ...]) -> bool:
        """Whether a condition around the read may tell that the variable has a value."""
        name = root(variable.name)
        if any(name in loop.again and len(conditions) > loop.depth for loop in self._loops):
            return True
        reasons = self._reasons.get(name, set())
        return any(self._tells(condition, reasons, name) for condition in conditions)

    def _tells(self, condition: Expr, reasons: set[str], name: str) -> bool:
        """Whether a condition, or one that holds with it, is a reason; of alternatives, whether each of them is."""
        for part in _parts(condition):
            if self._text(part) in reasons:
                return True
            if any(isinstance(e, Var) and root(e.name) in reasons - {name} for e in all_expressions(part)):
                return True
            is_either = isinstance(part, Logical) and part.op is LogicalOp.OR
            if is_either and all(self._tells(side, reasons, name) for side in children(part)):
                return True
        return False

    def _text(self, expr: Expr) -> str:
        known = self._texts.get(id(expr))
        if known is None:
            known = self._texts[id(expr)] = expr, _text(expr)
        return known[1]


def _runs(loop: For) -> bool:
    """Whether a loop certainly has an iteration."""
    if not (isinstance(loop.start, Constant) and isinstance(loop.stop, Constant)):
        return False
    up = loop.descending is False
    return loop.start.value < loop.stop.value if up else bool(loop.descending) and loop.start.value > loop.stop.value


def copied(statement: Assign) -> Slot | None:
    """The variable of the user's that an assignment moves to another variable of the same name."""
    value = statement.value
    while isinstance(value, Cast):
        value = value.operand
    if isinstance(value, Var) and root(value.name) == root(statement.target.name):
        return value.name, value.type
    return None


def _reads(expr: Expr, guards: tuple[Expr, ...], tracked: set[Slot]) -> Iterable[tuple[Var, tuple[Expr, ...]]]:
    """Tracked variables that an expression reads, each with the conditions under which it is evaluated."""
    if isinstance(expr, Var):
        if (expr.name, expr.type) in tracked:
            yield expr, guards
        return
    if isinstance(expr, Select):
        yield from _reads(expr.condition, guards, tracked)
        yield from _reads(expr.yes, (*guards, expr.condition), tracked)
        yield from _reads(expr.no, (*guards, Not(expr.condition, span=expr.span)), tracked)
        return
    if isinstance(expr, Logical):
        yield from _reads(expr.left, guards, tracked)
        left = expr.left if expr.op is LogicalOp.AND else Not(expr.left, span=expr.span)
        yield from _reads(expr.right, (*guards, left), tracked)
        return
    for child in children(expr):
        yield from _reads(child, guards, tracked)


def _parts(condition: Expr) -> Iterable[Expr]:
    """A condition and those that hold where it does."""
    yield condition
    if isinstance(condition, Logical) and condition.op is LogicalOp.AND:
        yield from _parts(condition.left)
        yield from _parts(condition.right)
    if isinstance(condition, Not) and isinstance(condition.operand, Not):
        yield from _parts(condition.operand.operand)


_OPPOSITE = {
    CompareOp.LT: CompareOp.GE,
    CompareOp.GE: CompareOp.LT,
    CompareOp.GT: CompareOp.LE,
    CompareOp.LE: CompareOp.GT,
    CompareOp.EQ: CompareOp.NE,
    CompareOp.NE: CompareOp.EQ,
}


def _text(expr: Expr) -> str:
    """What two expressions share that say the same."""
    if isinstance(expr, Not) and isinstance(expr.operand, Compare):
        inner = expr.operand
        return _text(Compare(_OPPOSITE[inner.op], inner.left, inner.right, span=inner.span))
    parts = [type(expr).__name__]
    for name in ("name", "op", "value", "lane", "item", "function"):
        found = getattr(expr, name, None)
        if found is not None:
            parts.append(str(found))
    inside = ",".join(map(_text, children(expr)))
    return f"{'.'.join(parts)}({inside})"
