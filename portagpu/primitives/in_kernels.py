"""Reductions and scans of the threads of a warp or block: device functions that kernels call.

``join`` is an associative device function of two numbers; it need not commute. All threads of the warp or block call
them. ``scratch`` is a shared array with an element for each thread of the block, of the values' dtype; what it held is
gone, and it may be used again at once.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from portagpu import cuda

_ALL = 0xFFFFFFFF


@cuda.jit(device=True)
def warp_reduce(value, join: cuda.constexpr):
    """What the values of a warp's 32 threads become, in all of them."""
    for step in cuda.unroll((1, 2, 4, 8, 16)):
        other = cuda.shfl_down_sync(_ALL, value, step)
        value = join(value, other)
    return cuda.shfl_sync(_ALL, value, 0)


@cuda.jit(device=True)
def warp_inclusive_scan(value, join: cuda.constexpr):
    """What the values of a warp's threads up to each one, and its own, become."""
    for step in cuda.unroll((1, 2, 4, 8, 16)):
        other = cuda.shfl_up_sync(_ALL, value, step)
        if cuda.laneid >= step:
            value = join(other, value)
    return value


@cuda.jit(device=True)
def warp_exclusive_scan(value, join: cuda.constexpr, identity):
    """What the values of a warp's threads before each one become: the identity for the first."""
    before = cuda.shfl_up_sync(_ALL, warp_inclusive_scan(value, join), 1)
    if cuda.laneid == 0:
        before = type(value)(identity)
    return before


@cuda.jit(device=True)
def block_reduce(value, join: cuda.constexpr, scratch):
    """What the values of a block's threads (along x) become, in all of them."""
    thread = cuda.threadIdx.x
    scratch[thread] = value
    cuda.syncthreads()
    step = 1
    while step < cuda.blockDim.x:
        if thread % (2 * step) == 0 and thread + step < cuda.blockDim.x:
            scratch[thread] = join(scratch[thread], scratch[thread + step])
        cuda.syncthreads()
        step = 2 * step
    found = scratch[0]
    cuda.syncthreads()
    return found


@cuda.jit(device=True)
def block_inclusive_scan(value, join: cuda.constexpr, scratch):
    """What the values of a block's threads (along x) up to each one, and its own, become."""
    thread = cuda.threadIdx.x
    scratch[thread] = value
    cuda.syncthreads()
    step = 1
    while step < cuda.blockDim.x:
        other = scratch[max(thread - step, 0)]
        cuda.syncthreads()
        if thread >= step:
            value = join(other, value)
            scratch[thread] = value
        cuda.syncthreads()
        step = 2 * step
    return value


@cuda.jit(device=True)
def block_exclusive_scan(value, join: cuda.constexpr, identity, scratch):
    """What the values of a block's threads (along x) before each one become: the identity for the first."""
    thread = cuda.threadIdx.x
    block_inclusive_scan(value, join, scratch)
    before = scratch[max(thread - 1, 0)]
    cuda.syncthreads()
    if thread == 0:
        before = type(value)(identity)
    return before
