"""Tuning parameters of the GEMM variants, what is legal on a device, and a model's choice before anything is tuned."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from portagpu import dtypes
from portagpu.blas.problem import Problem
from portagpu.device.capabilities import Capabilities
from portagpu.errors import StoreError
from portagpu.frontend.vocabulary import VectorMaker

KERNEL_VERSION = 1  # raise when a kernel changes in a way that makes stored results wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelConfig:
    """Parameters of the panel variant (`cpu_kernels`): a register tile of ``tile_m`` x ``vectors_n`` vectors."""

    tile_m: int
    vectors_n: int
    lanes: int
    unroll_k: int
    group_m: int  # register tiles of a work-group
    group_n: int

    @property
    def tile_n(self) -> int:
        """Columns of the register tile."""
        return self.vectors_n * self.lanes

    @property
    def registers(self) -> int:
        """Vector registers that the micro-kernel keeps live: accumulators, B, one broadcast of A."""
        return self.tile_m * self.vectors_n + self.vectors_n + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TileConfig:
    """Parameters of the tile variant (`gpu_kernels`)."""

    tile_m: int
    tile_n: int
    tile_k: int
    thread_m: int
    thread_n: int
    group: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return (self.tile_m // self.thread_m) * (self.tile_n // self.thread_n)

    def local_memory(self, itemsize: int) -> int:
        """Bytes of local memory: two buffers of padded tiles of A and B."""
        return 2 * self.tile_k * (self.tile_m + 4 + self.tile_n + 4) * itemsize


Config = PanelConfig | TileConfig
_KINDS: dict[str, type[PanelConfig] | type[TileConfig]] = {"panel": PanelConfig, "tile": TileConfig}


def to_json(config: Config) -> dict[str, Any]:
    """A configuration as JSON values."""
    kind = "panel" if isinstance(config, PanelConfig) else "tile"
    return {"kind": kind, **asdict(config)}


def from_json(values: dict[str, Any]) -> Config:
    """A configuration from JSON values. Raises `StoreError` for foreign ones."""
    fields = dict(values)
    try:
        return _KINDS[fields.pop("kind")](**{k: int(v) for k, v in fields.items()})
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{values!r} is no GEMM configuration of this version") from error


def vector_type(dtype_name: str, lanes: int) -> VectorMaker:
    """The dialect's vector type."""
    dtype = dtypes.parse(dtype_name)
    assert dtype is not None
    return VectorMaker(dtype, lanes)


def tile_lanes(itemsize: int) -> int:
    """Lanes of a 16-byte vector, the widest that GPUs load at once."""
    return 16 // itemsize


def register_count(caps: Capabilities) -> int:
    """Architectural vector registers: 32 with 512-bit vectors (AVX-512), 16 below (AVX2)."""
    return 32 if caps.vector_width_float >= 16 else 16


def native_lanes(caps: Capabilities, itemsize: int) -> int:
    """Lanes of the device's vector registers for an element size."""
    width = caps.vector_width_float * 4 // itemsize
    return min(16, max(2, width))


# 32-bit registers: what a thread of the tile kernel keeps besides its accumulators, what a thread can have, and what a
# work-group can have (the register file of a compute unit, 256 KiB on today's GPUs)
_OTHER_REGISTERS = 40
_THREAD_REGISTERS = 208
_GROUP_REGISTERS = 65536


def is_legal(config: Config, caps: Capabilities, itemsize: int) -> bool:
    """Whether a device can run a configuration."""
    if isinstance(config, PanelConfig):
        return config.registers <= register_count(caps) and config.lanes <= 16
    lanes = tile_lanes(itemsize)
    threads = config.threads
    registers = config.thread_m * config.thread_n * itemsize // 4 + _OTHER_REGISTERS
    return (
        config.tile_m % (config.thread_m) == 0
        and config.tile_n % config.thread_n == 0
        and config.thread_m % lanes == 0
        and config.thread_n % lanes == 0
        and threads <= min(caps.max_work_group_size, caps.max_work_item_sizes[0])
        and threads % caps.preferred_multiple == 0
        and config.tile_k % lanes == 0
        and (config.tile_m * config.tile_k) % (lanes * threads) == 0
        and (config.tile_n * config.tile_k) % (lanes * threads) == 0
        and config.local_memory(itemsize) <= caps.local_memory_static
        and registers <= _THREAD_REGISTERS
        and registers * threads <= _GROUP_REGISTERS
    )


def candidates(caps: Capabilities, itemsize: int) -> tuple[Config, ...]:
    """The search space on a device: every legal configuration."""
    if caps.local_memory_dedicated:
        tiles = (
            TileConfig(tile_m=m, tile_n=n, tile_k=k, thread_m=tm, thread_n=tn, group=group)
            for m in (32, 64, 128, 256)
            for n in (32, 64, 128, 256)
            for k in (4, 8, 16, 32)
            for tm in (2, 4, 8, 16)
            for tn in (2, 4, 8, 16)
            for group in (4, 8, 16)
        )
        return tuple(c for c in tiles if is_legal(c, caps, itemsize))
    lanes = native_lanes(caps, itemsize)
    panels = (
        PanelConfig(tile_m=m, vectors_n=v, lanes=lanes, unroll_k=u, group_m=gm, group_n=gn)
        for m in range(2, 15)
        for v in (1, 2, 3, 4)
        for u in (1, 2, 4)
        for gm in (4, 8, 16, 32)
        for gn in (1, 2, 4, 8)
    )
    return tuple(c for c in panels if is_legal(c, caps, itemsize) and c.tile_m * c.vectors_n >= 6)


def predicted_time(config: Config, problem: Problem, caps: Capabilities) -> float:
    """Relative time that the model expects; only its order matters.

    Both variants: multiply-adds of all padded tiles, over the share of time that the arithmetic units are busy, times
    the quantisation of waves of work-groups over compute units. The busy share follows from the ratio of multiply-adds
    to loads: a register tile of r x c needs r + c loads for r * c multiply-adds.
    """
    m, n, k = problem.m, problem.n, problem.k
    units = max(1, caps.compute_units)
    if isinstance(config, PanelConfig):
        rows, columns = math.ceil(m / config.tile_m), math.ceil(n / config.tile_n)
        groups = math.ceil(rows / config.group_m) * math.ceil(columns / config.group_n)
        loads = config.tile_m + 2 * config.vectors_n
        work = config.tile_m * config.vectors_n
        busy = work / (work + 0.6 * loads) * min(1.0, work / 16)
        # other programs take turns on the cores: many small groups balance that, each costs a little
        waves = (groups + units) / groups
        started = 15_000 * groups
        # the panel of B that the micro-kernel walks again and again must stay in the second-level cache
        cached = config.tile_n * k * problem.itemsize <= 2**19
        overhead = 1.0 + 0.02 * config.unroll_k + (0.0 if cached else 0.1)
        return (rows * config.tile_m * columns * config.tile_n * k / busy * overhead + started) * waves
    tiles = math.ceil(m / config.tile_m) * math.ceil(n / config.tile_n)
    local = config.local_memory(problem.itemsize)
    registers = config.thread_m * config.thread_n * problem.itemsize // 4 + 64
    resident = max(1, min(65536 // (registers * config.threads), caps.local_memory_static // local))
    slots = units * resident
    waves = math.ceil(tiles / slots) * slots / tiles if tiles > slots else max(1.0, units / tiles)
    intensity = config.tile_m * config.tile_n / (config.tile_m + config.tile_n)
    ratio = config.thread_m * config.thread_n / (config.thread_m + config.thread_n)
    hiding = min(1.0, resident * config.threads / 256)
    busy = intensity / (intensity + 8) * ratio / (ratio + 0.5) * (0.6 + 0.4 * hiding)
    padded = math.ceil(m / config.tile_m) * config.tile_m * math.ceil(n / config.tile_n) * config.tile_n * k
    return padded / busy * waves


def default_config(problem: Problem, caps: Capabilities) -> Config:
    """The model's choice for an untuned device."""
    return min(_shortlist(caps, problem.itemsize), key=lambda c: predicted_time(c, problem, caps))


def _shortlist(caps: Capabilities, itemsize: int) -> tuple[Config, ...]:
    """Configurations that a default is taken from: shapes known to be sound on many devices."""
    if caps.local_memory_dedicated:
        shapes = (
            (256, 128, 16, 16, 8),
            (128, 128, 16, 16, 8),
            (128, 128, 8, 8, 8),
            (128, 64, 16, 8, 8),
            (64, 64, 16, 8, 4),
            (64, 64, 16, 4, 4),
            (64, 32, 16, 4, 4),
            (32, 32, 16, 4, 2),
            (32, 32, 16, 2, 2),
            (32, 32, 8, 4, 4),
        )
        tiles: list[Config] = [
            TileConfig(tile_m=m, tile_n=n, tile_k=k, thread_m=tm, thread_n=tn, group=8) for m, n, k, tm, tn in shapes
        ]
        legal = tuple(t for t in tiles if is_legal(t, caps, itemsize))
        return legal or candidates(caps, itemsize)
    lanes = native_lanes(caps, itemsize)
    shapes_panel = ((12, 2), (14, 2), (8, 3), (6, 2), (4, 2), (4, 1))
    panels: list[Config] = [
        PanelConfig(tile_m=m, vectors_n=v, lanes=lanes, unroll_k=1, group_m=gm, group_n=gn)
        for m, v in shapes_panel
        for gm, gn in ((16, 1), (8, 1), (4, 1), (2, 1), (1, 1))
    ]
    return tuple(p for p in panels if is_legal(p, caps, itemsize))
