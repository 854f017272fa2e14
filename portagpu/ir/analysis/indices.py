"""Index arithmetic: integers made of thread ids, extents, Python integers and small constants only.

docs/dialect.md promises that their arithmetic does not overflow; all other integers wrap around as in NumPy.
"""

from __future__ import annotations

from portagpu.ir.nodes import Assign, Binary, Cast, Constant, Expr, For, Index, Negate, Operation, Select, Var
from portagpu.ir.program import Function, ParameterRole
from portagpu.ir.types import Scalar, Type
from portagpu.ir.walk import all_statements

Slot = tuple[str, Type]

_INDEX_FUNCTIONS = frozenset({"threadIdx", "blockIdx", "blockDim", "gridDim", "grid", "gridsize", "laneid"})
_INDEX_ARITHMETIC = frozenset({"floordiv", "mod", "min", "max", "iabs", "slice_bound", "slice_length"})
_SMALL = 2**16  # constants above belong to hashes and random numbers, not to indices


def is_index(expr: Expr, slots: frozenset[Slot] | set[Slot]) -> bool:
    """Whether an integer is computed from indices, extents, Python integers and small constants.

    Their arithmetic is plain C: dialect.md promises it below 2^30. Everything else wraps as in NumPy.
    """
    kind = expr.type
    if isinstance(kind, Scalar) and kind.weak:
        return True
    match expr:
        case Constant():
            return abs(expr.value) < _SMALL
        case Var():
            return (expr.name, expr.type) in slots
        case Binary():
            return is_index(expr.left, slots) and is_index(expr.right, slots)
        case Cast() | Negate():
            inner = expr.operand.type
            return isinstance(inner, Scalar) and not inner.dtype.is_float and is_index(expr.operand, slots)
        case Select():
            return is_index(expr.yes, slots) and is_index(expr.no, slots)
        case Index():
            return True
        case Operation():
            if expr.name in _INDEX_FUNCTIONS:
                return True
            return expr.name in _INDEX_ARITHMETIC and all(is_index(a, slots) for a in expr.args)
        case _:
            return False


def index_slots(function: Function) -> frozenset[Slot]:
    """Variables that are indices: all integers are taken for it, then those with a counterexample removed."""
    assigned: dict[Slot, list[Expr]] = {}
    for statement in all_statements(function.body):
        if isinstance(statement, Assign):
            assigned.setdefault((statement.target.name, statement.target.type), []).append(statement.value)
        elif isinstance(statement, For):
            slot = (statement.counter.name, statement.counter.type)
            assigned.setdefault(slot, []).extend((statement.start, statement.stop, statement.step))
    extents = {
        (p.name, p.type)
        for p in function.parameters
        if p.role in (ParameterRole.SHAPE, ParameterRole.STRIDE, ParameterRole.OFFSET)
    }
    slots = {s for s in assigned if isinstance(s[1], Scalar) and s[1].dtype.is_integer}
    slots -= {(p.name, p.type) for p in function.parameters}
    changed = True
    while changed:
        known = slots | extents
        bad = {s for s in slots if not all(is_index(v, known) for v in assigned[s])}
        changed = bool(bad)
        slots -= bad
    return frozenset(slots | extents)
