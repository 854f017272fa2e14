"""Runs one matrix product on device arrays: chooses variant and parameters, launches the dialect's kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.blas.choice import choose
from portagpu.blas.config import Config, PanelConfig, TileConfig, tile_lanes, vector_type
from portagpu.blas.cpu_kernels import multiply_panels, pack_columns, pack_rows
from portagpu.blas.direct_kernels import multiply_elements
from portagpu.blas.gpu_kernels import multiply_tiles
from portagpu.blas.problem import Problem
from portagpu.cuda import jit
from portagpu.cuda.dispatcher import Dispatcher
from portagpu.runtime.array import DeviceNDArray, device_array
from portagpu.runtime.stream import Stream

_DIRECT_LIMIT = 32 * 32 * 32  # multiply-adds; below, packing or tiles cost more than they gain
_PACK_BYTES = 64 * 1024  # of a panel that one work-group packs
_ALIGNMENT = 16
_tile_kernels: dict[int, Dispatcher] = {}


def gemm(a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray, stream: Stream, config: Config | None = None) -> None:
    """``c = a @ b`` for two-dimensional device arrays of one dtype with at least one element each; enqueued.

    ``c`` must not overlap ``a`` or ``b``. ``config`` overrides the tuned or default parameters.
    """
    if c.layout == "F" and c.shape[0] > 1 and c.shape[1] > 1:
        a, b, c = b.T, a.T, c.T
    (m, k), n = a.shape, b.shape[1]
    problem = Problem(m=m, n=n, k=k, dtype=c.dtype.name)
    if config is None:
        if m * n * k <= _DIRECT_LIMIT:
            _direct(a, b, c, stream)
            return
        config = choose(problem, c.context)
    if isinstance(config, PanelConfig):
        _panels(a, b, c, config, stream)
    else:
        _tiles(a, b, c, config, stream)


def _direct(a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray, stream: Stream) -> None:
    m, n = c.shape
    caps = c.context.capabilities
    block = (16, 4) if caps.max_work_group_size >= 64 else (1, 1)
    multiply_elements[(-(-n // block[0]), -(-m // block[1])), block, stream](a, b, c)


def _panels(a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray, config: PanelConfig, stream: Stream) -> None:
    (m, k), n = a.shape, b.shape[1]
    dtype, context = c.dtype, c.context
    vector = vector_type(dtype.name, config.lanes)
    panels_m, panels_n = -(-m // config.tile_m), -(-n // config.tile_n)
    packed_a = device_array((panels_m, k, config.tile_m), dtype, context=context)
    packed_b = device_array((panels_n, k, config.tile_n), dtype, context=context)
    number = _index_type(packed_a, packed_b, a, b, c)
    for kernel, source, packed, extent, tile in (
        (pack_rows, a, packed_a, m, config.tile_m),
        (pack_columns, b, packed_b, n, config.tile_n),
    ):
        chunk = max(1, min(k, _PACK_BYTES // (tile * dtype.itemsize)))
        grid = (packed.shape[0], -(-k // chunk))
        extra = () if kernel is pack_rows else (config.lanes, source.layout == "C")
        kernel[grid, 1, stream](source, packed, number(extent), number(k), number(chunk), tile, *extra)
    group_m, group_n = min(config.group_m, panels_m), min(config.group_n, panels_n)
    grid = (-(-panels_m // group_m), -(-panels_n // group_n))
    multiply_panels[grid, 1, stream](
        packed_a,
        packed_b,
        c,
        number(k),
        number(panels_m),
        number(panels_n),
        number(group_m),
        number(group_n),
        config.tile_m,
        config.vectors_n,
        vector,
        config.unroll_k,
        c.layout == "C",
    )


def _index_type(*arrays: DeviceNDArray) -> Any:
    return np.int64 if any(a.is_large for a in arrays) else np.int32


def _tiles(a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray, config: TileConfig, stream: Stream) -> None:
    (m, k), n = a.shape, b.shape[1]
    a_transposed = a.layout == "F" and m > 1 and k > 1
    b_transposed = b.layout == "F" and n > 1 and k > 1
    a, b = (a.T if a_transposed else a), (b.T if b_transposed else b)
    exact = m % config.tile_m == n % config.tile_n == k % config.tile_k == 0 and all(
        x.layout == "C" and x.offset % _ALIGNMENT == 0 for x in (a, b, c)
    )
    vector = vector_type(c.dtype.name, tile_lanes(c.itemsize))
    tiles = -(-m // config.tile_m) * -(-n // config.tile_n)
    _tile_kernel(config.threads)[tiles, config.threads, stream](
        a,
        b,
        c,
        config.tile_m,
        config.tile_n,
        config.tile_k,
        config.thread_m,
        config.thread_n,
        vector,
        a_transposed,
        b_transposed,
        exact,
        config.group,
    )


def _tile_kernel(threads: int) -> Dispatcher:
    """The tile kernel for a block of so many threads: the compiler then knows how many registers a thread may use."""
    found = _tile_kernels.get(threads)
    if found is None:
        found = _tile_kernels[threads] = jit(multiply_tiles.py_func, block_dim=(threads, 1, 1))
    return found
