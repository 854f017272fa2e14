"""Products of warp groups whose operand that lies across k comes through registers: parameters and launches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from portagpu.blas.gemm.core.alignment import swapped
from portagpu.blas.gemm.core.interface import Config, Product, order_of
from portagpu.blas.gemm.core.kernel_arguments import Extents, Parts
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.gemm.kernels.split_k import LATEST_BYTES, counters_of, fan_of, levels_of
from portagpu.blas.gemm.variants.wgmma.kernels import Mapped
from portagpu.blas.gemm.variants.wgmma.register_kernels import AcrossPlan, multiply_across
from portagpu.blas.gemm.variants.wgmma.tensor_maps import Box, tensor_maps
from portagpu.cuda import jit
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.runtime.arrays.array import DeviceNDArray

LINE = 128  # bytes of a row of a tile in shared memory, and of a strip of C
STRIP_ROWS = 64
_SPAN = 32  # elements of a line
_NOTHING = np.int32(0)  # in place of an array that is not needed


@dataclass(frozen=True, slots=True, kw_only=True)
class WarpgroupConfig(Config):
    """Parameters of the warp-group variant.

    ``consumers`` warp groups share a ``tile_m`` x ``tile_n`` tile of C; ``stages`` tiles of A and B are on their way;
    tiles are walked in bands of ``group`` rows; ``splits`` blocks share the sum of each tile. ``registers`` says that
    an operand that lies across k, which the matrix units do not transpose, comes to them through registers; else a
    kernel transposes it first. ``cluster`` blocks share tiles of B.
    """

    tile_m: int
    tile_n: int
    stages: int
    consumers: int
    group: int
    splits: int
    registers: bool = False
    cluster: int = 1

    @property
    def threads(self) -> int:
        """Threads of a block: the producer's warp group and the consumers'."""
        return 128 * (self.consumers + 1)

    @property
    def local_memory(self) -> int:
        """Bytes of shared memory: the ring of tiles, two strips of C for each consumer, and barriers."""
        ring = self.stages * (self.tile_m + self.tile_n) * LINE
        latest = LATEST_BYTES if self.splits > 1 else 0
        return ring + self.consumers * 2 * STRIP_ROWS * LINE + 16 * self.stages + 128 + latest


def launch_across(config: WarpgroupConfig, product: Product, a: DeviceNDArray, b: DeviceNDArray) -> None:
    """Enqueue a product of TF32, of which one operand lies along k and the other across: a, b or both are C, or both F.

    Where b lies across k, ``c.T = b.T @ a.T`` is computed: the kernel's first operand is the one across k.
    """
    c, stream = product.c, product.stream
    turned = order_of(b) == "C"
    tile_n = config.tile_n
    if turned:
        a, b, tile_n = swapped(b), swapped(a), config.tile_m
    m, n, batch = a.shape[-2], b.shape[-1], product.batch
    tile_m = STRIP_ROWS * config.consumers
    tiles = -(-m // tile_m) * -(-n // tile_n) * batch
    parts: Any = _NOTHING
    arrived: Any = _NOTHING
    if config.splits > 1:
        # a share without terms would wait for tiles that nobody brings
        assert config.splits * _SPAN <= a.shape[-1], "the configuration is not legal for this product"
        parts = workspaces.of(stream, "parts", (tiles * config.splits * tile_m * tile_n,), np.dtype(np.float32))
        arrived = workspaces.zeros(stream, "arrived", tiles * counters_of(config.splits))
    maps = tensor_maps.of(
        stream,
        Box(a, (_SPAN, _SPAN), True, "tfloat32"),
        Box(b, (tile_n, _SPAN), True, "tfloat32"),
        Box(c, (_SPAN if turned else STRIP_ROWS, _SPAN), False),
    )
    scaled = product.alpha != 1 or product.beta != 0
    number: Any = np.float32
    grid = min(tiles * config.splits, c.context.capabilities.compute_units)
    plan = AcrossPlan(
        tile_n=tile_n,
        stages=config.stages,
        consumers=config.consumers,
        group=config.group,
        splits=config.splits,
        fan=fan_of(config.splits),
        levels=levels_of(config.splits),
        c_transposed=turned,
        scaled=scaled,
    )
    _kernel(config.threads)[grid, config.threads, stream](
        maps,
        mapped(a),
        mapped(b),
        c,
        Parts(parts, arrived),
        np.int32(batch),
        Extents(np.int32(m), np.int32(n), np.int32(a.shape[-1])),
        product.factors(number),
        plan,
    )


def mapped(x: DeviceNDArray) -> Mapped:
    """An operand as kernels take it beside its tensor map."""
    return Mapped(x, np.int32(x.ndim == 3 and x.strides[0] != 0))


@lru_cache(maxsize=4)
def _kernel(threads: int) -> Dispatcher:
    """The kernel for a block of so many threads: the compiler then knows how many registers a thread may use."""
    return jit(multiply_across.py_func, block_dim=(threads, 1, 1))
