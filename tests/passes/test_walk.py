"""Traversals of the IR know every kind of expression, and all that is inside it."""

from __future__ import annotations

from dataclasses import fields
from typing import get_args

import pytest

from portagpu.ir import walk
from portagpu.ir.nodes import Constant, Expr
from portagpu.ir.types import INT
from portagpu.source import Span

SPAN = Span(filename="file.py", line=1, column=0, end_column=1, text="x")


@pytest.mark.parametrize("kind", get_args(Expr))
def test_children_are_the_expressions_inside(kind):
    made, inside = object.__new__(kind), []
    for number, field in enumerate(fields(kind)):
        part = Constant(number, INT, span=SPAN)
        several = field.type == "tuple[Expr, ...]"
        object.__setattr__(made, field.name, (part, part) if several else part)
        if several or field.type == "Expr":
            inside += [part, part] if several else [part]
    assert walk.children(made) == tuple(inside)
    assert list(walk.all_expressions(made)) == [made, *inside]
