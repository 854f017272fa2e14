"""What a recorded call returns, made of its operands and of new memory."""

from __future__ import annotations

from typing import Any, NamedTuple

from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.factory import ArrayFactory

Operands = tuple[DeviceNDArray, ...]


class Returned(NamedTuple):
    """An array that a call returns: an operand, by its number, or a view of one."""

    operand: int
    view: ArrayFactory | None


Recipe = Returned | tuple[Returned, ...] | None
"""Of a call that returns an array, several, or nothing."""


def new_memory(returned: Any, operands: Operands) -> Operands:
    """The arrays that own what is returned and is no operand's."""
    keys = {x.allocation_key for x in operands}
    found = returned if isinstance(returned, tuple) else (returned,)
    arrays = [x for x in found if isinstance(x, DeviceNDArray) and x.allocation_key not in keys]
    return tuple({x.allocation_key: x if x.base is None else x.base for x in arrays}.values())


def recipe(returned: Any, operands: Operands) -> Recipe:
    """How what was returned is made of operands, new memory counted in. Raises `LookupError` where it is not."""
    if returned is None:
        return None
    if isinstance(returned, tuple):
        return tuple(_returned(x, operands) for x in returned)
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
    if how is None:
        return None
    if isinstance(how, Returned):
        whole = operands[how.operand]
        return whole if how.view is None else how.view.view(whole)
    return tuple(made(one, operands) for one in how)
