"""The GEMM variants: which ones can compute a problem on a device, and their configurations as values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from portagpu.blas.block_variant import BlockVariant
from portagpu.blas.double_variant import DoubleVariant
from portagpu.blas.element_variant import ElementVariant
from portagpu.blas.emulated_variant import EmulatedVariant
from portagpu.blas.fragment_variant import FragmentVariant
from portagpu.blas.panel_variant import PanelVariant
from portagpu.blas.pipelined_variant import PipelinedVariant
from portagpu.blas.problem import Problem
from portagpu.blas.skinny_fragment_variant import SkinnyFragmentVariant
from portagpu.blas.skinny_variant import SkinnyVariant
from portagpu.blas.subgroup_matrix_variant import SubgroupMatrixVariant
from portagpu.blas.subgroup_variant import SubgroupVariant
from portagpu.blas.tile_variant import TileVariant
from portagpu.blas.variant import Config, Variant
from portagpu.blas.vector_variant import VectorVariant
from portagpu.blas.warpgroup_variant import WarpgroupVariant
from portagpu.blas.wave_matrix_variant import WaveMatrixVariant
from portagpu.device.capabilities import Capabilities
from portagpu.errors import StoreError
from portagpu.tuning.space import Point

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
