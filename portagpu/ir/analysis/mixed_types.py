"""Memory that a program reaches under several element types: views of one array, dynamic shared memory.

C lets a compiler take for granted that pointers to different types lead to different elements: a store through one
leaves what was read through the other. CUDA's programs, and NumPy's views, know no such rule.
"""

from __future__ import annotations

from collections.abc import Iterator

from portagpu.ir.nodes import Expr, Operation
from portagpu.ir.program import ParameterRole, Program
from portagpu.ir.types import BYTE, Element, Pointer, Scalar, Space
from portagpu.ir.walk import all_expressions, all_statements, expressions


def mixes_types(program: Program) -> bool:
    """Whether elements of one memory may be accessed under two types, neither of which is bytes.

    Arguments that overlap have no `restrict`. Fields of records and dynamic shared memory are views of bytes; those of
    one array of records do not overlap, or are accessed by bytes.
    """
    if program.retyped:
        return True
    overlapping = {
        p.type.element
        for p in program.kernel.parameters
        if isinstance(p.type, Pointer) and p.role is ParameterRole.POINTER and not p.type.restrict
    }
    accessed = set(filter(_is_typed, overlapping))
    shared: set[Element] = set()
    if program.dynamic_shared or BYTE in overlapping:
        for source, target in _views(program):
            if source.space is Space.SHARED:
                shared.add(target)
            elif BYTE in overlapping:
                accessed.add(target)
    return len(accessed) > 1 or (program.dynamic_shared and len(shared) > 1)


def _views(program: Program) -> Iterator[tuple[Pointer, Element]]:
    """Pointers that a program takes for pointers to scalars larger than a byte, and these scalars."""
    for function in (*program.functions, program.kernel):
        for statement in all_statements(function.body):
            for top in expressions(statement):
                for expr in all_expressions(top):
                    pair = _view(expr)
                    if pair is not None and _is_typed(pair[1]):
                        yield pair


def _view(expr: Expr) -> tuple[Pointer, Element] | None:
    if not isinstance(expr, Operation) or expr.name != "reinterpret" or not isinstance(expr.type, Pointer):
        return None
    source = expr.args[0].type
    return (source, expr.type.element) if isinstance(source, Pointer) else None


def _is_typed(element: Element) -> bool:
    """Whether C tells accesses to an element from those to others: bytes and vectors may be part of anything."""
    return isinstance(element, Scalar) and element.dtype.size > 1
