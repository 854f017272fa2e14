"""`VariantRegistry`: the variants of a routine, and their configurations as values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from portagpu.blas.tunables.variant import Config, RoutineProblem, Variant
from portagpu.device.capabilities import Capabilities
from portagpu.errors import StoreError
from portagpu.tuning.tunables.space import Point, UnionSpace

P = TypeVar("P", bound=RoutineProblem)
C = TypeVar("C")

_DOUBLES = ("float64", "complex128")


@dataclass(frozen=True, eq=False)
class VariantRegistry(Generic[P, C]):
    """The variants of a routine, in the order in which equal predictions are preferred.

    ``routine``: what it is called in errors.
    """

    routine: str
    variants: tuple[Variant[P, C], ...]
    _by_name: dict[str, Variant[P, C]] = field(init=False, repr=False)
    _by_type: dict[type[Config], Variant[P, C]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {variant.name: variant for variant in self.variants})
        object.__setattr__(self, "_by_type", {variant.config_type: variant for variant in self.variants})

    def variant_of(self, config: Config) -> Variant[P, C]:
        """The variant that a configuration belongs to."""
        return self._by_type[type(config)]

    def variants_for(self, problem: P, caps: Capabilities) -> tuple[Variant[P, C], ...]:
        """The variants that can compute a problem on a device."""
        if problem.dtype in _DOUBLES and not caps.fp64:
            return ()
        return tuple(variant for variant in self.variants if variant.supports(problem, caps))

    def to_json(self, config: Config) -> Point:
        """A configuration as JSON values: the variant's name under "kind", and the parameters."""
        return self.variant_of(config).point(config)

    def from_json(self, point: Point) -> Config:
        """A configuration from JSON values. Raises `StoreError` for foreign ones."""
        variant = self._by_name.get(str(point.get("kind")))
        if variant is None:
            raise StoreError(f"{point!r} is no configuration of {self.routine} of this version")
        return variant.config(point)

    def is_legal(self, config: Config, problem: P, caps: Capabilities) -> bool:
        """Whether a device can compute a problem with a configuration."""
        variant = self.variant_of(config)
        return variant.supports(problem, caps) and variant.is_legal(config, problem, caps)

    def candidates(self, problem: P, caps: Capabilities) -> Iterator[Config]:
        """Every legal configuration of every variant."""
        for variant in self.variants_for(problem, caps):
            yield from variant.candidates(problem, caps)

    def predicted_time(self, config: Config, problem: P, caps: Capabilities) -> float:
        """Seconds that the variant's model expects."""
        return self.variant_of(config).predict(config, problem, caps)

    def default_config(self, problem: P, caps: Capabilities) -> Config | None:
        """The model's choice among sound configurations for an untuned device; None if no variant can do it."""
        sound: list[tuple[float, int, Any]] = [
            (v.predict(c, problem, caps), i, c)
            for i, v in enumerate(self.variants_for(problem, caps))
            for c in v.shortlist(problem, caps)
        ]
        return min(sound, key=lambda item: item[:2])[2] if sound else None

    def search_space(self, problem: P, caps: Capabilities) -> UnionSpace:
        """The legal configurations of every variant that can compute the problem on such a device."""
        return UnionSpace(tuple(variant.space(problem, caps) for variant in self.variants_for(problem, caps)))
