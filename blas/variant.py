"""What a GEMM variant is: kernels with parameters, what they can do, and what they are expected to take."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

from portagpu.blas.problem import Problem
from portagpu.device.capabilities import Capabilities
from portagpu.errors import StoreError
from portagpu.runtime.array import DeviceNDArray
from portagpu.runtime.stream import Stream
from portagpu.tuning.space import Axis, Point, SearchSpace


@dataclass(frozen=True, slots=True)
class Config:
    """Parameters of a variant; each variant has its own subclass, whose fields are numbers, booleans and texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """``c = alpha * a @ b + beta * c`` on device arrays, to be enqueued on a stream.

    a: (m, k), b: (k, n), c: (m, n), any strides, at least one element each; c overlaps neither a nor b. With
    ``beta`` 0, c is not read.
    """

    a: DeviceNDArray
    b: DeviceNDArray
    c: DeviceNDArray
    stream: Stream
    alpha: float = 1.0
    beta: float = 0.0


class Variant(ABC):
    """Kernels that compute a product one way. Variants have no state; `portagpu.blas.registry` lists them."""

    name: ClassVar[str]
    config_type: ClassVar[type[Config]]

    @abstractmethod
    def supports(self, problem: Problem, caps: Capabilities) -> bool:
        """Whether the variant can compute this problem on such a device."""

    @abstractmethod
    def axes(self, problem: Problem, caps: Capabilities) -> tuple[Axis, ...]:
        """The parameters and their values, named as the fields of ``config_type``."""

    @abstractmethod
    def is_legal(self, config: Any, problem: Problem, caps: Capabilities) -> bool:
        """Whether the device can run a configuration."""

    @abstractmethod
    def predict(self, config: Any, problem: Problem, caps: Capabilities) -> float:
        """Seconds that the model expects."""

    @abstractmethod
    def shortlist(self, problem: Problem, caps: Capabilities) -> tuple[Any, ...]:
        """Legal configurations that are known to be sound on many devices: a default is taken from them."""

    @abstractmethod
    def run(self, config: Any, product: Product) -> None:
        """Enqueue a product."""

    def space(self, problem: Problem, caps: Capabilities) -> SearchSpace:
        """The search space: every legal configuration, as points that `point` makes."""

        def legal(point: Point) -> bool:
            return self.is_legal(self.config(point), problem, caps)

        return SearchSpace((Axis("kind", (self.name,)), *self.axes(problem, caps)), (legal,))

    def point(self, config: Config) -> Point:
        """A configuration as JSON values."""
        return {"kind": self.name, **asdict(config)}

    def config(self, point: Point) -> Config:
        """A configuration from JSON values. Raises `StoreError` for foreign ones."""
        values = {name: value for name, value in point.items() if name != "kind"}
        known = {field.name for field in fields(self.config_type)}
        if set(values) != known or not all(isinstance(v, int | str) for v in values.values()):
            raise StoreError(f"{point!r} is no configuration of GEMM variant {self.name} of this version")
        return self.config_type(**values)

    def candidates(self, problem: Problem, caps: Capabilities) -> Iterator[Config]:
        """Every legal configuration."""
        return (self.config(point) for point in self.space(problem, caps))
