"""Pass: a vector of one function's results, lane by lane, becomes one call of the function's copy for vectors.

Compilers of CPUs leave sixteen calls of `tanh` what they are; a vector's takes them a fifth of the time.
"""

from __future__ import annotations

from dataclasses import replace

from portagpu.dtypes import Kind
from portagpu.ir.nodes import Binary, BinaryOp, CallFunction, Cast, Constant, Expr, Lane, MakeVector, Var
from portagpu.ir.program import Function, Program
from portagpu.ir.types import Scalar, Vector
from portagpu.ir.walk import rebuilt
from portagpu.passes.arithmetic.lane_values import Shape
from portagpu.passes.arithmetic.lanes import Copies
from portagpu.passes.rewriting import replaced


def vector_calls(program: Program) -> Program:
    """The program with calls of copies for vectors, and these."""
    scalar = {f.name: f for f in program.functions}
    copies: dict[int, Copies] = {}
    functions: list[Function] = []

    def changed(function: Function) -> Function:
        def vectorised(expr: Expr) -> Expr:
            expr = rebuilt(expr, vectorised)
            return _one_call(expr, scalar, copies) if isinstance(expr, MakeVector) else expr

        found = replace(function, body=replaced(function.body, lambda s: (s,), vectorised))
        for of_lanes in copies.values():  # its copies are defined before it
            functions.extend(of_lanes.made)
            of_lanes.made.clear()
        return found

    for function in program.functions:
        found = changed(function)
        functions.append(found)
    kernel = changed(program.kernel)
    return replace(program, kernel=kernel, functions=tuple(functions))


def _one_call(expr: MakeVector, functions: dict[str, Function], copies: dict[int, Copies]) -> Expr:
    """One call in place of those of each lane; the expression itself where there is none."""
    calls = [item.operand if isinstance(item, Cast) else item for item in expr.items]
    first = calls[0]
    if len(calls) != expr.type.lanes or len(calls) < 2 or not isinstance(first, CallFunction) or first.effect:
        return expr
    lists = []
    for call in calls:
        if not isinstance(call, CallFunction) or call.function != first.function:
            return expr
        lists.append(call.args)
    found = [_argument(column) for column in zip(*lists, strict=True)]
    if None in found:
        return expr
    arguments = [each for each in found if each is not None]
    made = copies.setdefault(expr.type.lanes, Copies(functions, expr.type.lanes))
    copy = made.of(first.function, tuple(shape for shape, _ in arguments))
    if copy is None or copy.shape is not Shape.VECTOR:
        return expr
    function = copy.function
    call = CallFunction(function.name, tuple(value for _, value in arguments), function.result, False, span=expr.span)
    return call if function.result == expr.type else Cast(call, expr.type, span=expr.span)


def _argument(values: tuple[Expr, ...]) -> tuple[Shape, Expr] | None:
    """How an argument differs from lane to lane, and what a copy gets for it; None for what it does not get."""
    first = values[0]
    if all(_same(value, first) for value in values):
        return Shape.SAME, first
    if isinstance(first, Lane) and isinstance(first.operand, Var) and isinstance(first.operand.type, Vector):
        own = [isinstance(v, Lane) and _same(v.operand, first.operand) and v.lane == n for n, v in enumerate(values)]
        if all(own) and first.operand.type.lanes == len(values):
            return Shape.VECTOR, first.operand
    is_count = isinstance(first.type, Scalar) and first.type.dtype.kind is Kind.UINT and first.type.dtype.size >= 4
    if is_count and all(_is_step(value, first, n) for n, value in enumerate(values) if n):
        return Shape.RISING, first
    return None


def _is_step(value: Expr, first: Expr, step: int) -> bool:
    if not isinstance(value, Binary) or value.op is not BinaryOp.ADD or not _same(value.left, first):
        return False
    return isinstance(value.right, Constant) and value.right.value == step


def _same(a: Expr, b: Expr) -> bool:
    """Whether two expressions are written alike, and neither reads memory."""
    if a is b:
        return True
    if type(a) is not type(b) or a.type != b.type:
        return False
    if isinstance(a, Var) and isinstance(b, Var):
        return a.name == b.name
    if isinstance(a, Constant) and isinstance(b, Constant):
        return a.value == b.value and type(a.value) is type(b.value)
    if isinstance(a, Cast) and isinstance(b, Cast):
        return a.cuts == b.cuts and _same(a.operand, b.operand)
    return False
