"""Lower halves: a variable of 64 bits that became one of 32 stores the same numbers."""

from __future__ import annotations

import itertools

import pytest
import shapes
from proof import SPAN, RefutedError, const, function_of, prove_bodies, var

from portagpu.ir import nodes as ir
from portagpu.ir.types import INT, LONG, PYINT, Pointer, Scalar, Space
from portagpu.passes.arithmetic import low_bits


def bodies(kind):
    """``v = ...; v = v op ...; a[0] = v`` for arrays of 8 to 32 bits."""
    v, x, small = var("v", kind), var("x", kind), shapes.cast(var("y", INT), kind, False)
    firsts = (x, small, const(-5, kind), const(2**40 + 3, kind))
    for first, other in itertools.product(firsts, (x, small, const(3, kind))):
        for second in shapes.one_operator(kind, v, other):
            if isinstance(second, ir.Operation) and second.name in ("floordiv", "mod"):
                continue
            for stored in (INT, *(shapes.INTEGERS[n] for n in (0, 6))):
                target = var("a", Pointer(stored, Space.GLOBAL))
                value = shapes.cast(v, stored, False)
                yield [
                    ir.Assign(v, first, span=SPAN),
                    ir.Assign(v, second, span=SPAN),
                    ir.Store(target, const(0, INT), value, span=SPAN),
                ]


def prove_shortened(body, kind):
    function = function_of(body, [("x", kind), ("y", INT)])
    after = low_bits.shortened(function)
    prove_bodies(function.body, after.body, promised=False)
    return after is not function


@pytest.mark.parametrize("kind", [LONG, PYINT], ids=["int64", "weak"])
def test_stored_halves(kind):
    assert sum(prove_shortened(body, kind) for body in itertools.islice(bodies(kind), 0, None, 3)) > 50


def test_a_shift_taken_for_one_of_halves_is_refuted(monkeypatch):
    monkeypatch.setattr(low_bits, "_MODULAR", frozenset(ir.BinaryOp))
    with pytest.raises(RefutedError):
        for body in bodies(Scalar(shapes.INT64)):
            prove_shortened(body, LONG)
