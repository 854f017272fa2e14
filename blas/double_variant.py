"""The double variant: float64 by the matrix units of CUDA GPUs (`double_kernels`)."""

from __future__ import annotations

from dataclasses import dataclass

from portagpu.blas.dense_operands import Operand, operand
from portagpu.blas.double_kernels import DoublePlan, multiply_doubles
from portagpu.blas.pieces import multiply
from portagpu.blas.problem import Problem
from portagpu.blas.variant import Config, Product, Variant
from portagpu.blas.vectors import vector_type
from portagpu.cuda import jit
from portagpu.cuda.dispatcher import Dispatcher
from portagpu.device.capabilities import Capabilities

_kernels: dict[int, Dispatcher] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class DoubleConfig(Config):
    """Parameters of the double variant: warps of a block, fragments of a warp (16 x 8 elements), and the pipeline."""

    warps_m: int
    warps_n: int
    blocks_m: int
    blocks_n: int
    tile_k: int
    stages: int
    depth: int
    buffers: int
    group: int
    split_k: int

    @property
    def tile_m(self) -> int:
        """Rows of a block's tile."""
        return self.warps_m * 16 * self.blocks_m

    @property
    def tile_n(self) -> int:
        """Columns of a block's tile."""
        return self.warps_n * 8 * self.blocks_n

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.warps_m * self.warps_n * 32

    @property
    def local_memory(self) -> int:
        """Bytes of shared memory, at most: rows along m or n have two elements of padding."""
        return self.stages * self.tile_k * (self.tile_m + self.tile_n + 4) * 8


class DoubleVariant(Variant):
    """See `portagpu.blas.double_kernels`."""

    name = "doubles"
    config_type = DoubleConfig

    def supports(self, problem: Problem, caps: Capabilities) -> bool:
        """Products of float64, in any layout with dense rows or columns, where `cuda.mma_sync` has 16 rows of them."""
        plain = not problem.out and not problem.precision and problem.dtype == "float64"
        ordered = problem.a_order and problem.b_order and problem.c_order == "C"
        return bool(plain and ordered and caps.ptx_target >= (9, 0))

    def run(self, config: DoubleConfig, product: Product) -> None:
        """One launch, or two if sums are formed in pieces."""
        a, b, c = operand(product.a), operand(product.b), operand(product.c)
        # fragments of the kernel's A are read as they lie where its rows lie across k, those of its B along k
        transposed = a.order == "C" and b.order == "C"
        plan = _plan(config, a, b, c, product, transposed)
        tile = (config.tile_m, config.tile_n, config.tile_k)
        last = (vector_type("float64", 2), plan)
        kernel = _kernel(config.threads)
        multiply(kernel, product, (a, b, c), tile, config.threads, config.split_k, last, transposed=transposed)


def _plan(config: DoubleConfig, a: Operand, b: Operand, c: Operand, product: Product, transposed: bool) -> DoublePlan:
    """What the compiler shall know of a launch."""
    (m, k), n = product.a.shape[-2:], product.b.shape[-1]
    first, second, rows, columns = (b, a, n, m) if transposed else (a, b, m, n)
    return DoublePlan(
        warps_m=config.warps_m,
        warps_n=config.warps_n,
        blocks_m=config.blocks_m,
        blocks_n=config.blocks_n,
        tile_k=config.tile_k,
        stages=config.stages,
        depth=config.depth,
        buffers=config.buffers,
        group=config.group,
        a_along_k=first.order == ("F" if transposed else "C"),
        b_along_k=second.order == ("C" if transposed else "F"),
        transposed=transposed,
        wide_a=first.wide,
        wide_b=second.wide,
        wide_c=c.wide if n % 2 == 0 else 1,
        guard_a=rows < config.tile_m,
        guard_b=columns < config.tile_n,
        tail=k % config.tile_k != 0,
    )


def _kernel(threads: int) -> Dispatcher:
    """The kernel for a block of so many threads: the compiler then knows how many registers a thread may use."""
    found = _kernels.get(threads)
    if found is None:
        found = _kernels[threads] = jit(multiply_doubles.py_func, block_dim=(threads, 1, 1))
    return found
