"""GEMM's trials: operands, launches and checks; they run in the tuner's child process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from portagpu.blas.problem import Problem
from portagpu.blas.product import multiply
from portagpu.blas.registry import from_json
from portagpu.blas.verification import ProductCheck
from portagpu.runtime.context import current_context
from portagpu.runtime.creation import to_device
from portagpu.tuning import Case
from portagpu.tuning.shapes import Problem as Values
from portagpu.tuning.space import Point

Array = np.ndarray[Any, Any]


def prepare(values: Values) -> Case:
    """Random operands in the problem's layout."""
    problem = Problem(**values)  # type: ignore[arg-type]
    generator = np.random.default_rng(0)

    def operand(rows: int, columns: int, order: str) -> Array:
        shape = (columns, rows) if order == "F" else (rows, columns)
        made: Array = generator.standard_normal(shape, np.float64 if problem.dtype == "float64" else np.float32)
        made = made.astype(problem.dtype, copy=False)
        return made.T if order == "F" else made

    a = operand(problem.m, problem.k, problem.a_order)
    b = operand(problem.k, problem.n, problem.b_order)
    c = np.full((problem.m, problem.n), np.nan, problem.out_dtype)
    return Case(inputs={"a": a, "b": b}, outputs={"c": c}, facts=ProductCheck(a, b))


def run(data: Mapping[str, Any], point: Point) -> None:
    """One product."""
    c = data["c"]
    multiply(data["a"], data["b"], c, c.context.default_stream, from_json(point))


def check(case: Case, results: Mapping[str, Array]) -> str | None:
    """Freivalds' method and a sample of rows."""
    wrong = case.facts.error(results["c"])
    return None if wrong <= 1 else f"error {wrong:.3g} times the tolerance"


def verify(values: Values, point: Point) -> str | None:
    """Odd shapes, transposes, strided results, NaN and infinity against NumPy in float64; None, or what is wrong."""
    dtype = str(values["dtype"])
    config = from_json(point)
    context = current_context()
    stream = context.default_stream
    generator = np.random.default_rng(1)
    eps = np.finfo(dtype).eps
    for m, n, k in ((1, 1, 1), (127, 65, 33), (130, 259, 17), (256, 256, 256)):
        for transpose, strided in ((False, False), (True, False), (False, True)):
            a = generator.standard_normal((k, m) if transpose else (m, k)).astype(dtype)
            b = generator.standard_normal((n, k) if transpose else (k, n)).astype(dtype)
            if m > 1:
                a[0, 0], b[-1, -1] = np.nan, np.inf
            left, right = (a.T, b.T) if transpose else (a, b)
            da, db = to_device(a, context=context), to_device(b, context=context)
            # what is in c must not matter, whatever its layout, and nothing beside it may be written
            around = to_device(np.full((m, n, 2) if strided else (2, m, n), np.nan, dtype), context=context)
            c = around[:, :, 0] if strided else around[0]
            multiply(da.T if transpose else da, db.T if transpose else db, c, stream, config)
            whole = around.copy_to_host()
            found, beside = (whole[:, :, 0], whole[:, :, 1]) if strided else whole
            with np.errstate(invalid="ignore"):
                wanted = left.astype(np.float64) @ right.astype(np.float64)
                bound = (k + 2) * eps * (np.abs(left).astype(np.float64) @ np.abs(right).astype(np.float64))
                finite = np.isfinite(wanted)
                right_numbers = np.abs(found - wanted)[finite] <= bound[finite]
            same = np.array_equal(np.isnan(found), np.isnan(wanted)) and np.array_equal(
                np.isinf(found), np.isinf(wanted)
            )
            if not same or not right_numbers.all() or not np.isnan(beside).all():
                return f"wrong result for m={m} n={n} k={k}{' transposed' * transpose}{' strided' * strided}"
    return None
