"""`Variant`: kernels that compute a routine one way, with parameters; `Config`: values of these."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import MISSING, asdict, dataclass, fields
from functools import cache
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from portagpu.device.capabilities import Capabilities
from portagpu.errors import StoreError
from portagpu.tuning.tunables.problems import Value
from portagpu.tuning.tunables.space import Axis, Point, SearchSpace


@dataclass(frozen=True, slots=True)
class Config:
    """Parameters of a variant; each variant has its own subclass, whose fields are numbers, booleans and texts."""


class RoutineProblem(Protocol):
    """What is asked of a routine, without the arrays: a frozen dataclass of sizes, dtypes and traits."""

    @property
    def dtype(self) -> str:
        """Dtype of the operands."""

    @property
    def values(self) -> dict[str, Value]:
        """The problem as the tuner knows it."""

    @property
    def words(self) -> str:
        """The problem for people."""


P = TypeVar("P", bound=RoutineProblem)
C = TypeVar("C")  # the arguments of a call: arrays, factors and the stream

_VALUES = (int, str)  # of parameters


def clock_mhz(caps: Capabilities) -> int:
    """The device's clock, or a usual one where the driver does not tell: predictions are compared as seconds."""
    return caps.clock_mhz or 2000


class Variant(ABC, Generic[P, C]):
    """Kernels that compute a routine one way. Variants have no state; a `VariantRegistry` lists those of a routine."""

    name: ClassVar[str]
    config_type: ClassVar[type[Config]]
    precisions: ClassVar[tuple[str, ...]] = ("",)
    """Values of ``Problem.precision`` that some device may support: users are told those that `supports` accepts."""

    @abstractmethod
    def supports(self, problem: P, caps: Capabilities) -> bool:
        """Whether the variant can compute this problem on such a device."""

    @abstractmethod
    def axes(self, problem: P, caps: Capabilities) -> tuple[Axis, ...]:
        """The parameters and their values, named as the fields of ``config_type``."""

    @abstractmethod
    def is_legal(self, config: Any, problem: P, caps: Capabilities) -> bool:
        """Whether the device can run a configuration."""

    @abstractmethod
    def predict(self, config: Any, problem: P, caps: Capabilities) -> float:
        """Seconds that the model expects."""

    @abstractmethod
    def shortlist(self, problem: P, caps: Capabilities) -> tuple[Any, ...]:
        """Legal configurations that are known to be sound on many devices: a default is taken from them."""

    @abstractmethod
    def run(self, config: Any, call: C, /) -> None:
        """Enqueue what is asked for."""

    def space(self, problem: P, caps: Capabilities) -> SearchSpace:
        """The search space: every legal configuration, as points that `point` makes."""

        def legal(point: Point) -> bool:
            return self.is_legal(self.config(point), problem, caps)

        return SearchSpace((Axis("kind", (self.name,)), *self.axes(problem, caps)), (legal,))

    def point(self, config: Config) -> Point:
        """A configuration as JSON values."""
        return {"kind": self.name, **asdict(config)}

    def config(self, point: Point) -> Config:
        """A configuration from JSON values. Raises `StoreError` for foreign ones."""
        values = {**point}
        values.pop("kind", None)
        known = _defaults(self)
        foreign = known.keys() ^ values.keys()  # none, mostly
        if any(known.get(name, MISSING) is MISSING for name in foreign) or not all(
            isinstance(value, _VALUES) for value in values.values()
        ):
            raise StoreError(f"{point!r} is no configuration of the variant {self.name} of this version")
        return self.config_type(**values)

    def candidates(self, problem: P, caps: Capabilities) -> Iterator[Config]:
        """Every legal configuration."""
        return (self.config(point) for point in self.space(problem, caps))


@cache
def _defaults(variant: Variant[Any, Any]) -> dict[str, Any]:
    """The parameters with their defaults; kept, since the tuner makes a configuration of each point of a space."""
    return {field.name: field.default for field in fields(variant.config_type)}
