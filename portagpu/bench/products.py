"""PortaGPU's own products, ready to be timed."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.bench.device_clock import clock_of
from portagpu.bench.method.turns import Call
from portagpu.bench.peers.products import Matrix
from portagpu.bench.records.cell import Memory
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.matmul import matmul
from portagpu.runtime.arrays.array import device_array
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution.context import Context


def own_call(context: Context, problem: Problem, a: Matrix, b: Matrix, memory: Memory) -> Call:
    """PortaGPU's product of operands in one kind of memory."""
    held: dict[str, Any] = {}
    precision, out = problem.precision or None, problem.out_dtype
    if memory is Memory.HOST:

        def on_host() -> None:
            held["c"] = matmul(a, b, precision=precision, dtype=out)

        return Call(enqueue=on_host, fetch=lambda: np.asarray(held["c"]))
    left, right = to_device(a, context=context), to_device(b, context=context)
    # its memory without a product, which would compile what the first call is to tell the time of
    result = device_array((*left.shape[:-1], right.shape[-1]), out, context=context)
    return Call(
        enqueue=lambda: matmul(left, right, out=result, precision=precision),
        wait=context.synchronize,
        fetch=lambda: np.asarray(result.copy_to_host()),
        clock=clock_of(context),
    )


__all__ = ["own_call"]
