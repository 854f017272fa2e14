"""The registry of GEMM variants, and configurations as values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from portagpu.blas.gemm.core.interface import Config, Variant
from portagpu.blas.gemm.core.problem import Problem
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
from portagpu.device.capabilities import Capabilities
from portagpu.errors import StoreError
from portagpu.tuning.tunables.space import Point

KERNEL_VERSION = 3  # raise when a kernel changes in a way that makes stored results wrong

VARIANTS: tuple[Variant, ...] = (
    ElementVariant(),
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
_BY_NAME = {variant.name: variant for variant in VARIANTS}
_BY_TYPE = {variant.config_type: variant for variant in VARIANTS}


def variant_of(config: Config) -> Variant:
    """The variant that a configuration belongs to."""
    return _BY_TYPE[type(config)]


def variants_for(problem: Problem, caps: Capabilities) -> tuple[Variant, ...]:
    """The variants that can compute a problem on a device."""
    if problem.dtype in ("float64", "complex128") and not caps.fp64:
        return ()
    return tuple(variant for variant in VARIANTS if variant.supports(problem, caps))


def all_precisions() -> tuple[str, ...]:
    """The precisions that some variant has on some device."""
    return tuple(dict.fromkeys(precision for variant in VARIANTS for precision in variant.precisions))


def precisions(problem: Problem, caps: Capabilities) -> tuple[str, ...]:
    """The precisions in which a device can compute a problem, whatever its layout and batch."""
    plain = {"batch": 1, "a_order": "C", "b_order": "C", "c_order": "C", "aligned": True, "scaled": False}
    return tuple(p for p in all_precisions() if variants_for(replace(problem, precision=p, **plain), caps))  # type: ignore[arg-type]


def to_json(config: Config) -> Point:
    """A configuration as JSON values: the variant's name under "kind", and the parameters."""
    return variant_of(config).point(config)


def from_json(point: Point) -> Config:
    """A configuration from JSON values. Raises `StoreError` for foreign ones."""
    variant = _BY_NAME.get(str(point.get("kind")))
    if variant is None:
        raise StoreError(f"{point!r} is no GEMM configuration of this version")
    return variant.config(point)


def is_legal(config: Config, problem: Problem, caps: Capabilities) -> bool:
    """Whether a device can compute a problem with a configuration."""
    variant = variant_of(config)
    return variant.supports(problem, caps) and variant.is_legal(config, problem, caps)


def candidates(problem: Problem, caps: Capabilities) -> Iterator[Config]:
    """Every legal configuration of every variant."""
    for variant in variants_for(problem, caps):
        yield from variant.candidates(problem, caps)


def predicted_time(config: Config, problem: Problem, caps: Capabilities) -> float:
    """Seconds that the variant's model expects."""
    return variant_of(config).predict(config, problem, caps)


def default_config(problem: Problem, caps: Capabilities) -> Config | None:
    """The model's choice among sound configurations for an untuned device; None if no variant can do it."""
    sound = [
        (v.predict(c, problem, caps), i, c)
        for i, v in enumerate(variants_for(problem, caps))
        for c in v.shortlist(problem, caps)
    ]
    return min(sound, key=lambda item: item[:2])[2] if sound else None
