"""NumPy's ufuncs on whole arrays, ``np.add(x, y, out)``: a loop of each thread over all elements."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from portagpu.errors import UnsupportedSyntaxError
from portagpu.frontend.arrays.indexing import to_index
from portagpu.frontend.arrays.subscripts import get_item, set_item
from portagpu.frontend.core.convert import constant, describe, number_type
from portagpu.frontend.core.registry import Call, handles_on_arrays
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, TupleValue, Value
from portagpu.frontend.operations.calls import call
from portagpu.frontend.operations.environment import tuple_items
from portagpu.ir.nodes import Compare, CompareOp, Expr, For, Select, Var


@handles_on_arrays(np.ufunc)
def call_on_arrays(ctx: FunctionState, site: Call) -> Value:
    """Lower the call of a ufunc with arrays among its arguments. Raises `UnsupportedSyntaxError` without ``out``."""
    ufunc: np.ufunc = site.target
    inputs, outputs = site.args[: ufunc.nin], _outputs(ctx, site, ufunc)
    for value in inputs:
        if not isinstance(value, ArrayValue) and number_type(ctx, value) is None:
            ctx.fail(f"np.{ufunc.__name__} needs numbers or arrays, not {describe(ctx, value)}")
        if isinstance(value, ArrayValue) and value.ndim > outputs[0].ndim:
            ctx.fail(f"np.{ufunc.__name__} of {value.describe()} does not fit into {outputs[0].describe()}")
    _loop(ctx, site, inputs, outputs, ())
    return outputs[0] if len(outputs) == 1 else TupleValue(outputs)


def _outputs(ctx: FunctionState, site: Call, ufunc: np.ufunc) -> tuple[ArrayValue, ...]:
    given: tuple[Value, ...] = site.args[ufunc.nin :]
    for keyword, value in site.keywords.items():
        if keyword != "out" or given:
            ctx.fail(f"np.{ufunc.__name__} takes no {keyword}= in a kernel", kind=UnsupportedSyntaxError)
        given = (value,) if isinstance(value, ArrayValue) else tuple_items(ctx, value)
    outputs = tuple(v for v in given if isinstance(v, ArrayValue))
    if len(site.args) < ufunc.nin or len(given) != ufunc.nout or len(outputs) != ufunc.nout:
        ctx.fail(
            f"np.{ufunc.__name__} of whole arrays needs {'an array' if ufunc.nout == 1 else 'arrays'} for the result: "
            "kernels make no arrays",
            kind=UnsupportedSyntaxError,
            hint=f"write np.{ufunc.__name__}(x, out), or call it for elements: np.{ufunc.__name__}(x[i])",
        )
    if len({v.ndim for v in outputs}) > 1:
        ctx.fail(f"the results of np.{ufunc.__name__} have different numbers of axes")
    return outputs


def _loop(
    ctx: FunctionState,
    site: Call,
    inputs: tuple[Value, ...],
    outputs: tuple[ArrayValue, ...],
    counters: tuple[Var, ...],
) -> None:
    axis = len(counters)
    if axis < outputs[0].ndim:
        kind = ctx.program.index_type
        counter = Var(ctx.fresh("u"), kind, span=ctx.span)
        with ctx.nested() as body:
            _loop(ctx, site, inputs, outputs, (*counters, counter))
        start, step = constant(ctx, 0, kind), constant(ctx, 1, kind)
        stop = to_index(ctx, outputs[0].shape[axis])
        ctx.emit(For(counter, start, stop, step, False, tuple(body), span=ctx.span))
        return
    elements = tuple(_element(ctx, v, counters) if isinstance(v, ArrayValue) else v for v in inputs)
    result = call(ctx, replace(site, args=elements, keywords={}))
    results = (result,) if len(outputs) == 1 else tuple_items(ctx, result)
    for output, value in zip(outputs, results, strict=True):
        set_item(ctx, output, counters, value)


def _element(ctx: FunctionState, array: ArrayValue, counters: tuple[Var, ...]) -> Value:
    """The element that meets the result's; axes of one element are repeated, missing ones are in front."""
    indices: list[Expr] = []
    for extent, counter in zip(array.shape, counters[len(counters) - array.ndim :], strict=True):
        single = Compare(CompareOp.EQ, to_index(ctx, extent), constant(ctx, 1, ctx.program.index_type), span=ctx.span)
        zero = constant(ctx, 0, ctx.program.index_type)
        indices.append(Select(single, zero, counter, ctx.program.index_type, span=ctx.span))
    return get_item(ctx, array, tuple(indices))
