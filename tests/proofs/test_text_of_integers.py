"""Text of integer expressions: no C undefined behaviour, and the IR's value, for all values of the variables.

Proved with z3 of the text that the printers give, OpenCL C and SYCL C++, with the helpers that they call:
`docs/compiler.md`.
"""

from __future__ import annotations

import itertools

import pytest
import shapes
from proof import RefutedError, prove, prove_text, var, variables

from portagpu.backends.c_family import printer as printer_module
from portagpu.backends.c_family.numbers import narrow
from portagpu.backends.opencl.codegen import generate as opencl
from portagpu.backends.sycl.codegen import generate as sycl
from portagpu.ir import nodes as ir
from portagpu.ir.program import ParameterRole
from portagpu.ir.types import INT, PYINT, Scalar

NAMES = [str(kind) for kind in shapes.INTEGERS]
EXTENT = {"n": ParameterRole.SHAPE}
PRINTERS = {"OpenCL C": opencl.generate, "SYCL C++": sycl.generate}
in_each_language = pytest.mark.parametrize("language", PRINTERS)


def one_in(count, exprs, start=0):
    return itertools.islice(exprs, start, None, count)


def proved(exprs, language, **options):
    """Prove expressions, some of one kernel at a time, in which each name has one type."""
    options["generated"] = PRINTERS[language]
    few, kinds = [], {}
    for expr in exprs:
        own = dict(variables([expr]))
        if few and (len(few) == 16 or any(kinds.get(name, kind) != kind for name, kind in own.items())):
            prove_text(few, **options)
            few, kinds = [], {}
        few.append(expr)
        kinds.update(own)
    if few:
        prove_text(few, **options)


@pytest.mark.parametrize("kind", shapes.INTEGERS, ids=NAMES)
@in_each_language
def test_one_operator(kind, language):
    x, y = var("x", kind), var("y", kind)
    proved([e for e in shapes.one_operator(kind, x, y) if not division(e) or kind == INT], language)
    if kind.dtype.name in ("int32", "int64"):
        proved([shapes.operation("ffs", x, kind=INT)], language)


def division(expr):
    return isinstance(expr, ir.Operation) and expr.name in ("floordiv", "mod")


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", shapes.INTEGERS, ids=NAMES)
@in_each_language
def test_every_operator(kind, language):
    proved(shapes.singles(kind), language)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", shapes.INTEGERS, ids=NAMES)
@in_each_language
def test_two_operators(kind, language):
    proved(shapes.pairs(kind), language)


@in_each_language
def test_some_of_two_operators(language):
    for number, kind in enumerate(shapes.INTEGERS):
        exprs = (e for e in shapes.pairs(kind) if not any(map(slow, walk(e))))
        proved(one_in(211, exprs, number), language)


def slow(expr):
    return division(expr) or (isinstance(expr, ir.Binary) and expr.op is ir.BinaryOp.MUL)


def walk(expr):
    from portagpu.ir.walk import all_expressions

    return all_expressions(expr)


@in_each_language
def test_comparisons_that_32_bits_decide(language):
    proved(one_in(101, (e for e in shapes.widened_comparisons() if not any(map(slow, walk(e))))), language)


@pytest.mark.exhaustive
@in_each_language
def test_all_comparisons_that_32_bits_decide(language):
    proved(shapes.widened_comparisons(), language)


@in_each_language
def test_subscripts(language):
    proved(one_in(7, (e for e in shapes.subscripts() if not any(map(slow, walk(e))))), language, roles=EXTENT)


@pytest.mark.exhaustive
@in_each_language
def test_all_subscripts(language):
    proved(shapes.subscripts(), language, roles=EXTENT)


@pytest.mark.parametrize("kind", [INT, PYINT], ids=str)
@in_each_language
def test_slices(kind, language):
    bound, extent, low, high = (var(n, kind) for n in ("bound", "n", "low", "high"))

    def assume(values):
        step, distance, n = (values.get((name, kind)) for name in ("step", "distance", "n"))
        if n is not None:
            return [n >= 0]
        return [step > 0, distance + step >= distance]  # both are below 2**30, as arrays are

    prove_text(
        [shapes.operation("slice_bound", bound, extent, low, high)],
        roles=EXTENT,
        assume=assume,
        generated=PRINTERS[language],
    )
    prove_text(
        [shapes.operation("slice_length", var("distance", kind), var("step", kind))],
        assume=assume,
        generated=PRINTERS[language],
    )


@in_each_language
def test_comparisons_of_both_signs(language):
    signed, unsigned = var("x", Scalar(shapes.INT64)), var("y", Scalar(shapes.UINT64))
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        for args in ((signed, unsigned), (unsigned, signed)):
            prove_text([shapes.operation(f"compare_{name}", *args, kind=shapes.BOOLEAN)], generated=PRINTERS[language])


# rules that are broken on purpose ------------------------------------------------------------------------------------


def test_a_comparison_that_forgets_the_wrap_is_refuted(monkeypatch):
    """The fault of issue 40: an int32 sum that is widened and compared was printed as plain C."""

    def forgetful(expr, exact):
        operands = narrow.narrowed(expr, exact)
        return operands and tuple(
            ir.Binary(e.op, e.left, e.right, shapes.PYINT_NARROW, span=e.span) if isinstance(e, ir.Binary) else e
            for e in operands
        )

    monkeypatch.setattr(printer_module, "narrowed", forgetful)
    x, y = var("x", INT), var("y", INT)
    total = shapes.cast(shapes.binary(ir.BinaryOp.ADD, x, y), PYINT, False)
    with pytest.raises(RefutedError, match=r"overflow of \+ .* wrong for"):
        prove_text([shapes.compare(ir.CompareOp.LT, total, shapes.cast(y, PYINT, False))])


def test_a_narrowed_sum_without_its_condition_is_refuted(monkeypatch):
    monkeypatch.setattr(narrow, "_LIMITS", shapes_everything())
    total = shapes.binary(ir.BinaryOp.ADD, shapes.cast(var("x", INT), PYINT, False), shapes.const(1, PYINT))
    with pytest.raises(RefutedError):
        prove_text([shapes.compare(ir.CompareOp.LT, total, shapes.cast(var("y", INT), PYINT, False))])


def shapes_everything():
    from portagpu.ir.analysis.intervals import ANYTHING

    return ANYTHING


def test_sums_that_do_not_wrap_are_refuted(monkeypatch):
    monkeypatch.setattr(printer_module, "wraps", lambda printer, expr: False)
    with pytest.raises(RefutedError):
        prove_text([shapes.binary(ir.BinaryOp.ADD, var("x", INT), var("y", INT))])
    with pytest.raises(RefutedError):
        prove(var_is_positive())


def var_is_positive():
    import z3

    return z3.BitVec("x", 8) >= 0
