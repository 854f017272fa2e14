"""What a recorded call returns, made of its operands and of new memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.factory import ArrayFactory

_CONSTANTS = (bool, int, float, complex, str)
Operands = tuple[DeviceNDArray, ...]


class Leaf(Protocol):
    """One of the things that a call returns."""

    def of(self, operands: Sequence[Any]) -> Any:
        """It, for a call that had these operands."""


class Returned(NamedTuple):
    """An array that a call returns: an operand, by its number, or a view of one."""

    operand: int
    view: ArrayFactory | None

    def of(self, operands: Sequence[Any]) -> DeviceNDArray:
        """The operand, or such a view of it."""
        whole: DeviceNDArray = operands[self.operand]
        return whole if self.view is None else self.view.view(whole)


class Constant(NamedTuple):
    """What a call returns that it cannot have read from the device: it would have waited for it."""

    value: Any

    def of(self, operands: Sequence[Any]) -> Any:
        """The value."""
        return self.value


class Several(NamedTuple):
    """A tuple that a call returns, of the kind of ``like``."""

    like: tuple[Any, ...]
    parts: tuple[Leaf, ...]

    def of(self, operands: Sequence[Any]) -> tuple[Any, ...]:
        """The tuple."""
        return tuple_like(self.like, (part.of(operands) for part in self.parts))


def tuple_like(like: tuple[Any, ...], parts: Iterable[Any]) -> tuple[Any, ...]:
    """A tuple of the same class, which may have names for its fields."""
    kind = type(like)
    make: Callable[[Iterable[Any]], tuple[Any, ...]] = getattr(kind, "_make", kind)
    return make(parts)


def new_memory(returned: Any, operands: Operands) -> Operands:
    """The arrays that own what is returned and is no operand's."""
    keys = {x.allocation_key for x in operands}
    arrays = [x for x in _arrays_of(returned) if x.allocation_key not in keys]
    return tuple({x.allocation_key: x if x.base is None else x.base for x in arrays}.values())


def _arrays_of(returned: Any) -> list[DeviceNDArray]:
    if isinstance(returned, tuple):
        return [x for one in returned for x in _arrays_of(one)]
    return [returned] if isinstance(returned, DeviceNDArray) else []


def recipe(returned: Any, leaf: Callable[[Any], Leaf]) -> Leaf:
    """How what was returned is made again; ``leaf``: of what is no tuple. Raises `LookupError` where it raises that."""
    if isinstance(returned, tuple):
        empty = tuple_like(returned, (None for _ in returned))
        return Several(empty, tuple(recipe(x, leaf) for x in returned))
    return leaf(returned)


def leaf_of(operands: Operands, x: Any) -> Leaf:
    """How a part of what was returned is made of operands, new memory counted in. Raises `LookupError`."""
    if x is None or type(x) in _CONSTANTS:
        return Constant(x)
    if not isinstance(x, DeviceNDArray):
        raise LookupError
    for number, operand in enumerate(operands):
        if operand is x:
            return Returned(number, None)
    for number, operand in enumerate(operands):
        if operand.allocation_key == x.allocation_key:
            return Returned(number, ArrayFactory(x))
    raise LookupError
