"""`Variant`: the interface of a GEMM variant; `Product`, `Config`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import MISSING, asdict, dataclass, fields
from functools import cache
from typing import Any, ClassVar

from portagpu.blas.gemm.core.fusion import Fusion
from portagpu.blas.gemm.core.kernel_arguments import Factors
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.core.vector_types import name_of
from portagpu.device.capabilities import Capabilities
from portagpu.errors import StoreError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream
from portagpu.tuning.tunables.space import Axis, Point, SearchSpace


@dataclass(frozen=True, slots=True)
class Config:
    """Parameters of a variant; each variant has its own subclass, whose fields are numbers, booleans and texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """``c = alpha * a @ b + beta * c`` on device arrays, to be enqueued on a stream.

    Matrices: a (m, k), b (k, n), c (m, n). Batches: a (batch, m, k), b (batch, k, n), c (batch, m, n) with batch > 1;
    an operand that all products share has batch stride 0. Every array has at least one element; c overlaps neither a
    nor b. With ``beta`` 0, c is not read; ``alpha`` is never 0. For integer sums alpha and beta are integers, for
    complex operands they may be complex. ``fusion``: what becomes of the scaled sums before they are stored, if
    anything: kernels do it when they store (`portagpu.blas.gemm.kernels.epilogue`), given what `factors` makes.

    A variant gets only what its `Variant.supports` said yes to for `problem`: it must look there at ``dtype``, ``out``,
    ``precision``, ``batch``, the orders, ``aligned`` and ``scaled`` as far as it has limits. What it refuses,
    `portagpu.blas.gemm.engine` turns into something that it takes: copies operands into aligned rows, computes into an
    aligned temporary result, walks along the batch.
    """

    a: DeviceNDArray
    b: DeviceNDArray
    c: DeviceNDArray
    stream: Stream
    alpha: complex = 1.0
    beta: complex = 0.0
    precision: str = ""
    fusion: Fusion | None = None

    def factors(self, number: Any, *, turned: bool = False) -> Factors:
        """Alpha and beta as numbers of a type, and what is fused with the product.

        ``turned``: for a kernel whose rows are columns of c.
        """
        fused = None if self.fusion is None else self.fusion.fused(turned=turned)
        return Factors(number(self.alpha.real), number(self.beta.real), fused)

    @property
    def batch(self) -> int:
        """Number of products."""
        return self.c.shape[0] if self.c.ndim == 3 else 1

    @property
    def problem(self) -> Problem:
        """What is asked for, without the arrays."""
        a, b, c = self.a, self.b, self.c
        return Problem(
            m=c.shape[-2],
            n=c.shape[-1],
            k=a.shape[-1],
            dtype=name_of(a.dtype),
            out=name_of(c.dtype),
            precision=self.precision,
            batch=self.batch,
            a_order=order_of(a),
            b_order=order_of(b),
            c_order="C" if order_of(c) == "C" else "",
            aligned=is_aligned(a) and is_aligned(b) and is_aligned(c) and ends_aligned(c),
            scaled=self.alpha != 1 or self.beta != 0,
        )


def clock_mhz(caps: Capabilities) -> int:
    """The device's clock, or a usual one where the driver does not tell: predictions are compared as seconds."""
    return caps.clock_mhz or 2000


ALIGNMENT = 16  # bytes: the widest load of today's GPUs


def order_of(matrix: DeviceNDArray) -> str:
    """ "C" where the elements of a row lie side by side, "F" where those of a column do, "" where neither do.

    Rows (columns) do not overlap; they, and the matrices of a batch, begin in ascending order, elements at multiples of
    their size. Of a matrix with one row or column both may hold: then the order is that in which
    neighbours lie side by side.
    """
    if matrix.layout == "C" and matrix.shape[-1] != 1 and not matrix.align:
        return "C"
    (rows, columns), (down, right), item = matrix.shape[-2:], matrix.strides[-2:], matrix.itemsize
    if matrix.align or (matrix.ndim == 3 and matrix.shape[0] > 1 and matrix.strides[0] < 0):
        return ""
    if columns == 1 and rows > 1 and down == item:
        return "F"
    if (columns == 1 or right == item) and (rows == 1 or down >= columns * item):
        return "C"
    if (rows == 1 or down == item) and (columns == 1 or right >= rows * item):
        return "F"
    return ""


def is_aligned(matrix: DeviceNDArray) -> bool:
    """Whether the base, and all steps except the one between neighbours, are multiples of 16 bytes."""
    order = order_of(matrix)
    axes = range(matrix.ndim)
    inner = {"C": matrix.ndim - 1, "F": matrix.ndim - 2}.get(order)
    steps = (s for axis, n, s in zip(axes, matrix.shape, matrix.strides, strict=True) if axis != inner and n > 1)
    return inner is not None and matrix.offset % ALIGNMENT == 0 and all(s % ALIGNMENT == 0 for s in steps)


def ends_aligned(result: DeviceNDArray) -> bool:
    """Whether rows end at multiples of 16 bytes, so that what is written in such pieces stays inside."""
    return result.shape[-1] * result.itemsize % ALIGNMENT == 0


_VALUES = (int, str)  # of parameters


class Variant(ABC):
    """Kernels that compute a product one way. Variants have no state; `selection.registry` lists them."""

    name: ClassVar[str]
    config_type: ClassVar[type[Config]]
    precisions: ClassVar[tuple[str, ...]] = ("",)
    """Values of ``Problem.precision`` that some device may support: users are told those that `supports` accepts."""

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
        values = {**point}
        values.pop("kind", None)
        known = _defaults(self)
        foreign = known.keys() ^ values.keys()  # none, mostly
        if any(known.get(name, MISSING) is MISSING for name in foreign) or not all(
            isinstance(value, _VALUES) for value in values.values()
        ):
            raise StoreError(f"{point!r} is no configuration of GEMM variant {self.name} of this version")
        return self.config_type(**values)

    def candidates(self, problem: Problem, caps: Capabilities) -> Iterator[Config]:
        """Every legal configuration."""
        return (self.config(point) for point in self.space(problem, caps))


@cache
def _defaults(variant: Variant) -> dict[str, Any]:
    """The parameters with their defaults; kept, since the tuner makes a configuration of each point of a space."""
    return {field.name: field.default for field in fields(variant.config_type)}
