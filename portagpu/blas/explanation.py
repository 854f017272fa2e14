"""Explanation of a product's kernel: which rule chose it."""

from __future__ import annotations

from dataclasses import replace

from portagpu.blas.arguments import check_precision
from portagpu.blas.gemm.complex_products import as_real
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.engine import plan_of
from portagpu.blas.gemm.selection.choice import explain
from portagpu.blas.gemm.selection.parameters import dense
from portagpu.runtime.execution.context import Context


def explanation(problem: Problem, context: Context) -> str:
    """Which rule chooses the kernel, and the parameters, for people.

    Raises `MissingCapabilityError`, and `UnknownOptionError` for a precision that the dtypes have on no device.
    """
    lines = [f"{problem.words} on {context.device.name}"]
    precision = check_precision(problem.precision, problem.dtype, problem.out_dtype, context)
    if precision != problem.precision:
        lines.append(f"the device has no {problem.precision}, and computes in {problem.dtype}")
        problem = replace(problem, precision=precision)
    if problem.is_complex:
        real, form = as_real(problem)
        which = ", that of the transposes," if form.turned else ""
        more = "rows and columns" if form.separated else "columns and terms"
        lines.append(f"made of one real product{which} with twice the {more}:")
        problem = dense(real)
    plan = plan_of(problem, context)
    if plan.problem.precision != problem.precision:
        lines.append(f"shapes like this have no {problem.precision}: computed in {problem.dtype}")
    if plan.copied:
        lines.append("operands are copied into aligned rows first")
    if plan.walked:
        lines.append("the products of the batch run one after the other")
    return "\n".join([*lines, str(explain(plan.problem, context))])
