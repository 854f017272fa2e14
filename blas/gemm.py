"""Runs one matrix product on device arrays: chooses variant and parameters, launches the dialect's kernels."""

from __future__ import annotations

from portagpu.blas.choice import choose, explain
from portagpu.blas.direct_kernels import multiply_elements
from portagpu.blas.problem import Problem
from portagpu.blas.product import multiply, rows_of_c
from portagpu.blas.variant import Config, Product
from portagpu.runtime.array import DeviceNDArray
from portagpu.runtime.context import Context
from portagpu.runtime.stream import Stream

_DIRECT_LIMIT = 32 * 32 * 32  # multiply-adds; below, packing or tiles cost more than they gain


def gemm(a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray, stream: Stream, config: Config | None = None) -> None:
    """``c = a @ b`` for two-dimensional device arrays of one dtype with at least one element each; enqueued.

    ``c`` must not overlap ``a`` or ``b``. ``config`` overrides the tuned or default parameters.
    """
    a, b, c = rows_of_c(a, b, c)
    (m, k), n = a.shape, b.shape[1]
    if config is None:
        if m * n * k <= _DIRECT_LIMIT:
            _direct(a, b, c, stream)
            return
        config = choose(Product(a=a, b=b, c=c, stream=stream).problem, c.context)
    multiply(a, b, c, stream, config)


def explanation(problem: Problem, context: Context) -> str:
    """Which rule chooses the kernel of a product, and the parameters, for people."""
    layout = "".join("T" if order == "F" else "N" for order in (problem.a_order, problem.b_order))
    title = f"{problem.m} x {problem.n} x {problem.k} {problem.arithmetic} {layout} on {context.device.name}"
    if problem.m * problem.n * problem.k <= _DIRECT_LIMIT:
        return f"{title}\nrule: products of at most {_DIRECT_LIMIT} multiply-adds take the direct kernel, untuned"
    return f"{title}\n{explain(problem, context)}"


def _direct(a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray, stream: Stream) -> None:
    m, n = c.shape
    caps = c.context.capabilities
    block = (16, 4) if caps.max_work_group_size >= 64 else (1, 1)
    multiply_elements[(-(-n // block[0]), -(-m // block[1])), block, stream](a, b, c)
