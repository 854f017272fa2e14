"""Says which rule chooses the kernel of a product."""

from __future__ import annotations

from dataclasses import replace

from portagpu.blas.choice import explain
from portagpu.blas.gemm import plan_of
from portagpu.blas.parameters import dense
from portagpu.blas.problem import Problem
from portagpu.runtime.context import Context


def explanation(problem: Problem, context: Context) -> str:
    """Which rule chooses the kernel, and the parameters, for people. Raises `MissingCapabilityError`."""
    lines = [f"{problem.words} on {context.device.name}"]
    if problem.is_complex:
        lines.append("made of one real product with twice the columns and terms:")
        parts = {"complex64": "float32", "complex128": "float64"}
        problem = dense(replace(problem, n=2 * problem.n, k=2 * problem.k, dtype=parts[problem.dtype], out=""))
    plan = plan_of(problem, context)
    if plan.copied:
        lines.append("operands are copied into aligned rows first")
    if plan.walked:
        lines.append("the products of the batch run one after the other")
    return "\n".join([*lines, str(explain(plan.problem, context))])
