"""The registry of GEMM variants, and configurations as values."""

from __future__ import annotations

from dataclasses import replace

from portagpu.blas.gemm.core.interface import Product, Variant
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.variants.batch.variant import BatchVariant
from portagpu.blas.gemm.variants.block.variant import BlockVariant
from portagpu.blas.gemm.variants.element.variant import ElementVariant
from portagpu.blas.gemm.variants.emulated.variant import EmulatedVariant
from portagpu.blas.gemm.variants.mma.float64_variant import DoubleVariant
from portagpu.blas.gemm.variants.mma.variant import FragmentVariant
from portagpu.blas.gemm.variants.panel.variant import PanelVariant
from portagpu.blas.gemm.variants.simt_async.variant import PipelinedVariant
from portagpu.blas.gemm.variants.skinny.mma_variant import SkinnyFragmentVariant
from portagpu.blas.gemm.variants.skinny.variant import SkinnyVariant
from portagpu.blas.gemm.variants.subgroup.matrix_variant import SubgroupMatrixVariant
from portagpu.blas.gemm.variants.subgroup.variant import SubgroupVariant
from portagpu.blas.gemm.variants.tile.variant import TileVariant
from portagpu.blas.gemm.variants.vector.variant import VectorVariant
from portagpu.blas.gemm.variants.wave_matrix.variant import WaveMatrixVariant
from portagpu.blas.gemm.variants.wgmma.variant import WarpgroupVariant
from portagpu.blas.tunables.registry import VariantRegistry
from portagpu.device.capabilities import Capabilities

KERNEL_VERSION = 3  # raise when a kernel changes in a way that makes stored results wrong

VARIANTS: tuple[Variant, ...] = (
    ElementVariant(),
    BatchVariant(),
    BlockVariant(),
    PanelVariant(),
    TileVariant(),
    VectorVariant(),
    SkinnyVariant(),
    SkinnyFragmentVariant(),
    WarpgroupVariant(),
    EmulatedVariant(),
    PipelinedVariant(),
    DoubleVariant(),
    FragmentVariant(),
    WaveMatrixVariant(),
    SubgroupMatrixVariant(),
    SubgroupVariant(),
)

REGISTRY: VariantRegistry[Problem, Product] = VariantRegistry("GEMM", VARIANTS)

variant_of = REGISTRY.variant_of
variants_for = REGISTRY.variants_for
to_json = REGISTRY.to_json
from_json = REGISTRY.from_json
is_legal = REGISTRY.is_legal
candidates = REGISTRY.candidates
predicted_time = REGISTRY.predicted_time
default_config = REGISTRY.default_config
search_space = REGISTRY.search_space


def all_precisions() -> tuple[str, ...]:
    """The precisions that some variant has on some device."""
    return tuple(dict.fromkeys(precision for variant in VARIANTS for precision in variant.precisions))


def precisions(problem: Problem, caps: Capabilities) -> tuple[str, ...]:
    """The precisions in which a device can compute a problem, whatever its layout and batch."""
    plain = {"batch": 1, "a_order": "C", "b_order": "C", "c_order": "C", "aligned": True, "scaled": False}
    return tuple(p for p in all_precisions() if variants_for(replace(problem, precision=p, **plain), caps))  # type: ignore[arg-type]
