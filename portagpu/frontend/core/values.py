"""Values of Python expressions during lowering: constants, IR expressions, aggregates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import is_
from typing import TYPE_CHECKING, Any

from portagpu.errors import KernelError, KernelTypeError
from portagpu.ir.nodes import Expr, Node
from portagpu.ir.types import Element, Layout, Space, fields_of
from portagpu.types.record_layout import Record

if TYPE_CHECKING:
    from typing_extensions import TypeIs


@dataclass(frozen=True, slots=True, eq=False)
class Const:
    """Any Python object known at compile time."""

    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class ArrayValue:
    """An array or a view: where it starts, its shape and its strides.

    Strides count elements. Where ``align`` is not 0 they count bytes and ``base`` points to bytes: records, and numbers
    that begin anywhere; each element then starts at a multiple of ``align`` bytes. A record is an array without axes.
    """

    element: Element | Record
    base: Expr
    shape: tuple[Expr, ...]
    strides: tuple[Expr, ...]
    space: Space
    readonly: bool
    layout: Layout
    dynamic: bool = False  # CUDA's dynamic shared memory: no bounds known
    align: int = 0

    @property
    def record(self) -> Record | None:
        """The record type, if this is one record: a reference to it, as in CUDA-Python."""
        return self.element if isinstance(self.element, Record) and not self.shape else None

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def describe(self) -> str:
        """The type as error messages show it."""
        space = "" if self.space is Space.GLOBAL else f"{self.space.value} "
        if self.record is not None:
            return f"{space}{self.record}"
        return f"{space}array({self.element}, {self.ndim}d)"


@dataclass(frozen=True, slots=True, eq=False)
class TupleValue:
    """A tuple: a compile-time aggregate; a namedtuple has the names of its fields."""

    items: tuple[Value, ...]
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class OptionalValue:
    """A number, or a tuple of numbers, on some paths and None on others; zeros where it is None."""

    present: Condition
    item: Value


@dataclass(frozen=True, slots=True, eq=False)
class RangeValue:
    """``range(start, stop, step)``."""

    start: Value
    stop: Value
    step: Value


@dataclass(frozen=True, slots=True, eq=False)
class UnrollValue:
    """``cuda.unroll(...)`` around compile-time items."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class EnumerateValue:
    """``enumerate(iterable, start)``."""

    iterable: Value
    start: Value


@dataclass(frozen=True, slots=True, eq=False)
class ZipValue:
    """``zip(...)``."""

    iterables: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PlacesValue:
    """The places of an array in row-major order: their indices (`np.ndindex`), elements (``a.flat``) or both."""

    shape: tuple[Value, ...]
    array: ArrayValue | None = None
    indices: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class MethodValue:
    """A method looked up on a runtime value."""

    owner: Value
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class FunctionValue:
    """A function that a kernel defines, with the values of its defaults, and of the variables that it captures.

    ``captured`` is None in the function that defines it: there they are read when it is called, as in Python.
    """

    function: Any  # a `syntax.local_functions.LocalFunction`
    defaults: tuple[Value, ...]
    captured: tuple[Value, ...] | None = None

    @property
    def items(self) -> tuple[Value, ...]:
        """All values that it has."""
        return self.defaults + (self.captured or ())


Aggregate = ArrayValue | TupleValue | FunctionValue
"""Values of several leaves, each of which has a variable of its own."""


@dataclass(frozen=True, slots=True, eq=False)
class Missing:
    """A variable that has no usable value here; reading it is an error with this message."""

    message: str
    hint: str | None
    kind: type[KernelError] = KernelTypeError


Value = (
    Const
    | Expr
    | ArrayValue
    | TupleValue
    | OptionalValue
    | RangeValue
    | UnrollValue
    | EnumerateValue
    | ZipValue
    | PlacesValue
    | MethodValue
    | FunctionValue
    | Missing
)


Condition = Const | Expr  # of type bool


def is_expr(value: object) -> TypeIs[Expr]:
    """Whether a value is a single IR expression."""
    return isinstance(value, Node)


def constants(values: Sequence[Value]) -> list[Any] | None:
    """The Python objects, if all values are compile-time constants."""
    known = [value.value for value in values if isinstance(value, Const)]
    return known if len(known) == len(values) else None


class SliceFields(tuple[str, ...]):
    """Names of a slice's parts; their class tells slices from named tuples."""

    __slots__ = ()


SLICE_FIELDS = SliceFields(("start", "stop", "step"))


def aggregate(value: Value) -> Value:
    """A value whose constant tuples and slices are tuples of constants."""
    if isinstance(value, Const) and isinstance(value.value, slice):
        bounds = value.value
        return TupleValue((Const(bounds.start), Const(bounds.stop), Const(bounds.step)), SLICE_FIELDS)
    if isinstance(value, Const) and isinstance(value.value, tuple):
        return TupleValue(tuple(aggregate(Const(v)) for v in value.value), fields_of(value.value))
    if isinstance(value, TupleValue):
        items = tuple(map(aggregate, value.items))
        return value if all(map(is_, items, value.items)) else TupleValue(items, value.fields)
    return value


def leaves(value: Value) -> tuple[Value, ...]:
    """The constants and expressions a value is made of."""
    if isinstance(value, ArrayValue):
        return (value.base, *value.shape, *value.strides)
    if isinstance(value, Missing):
        return ()
    if isinstance(value, TupleValue | FunctionValue):
        return tuple(leaf for item in value.items for leaf in leaves(item))
    if isinstance(value, OptionalValue):
        return (value.present, *leaves(value.item))
    return (value,)


def rebuild(value: Value, parts: Iterator[Value]) -> Value:
    """A value of the same structure from other leaves."""
    if isinstance(value, ArrayValue):
        base: Any = next(parts)
        shape: Any = tuple(next(parts) for _ in value.shape)
        strides: Any = tuple(next(parts) for _ in value.strides)
        readonly = value.readonly or base.type.readonly  # one of the arrays that met here may be
        return replace(value, base=base, shape=shape, strides=strides, readonly=readonly)
    if isinstance(value, Missing):
        return value
    if isinstance(value, TupleValue):
        return TupleValue(tuple(rebuild(item, parts) for item in value.items), value.fields)
    if isinstance(value, FunctionValue):
        items = tuple(rebuild(item, parts) for item in value.items)
        count = len(value.defaults)
        return FunctionValue(value.function, items[:count], None if value.captured is None else items[count:])
    if isinstance(value, OptionalValue):
        present: Any = next(parts)
        return OptionalValue(present, rebuild(value.item, parts))
    return next(parts)


def structure(value: Value) -> object:
    """What two values must share to be merged leaf by leaf."""
    if isinstance(value, ArrayValue):
        return ("array", value.element, value.ndim, value.space, value.align)
    if isinstance(value, Missing):
        return "missing"
    if isinstance(value, TupleValue):
        return ("tuple", value.fields, tuple(structure(item) for item in value.items))
    if isinstance(value, FunctionValue):
        kinds = tuple(structure(item) for item in value.items)
        return ("function", value.function, value.captured is None, kinds)
    if isinstance(value, OptionalValue):
        return ("optional", structure(value.item))
    return "leaf"
