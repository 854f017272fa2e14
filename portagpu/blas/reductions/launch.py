"""Reductions of device arrays: which kernel, which plan, and in how many parts."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from portagpu.blas.gemm.core.operands import with_strides
from portagpu.blas.gemm.core.vector_registers import native_lanes
from portagpu.blas.gemm.core.vector_types import vector_type
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.reductions.kernels import RUN, Ordering, Plan, reduce_across, reduce_along
from portagpu.blas.reductions.operations import COLUMNS, Operation, Reduction
from portagpu.device.capabilities import Capabilities
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.stream import Stream

_THREADS = 128  # of a block on GPUs
_LANES = 4  # of a thread's loads on GPUs
_STRIPS = 4  # vectors of a thread across rows on CPUs
_ROUNDS = 8  # blocks for each compute unit


def reduce(c: DeviceNDArray, reduction: Reduction, stream: Stream) -> DeviceNDArray:
    """Enqueue a reduction of a result (..., m, n), and return the array that it writes."""
    kind = reduction.dtype(c.dtype)
    target = device_array(reduction.shape(c.shape), kind, context=c.context)
    if target.size == 0:
        return target
    if 0 in c.shape[-2:]:  # a sum of nothing
        target.copy_to_device(np.zeros(target.shape, kind), stream)
        return target
    if len(reduction.axes) == 1:
        _reduce_axis(c, target, reduction, stream)
        return target
    lines = workspaces.of(stream, "reduced lines", c.shape[:-1], kind)
    first, second = (replace(reduction, axes=(axis,)) for axis in reduction.axes)
    _reduce_axis(c, lines, first, stream)
    _reduce_axis(_with_row(lines), _with_row(target), replace(second, axes=(COLUMNS,)), stream)
    return target


def _with_row(x: DeviceNDArray) -> DeviceNDArray:
    """The last axis as the row of a matrix; of a number, a matrix of it."""
    shape, steps = x.shape or (1,), x.strides or (x.itemsize,)
    return with_strides(x, (*shape[:-1], 1, shape[-1]), (*steps[:-1], x.itemsize * shape[-1], steps[-1]))


def _reduce_axis(c: DeviceNDArray, target: DeviceNDArray, reduction: Reduction, stream: Stream) -> None:
    """Reduce the matrices of a result of any strides along one axis."""
    leading = c.shape[:-2]
    (m, n), steps = c.shape[-2:], c.strides
    if len(leading) > 1 and not _is_even(c):
        for index in np.ndindex(*leading):
            _reduce_batch(c[index][None], target[index][None], reduction, stream)
        return
    batch = math.prod(leading)
    step = steps[-3] if leading else m * n * c.itemsize
    kept = target.size // batch
    flat = with_strides(target, (batch, kept), (kept * target.itemsize, target.itemsize))
    _reduce_batch(with_strides(c, (batch, m, n), (step, *steps[-2:])), flat, reduction, stream)


def _is_even(c: DeviceNDArray) -> bool:
    """Whether the matrices are equally far apart."""
    leading, steps = c.shape[:-2], c.strides[:-2]
    return all(steps[i] == steps[i + 1] * leading[i + 1] for i in range(len(leading) - 1))


def _reduce_batch(c: DeviceNDArray, target: DeviceNDArray, reduction: Reduction, stream: Stream) -> None:
    """c: (batch, m, n); target: (batch, m) or (batch, n)."""
    is_sum = reduction.operation is Operation.SUM
    caps = c.context.capabilities
    if c.dtype == np.bool_:
        c = c.view(np.uint8)
        target = target if is_sum else target.view(np.uint8)
    along = reduction.axes == (COLUMNS,)
    if c.strides[1] == c.itemsize and c.strides[2] != c.itemsize:  # of columns, each one piece of memory
        c, along = c.transpose((0, 2, 1)), not along
    batch, m, n = c.shape
    plan = _plan(caps, c, target.dtype, reduction.operation)
    if along:
        lines = batch * m
        blocks = min(lines, max(1, caps.compute_units) * _ROUNDS * (16 if plan.threads > 1 else 1))
        reduce_along[blocks, plan.threads, stream](c, target, plan)
        return
    width = 1 if plan.vector is None else plan.vector.lanes * plan.strips
    groups = batch * -(-n // width)
    chunk = max(RUN, math.isqrt(m))
    parts = -(-m // chunk)
    threads = plan.threads
    into = target
    if parts > 1:
        into = workspaces.of(stream, "reduced parts", (batch, parts, n), _kept(plan))
    else:
        into = with_strides(target, (batch, 1, n), (target.strides[0], target.strides[0], target.itemsize))
    reduce_across[(-(-groups // threads), parts), threads, stream](c, into, np.int32(chunk), plan)
    if parts > 1:
        final = plan._replace(operation=Operation.SUM if is_sum else Operation.MAX)
        whole = with_strides(target, (batch, 1, n), (target.strides[0], target.strides[0], target.itemsize))
        again = _plan(caps, into, target.dtype, final.operation)
        reduce_across[-(-groups // threads), threads, stream](into, whole, np.int32(parts), again)


def _kept(plan: Plan) -> np.dtype[Any]:
    """The dtype of what parts are reduced to."""
    kept: np.dtype[Any] = np.dtype(plan.number)
    return kept


def _plan(caps: Capabilities, c: DeviceNDArray, target: np.dtype[Any], operation: Operation) -> Plan:
    short = target.name in ("float16", "bfloat16")
    number: Any = np.float32 if short else target.type
    kind = np.dtype(number)
    is_sum = operation is Operation.SUM
    lowest: Any = 0 if is_sum or operation is Operation.AMAX else -np.inf if kind.kind == "f" else np.iinfo(kind).min
    on_cpu = not caps.local_memory_dedicated
    threads = 1 if on_cpu else min(_THREADS, caps.max_work_group_size)
    vector = ordering = None
    # elements of a row that are neighbours, in an array whose rows are, too
    if c.dtype.kind != "c" and c.is_c_contiguous():
        lanes = native_lanes(caps, kind.itemsize) if on_cpu else _LANES
        vector = vector_type(kind.name, lanes)
        if kind.kind == "f" and not is_sum:
            bits = 8 * kind.itemsize
            infinity = int(np.array(np.inf, kind).view(f"int{bits}"))
            ordering = Ordering(vector_type(f"int{bits}", lanes), bits - 1, 2 ** (bits - 1) - 1, infinity)
    return Plan(operation, number, lowest, vector, ordering, threads, _STRIPS if on_cpu else 1)
