"""The element variant: a thread for each element of the result, for small products (`kernels`)."""

from __future__ import annotations

from dataclasses import dataclass

from portagpu.blas.gemm.core.accumulation import conversion, is_plain, number_type
from portagpu.blas.gemm.core.interface import Config, Product, Variant, clock_mhz
from portagpu.blas.gemm.core.kernel_arguments import Extents
from portagpu.blas.gemm.core.operands import index_type, matrix_of, placed_operand, strided_matrix_of
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.core.vector_types import name_of
from portagpu.blas.gemm.kernels.launch import MOST_TERMS
from portagpu.blas.gemm.variants.cost_model import cores
from portagpu.blas.gemm.variants.element.kernels import multiply_elements
from portagpu.device.capabilities import Capabilities
from portagpu.tuning.tunables.space import Axis

_LIMIT = 32 * 32 * 32  # multiply-adds of a product; above, packing or tiles cost less than they gain
_CYCLES_A_TERM = 40.0  # of a thread: two loads that depend on nothing but their place
_CYCLES_OF_CPU = (
    8.0  # the same where compilers make no vectors of such threads; 5 to 10, two drivers, 1000 of 8 x 8 x 8
)
_LAUNCH_SECONDS = 4e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementConfig(Config):
    """Parameters of the element variant."""

    threads: int


class ElementVariant(Variant):
    """See `portagpu.blas.gemm.variants.element.kernels`."""

    name = "element"
    config_type = ElementConfig

    def supports(self, problem: Problem, caps: Capabilities) -> bool:
        """Small products of all real dtypes, and batches of them."""
        is_long = problem.k > MOST_TERMS and not caps.local_memory_dedicated
        return is_plain(problem) and problem.m * problem.n * problem.k <= _LIMIT and not is_long

    def axes(self, problem: Problem, caps: Capabilities) -> tuple[Axis, ...]:
        """Threads of a block."""
        return (Axis("threads", (1, 16, 32, 64, 128, 256)),)

    def is_legal(self, config: ElementConfig, problem: Problem, caps: Capabilities) -> bool:
        """The device runs such blocks."""
        return config.threads <= min(caps.max_work_group_size, caps.max_work_item_sizes[0])

    def predict(self, config: ElementConfig, problem: Problem, caps: Capabilities) -> float:
        """What a thread takes for a term, with as many threads at work as the device has lanes."""
        lanes = 256 * cores(caps) if caps.local_memory_dedicated else max(1, caps.compute_units)
        elements = problem.m * problem.n * problem.batch
        rounds = -(-elements // lanes)
        cycles = rounds * problem.k * (_CYCLES_A_TERM if caps.local_memory_dedicated else _CYCLES_OF_CPU)
        return cycles * 1e-6 / clock_mhz(caps) + _LAUNCH_SECONDS

    def shortlist(self, problem: Problem, caps: Capabilities) -> tuple[ElementConfig, ...]:
        """One size of blocks."""
        return (ElementConfig(threads=64 if caps.max_work_group_size >= 64 else 1),)

    def run(self, config: ElementConfig, product: Product) -> None:
        """One launch."""
        a, b, c = placed_operand(product.a), placed_operand(product.b), placed_operand(product.c)
        m, n, k, batch = product.c.shape[-2], product.c.shape[-1], product.a.shape[-1], product.batch
        found = conversion(name_of(product.a.dtype), name_of(product.c.dtype), 2)
        number = index_type(a.array, b.array, c.array)
        multiply_elements[-(-m * n * batch // config.threads), config.threads, product.stream](
            strided_matrix_of(a, number),
            strided_matrix_of(b, number),
            matrix_of(c, number),
            Extents(number(m), number(n), number(k)),
            number(batch),
            product.factors(number_type(found.scaled)),
            number_type(found.vector),
            found.any_epilogue,
            found.whole,
        )
