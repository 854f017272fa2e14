"""Memory coalescing: how far apart neighbouring threads read or write, as far as subscripts show it.

Threads whose `threadIdx.x` differ by one run side by side. What they access in global memory should lie side by side,
too (one transaction serves a warp), and in shared memory it should lie in different banks: 32 of 4 bytes each.
Only what is certain is reported: subscripts that are linear in `threadIdx.x`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from portagpu.dtypes import FLOAT64
from portagpu.ir.nodes import (
    Assign,
    Binary,
    BinaryOp,
    Cast,
    Constant,
    Expr,
    For,
    Index,
    Load,
    Negate,
    Operation,
    Store,
    Var,
)
from portagpu.ir.program import Finding, Function, ParameterRole, Program
from portagpu.ir.types import Pointer, Scalar, Space, Type, element_size
from portagpu.ir.walk import all_expressions, all_statements, expressions

_BANKS = 32
_BANK_BYTES = 4
_SECTOR_BYTES = 32  # what a GPU fetches at least
_WORTH_TELLING = 8  # ways of a bank conflict

Slot = tuple[str, Type]
# elements between what neighbouring threads access: a number, _FAR for a whole row or more, None for unknown
_FAR = math.inf
Distance = float | None


def findings(program: Program) -> tuple[Finding, ...]:
    """What can be said about a kernel before it runs; one finding for each line and kind."""
    found: dict[tuple[str, int], Finding] = {}
    for finding in (*_accesses(program.kernel), *_silent_double(program)):
        found.setdefault((finding.text.split(":")[0], finding.span.line), finding)
    return tuple(found.values())


def _accesses(kernel: Function) -> Iterator[Finding]:
    distances = _Distances(kernel)
    for statement in all_statements(kernel.body):
        accesses: list[Load | Store] = [statement] if isinstance(statement, Store) and not statement.packed else []
        for top in expressions(statement):
            accesses += [e for e in all_expressions(top) if isinstance(e, Load) and not e.packed]
        for access in accesses:
            pointer = access.base.type
            if not isinstance(access.base, Var) or not isinstance(pointer, Pointer):
                continue
            apart = distances.of(access.index)
            if apart is None or apart == 0:
                continue
            size, name = element_size(pointer.element), access.base.name.split(".")[0]
            if pointer.space is Space.GLOBAL and abs(apart) * size > _SECTOR_BYTES:
                how = "a row or more" if apart == _FAR else f"{abs(apart):.0f} elements"
                yield Finding(
                    text=f"uncoalesced access: threads that follow each other along x access elements of"
                    f" `{name}` that are {how} apart; let threadIdx.x select neighbouring elements",
                    span=access.span,
                    needs_width=8,
                )
            elif pointer.space is Space.SHARED and apart != _FAR:
                ways = _conflict(int(abs(apart)) * size, size)
                if ways >= _WORTH_TELLING:
                    yield Finding(
                        text=f"bank conflicts: {ways} threads of a warp access `{name}` in the same bank of"
                        " shared memory; make its last axis one element longer",
                        span=access.span,
                        needs_width=ways,
                    )


def _conflict(stride: int, size: int) -> int:
    """Threads of a warp that wait for each other at a stride in bytes."""
    if stride % _BANK_BYTES:
        return 1
    return math.gcd(stride // _BANK_BYTES, _BANKS) // max(1, size // _BANK_BYTES)


class _Distances:
    """How fast expressions of one function grow with `threadIdx.x`."""

    def __init__(self, function: Function) -> None:
        self._values: dict[Slot, list[Expr]] = {}
        self._known: dict[Slot, Distance] = {}
        self._far_strides: set[Slot] = set()
        self._near_strides: set[Slot] = set()
        last = {p.path: p.axis for p in function.parameters if p.role is ParameterRole.STRIDE}
        for p in function.parameters:
            if p.role is ParameterRole.STRIDE:
                (self._near_strides if p.axis == last[p.path] else self._far_strides).add((p.name, p.type))
            elif p.role is ParameterRole.SHAPE:
                self._far_strides.add((p.name, p.type))
        for statement in all_statements(function.body):
            if isinstance(statement, Assign):
                self._add(statement.target, statement.value)
            elif isinstance(statement, For):
                self._add(statement.counter, statement.start)

    def _add(self, target: Var, value: Expr) -> None:
        self._values.setdefault((target.name, target.type), []).append(value)

    def of(self, expr: Expr) -> Distance:
        """Growth for the next thread along x; None where it is not the same for all threads, or unknown."""
        match expr:
            case Constant():
                return 0
            case Var():
                return self._of_slot((expr.name, expr.type))
            case Operation(name="threadIdx" | "grid"):
                axis = expr.args[0]
                return (1 if axis.value == 0 else 0) if isinstance(axis, Constant) else None
            case Cast() | Index() | Negate():
                inner = self.of(expr.operand)
                return -inner if isinstance(expr, Negate) and inner is not None else inner
            case Binary(op=BinaryOp.ADD | BinaryOp.SUB):
                left, right = self.of(expr.left), self.of(expr.right)
                if left is None or right is None:
                    return None
                if _FAR in (abs(left), abs(right)):
                    return _FAR
                return left + right if expr.op is BinaryOp.ADD else left - right
            case Binary(op=BinaryOp.MUL):
                return self._product(expr.left, expr.right)
            case Load():
                return 0 if self.of(expr.index) == 0 else None
            case Binary() | Operation(effect=False):
                operands = (expr.left, expr.right) if isinstance(expr, Binary) else expr.args
                return 0 if all(self.of(e) == 0 for e in operands) else None
            case _:
                return None

    def _product(self, left: Expr, right: Expr) -> Distance:
        for factor, other in ((left, right), (right, left)):
            growth = self.of(factor)
            if self.of(other) != 0 or growth is None:
                continue
            if growth == 0 or growth == _FAR:
                return growth
            plain = other
            while isinstance(plain, Cast):
                plain = plain.operand
            if isinstance(plain, Constant):
                return growth * plain.value
            slot = (plain.name, plain.type) if isinstance(plain, Var) else None
            if slot in self._near_strides:
                return growth  # as a rule the elements of the last axis are neighbours
            return _FAR if slot in self._far_strides else None
        return None

    def _of_slot(self, slot: Slot) -> Distance:
        if slot not in self._values:
            return 0  # a parameter
        if slot not in self._known:
            self._known[slot] = None  # where it depends on itself
            found = {self.of(value) for value in self._values[slot]}
            self._known[slot] = found.pop() if len(found) == 1 else None
        return self._known[slot]


def _silent_double(program: Program) -> Iterator[Finding]:
    """Arithmetic in float64 where no argument has that type."""
    if any(_is_double(p.type) for p in program.kernel.parameters):
        return
    for function in (program.kernel, *program.functions):
        for statement in all_statements(function.body):
            for top in expressions(statement):
                for e in all_expressions(top):
                    if isinstance(e, Binary | Operation) and _is_double(e.type):
                        yield Finding(
                            text="float64 arithmetic: no argument is float64, and this device computes it far slower"
                            " than float32; divide integers as np.float32(a) / np.float32(b), and write np.float32(x)"
                            " around what should stay single",
                            span=e.span,
                            needs_width=1,
                            only_slow_double=True,
                        )
                        return


def _is_double(kind: Type) -> bool:
    element = kind.element if isinstance(kind, Pointer) else kind
    return isinstance(element, Scalar) and element.dtype is FLOAT64
