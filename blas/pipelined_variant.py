"""The pipelined variant: float32 without matrix units, tiles that travel by asynchronous copies (`pipelined_kernels`)."""

from __future__ import annotations

from dataclasses import dataclass

from portagpu.blas.dense_operands import Operand, operand
from portagpu.blas.pieces import multiply
from portagpu.blas.pipelined_kernels import Plan, multiply_pipelined
from portagpu.blas.problem import Problem
from portagpu.blas.variant import Config, Product, Variant
from portagpu.blas.vectors import vector_type
from portagpu.cuda import jit
from portagpu.cuda.dispatcher import Dispatcher
from portagpu.device.capabilities import Capabilities

_kernels: dict[int, Dispatcher] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelinedConfig(Config):
    """Parameters of the pipelined variant: warps of a block, tile of a thread, depth of a step, stages, splits of k."""

    warps_m: int
    warps_n: int
    thread_m: int
    thread_n: int
    tile_k: int
    stages: int
    group: int
    spread: int
    split_k: int

    @property
    def tile_m(self) -> int:
        """Rows of a block's tile."""
        return self.warps_m * 4 * self.thread_m

    @property
    def tile_n(self) -> int:
        """Columns of a block's tile."""
        return self.warps_n * 8 * self.thread_n

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.warps_m * self.warps_n * 32

    @property
    def local_memory(self) -> int:
        """Bytes of shared memory, at most: planes along k end in 32 bytes of padding."""
        return self.stages * self.tile_k * (self.tile_m + self.tile_n + 4) * 4


class PipelinedVariant(Variant):
    """See `portagpu.blas.pipelined_kernels`."""

    name = "pipelined"
    config_type = PipelinedConfig

    def supports(self, problem: Problem, caps: Capabilities) -> bool:
        """Products of float32, in any layout with dense rows or columns, where local memory is on the chip."""
        plain = not problem.out and not problem.precision and problem.dtype == "float32"
        ordered = problem.a_order and problem.b_order and problem.c_order == "C"
        return bool(plain and ordered and caps.local_memory_dedicated)

    def run(self, config: PipelinedConfig, product: Product) -> None:
        """One launch, or two if sums are formed in pieces."""
        a, b, c = operand(product.a), operand(product.b), operand(product.c)
        plan = _plan(config, a, b, c, product)
        tile = (config.tile_m, config.tile_n, config.tile_k)
        last = (vector_type("float32", 4), plan)
        multiply(_kernel(config.threads), product, (a, b, c), tile, config.threads, config.split_k, last)


def _plan(config: PipelinedConfig, a: Operand, b: Operand, c: Operand, product: Product) -> Plan:
    """What the compiler shall know of a launch."""
    (m, k), n = product.a.shape[-2:], product.b.shape[-1]
    return Plan(
        warps_m=config.warps_m,
        warps_n=config.warps_n,
        thread_m=config.thread_m,
        thread_n=config.thread_n,
        tile_k=config.tile_k,
        stages=config.stages,
        group=config.group,
        spread=config.spread,
        a_along_k=a.order == "C",
        b_along_k=b.order == "F",
        wide_a=a.wide,
        wide_b=b.wide,
        wide_c=4 if c.wide == 4 else 1,
        guard_a=m < config.tile_m,
        guard_b=n < config.tile_n,
        tail=k % config.tile_k != 0,
    )


def _kernel(threads: int) -> Dispatcher:
    """The kernel for a block of so many threads: the compiler then knows how many registers a thread may use."""
    found = _kernels.get(threads)
    if found is None:
        found = _kernels[threads] = jit(multiply_pipelined.py_func, block_dim=(threads, 1, 1))
    return found
