"""What a recorded call returns, made of its operands and of new memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.factory import ArrayFactory

_CONSTANTS = (bool, int, float, complex, str)
Operands = tuple[DeviceNDArray, ...]


class Returned(NamedTuple):
    """An array that a call returns: an operand, by its number, or a view of one."""

    operand: int
    view: ArrayFactory | None


class Constant(NamedTuple):
    """What a call returns that it cannot have read from the device: it would have waited for it."""

    value: Any


class Several(NamedTuple):
    """A tuple that a call returns, of the kind of ``like``."""

    like: tuple[Any, ...]
    parts: tuple[Recipe, ...]


Recipe = Returned | Constant | Several
"""Of what a call returns."""


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


def recipe(returned: Any, operands: Operands) -> Recipe:
    """How what was returned is made of operands, new memory counted in. Raises `LookupError` where it is not."""
    if isinstance(returned, tuple):
        empty = tuple_like(returned, (None for _ in returned))
        return Several(empty, tuple(recipe(x, operands) for x in returned))
    if returned is None or type(returned) in _CONSTANTS:
        return Constant(returned)
    return _returned(returned, operands)


def _returned(x: Any, operands: Operands) -> Returned:
    if not isinstance(x, DeviceNDArray):
        raise LookupError
    for number, operand in enumerate(operands):
        if operand is x:
            return Returned(number, None)
    for number, operand in enumerate(operands):
        if operand.allocation_key == x.allocation_key:
            return Returned(number, ArrayFactory(x))
    raise LookupError


def made(how: Recipe, operands: Operands) -> Any:
    """What a call returns that had these operands."""
    if isinstance(how, Returned):
        whole = operands[how.operand]
        return whole if how.view is None else how.view.view(whole)
    if isinstance(how, Constant):
        return how.value
    return tuple_like(how.like, (made(one, operands) for one in how.parts))
