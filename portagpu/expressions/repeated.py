"""Expressions that are computed as others like them were: the launch is looked up by what they are made of.

That is for expressions whose operands are all there, arrays and numbers, and of which the program has dropped all but
the whole, as those of most programs that go step by step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from portagpu.dispatch.ready import ReadyLaunch, remember
from portagpu.expressions.node import Node
from portagpu.expressions.program import Program
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.factory import view_with
from portagpu.runtime.arrays.facts import Facts, facts_of
from portagpu.runtime.execution.context import Context

_TARGET = "target"  # in a key, for the array that is written


class _Repeated(NamedTuple):
    """A launch, and the layout token of the array that it makes.

    ``facts``: of views of the target and the arrays, None for those that are taken themselves. ``numbers``: that the
    kernel takes behind those of the expression.
    """

    ready: ReadyLaunch
    token: Any
    facts: tuple[Facts | None, ...] | None
    numbers: tuple[Any, ...]


class Taken(NamedTuple):
    """The target and the arrays of a launch, each with what the kernel took in its place, and further numbers."""

    places: Sequence[tuple[DeviceNDArray, DeviceNDArray]]
    numbers: tuple[Any, ...]


class Parts:
    """What an expression is made of: ``key``, which tells its launch, and the operands in the order of `Program`'s."""

    __slots__ = ("arrays", "key", "numbers")

    def __init__(self) -> None:
        self.key: list[Any] = []
        self.arrays: list[DeviceNDArray] = []
        self.numbers: list[Any] = []

    def add(self, node: Node, shape: tuple[int, ...], into: DeviceNDArray | None) -> bool:
        """Add a node and what it is applied to; False where the launch is not kept."""
        if node.shifts is not None:
            return False
        key = self.key
        key.append(node.operation)
        for operand in node.operands:
            if type(operand) is Node:
                if operand.result is None:
                    if operand.shape != shape or operand.is_wanted or not self.add(operand, shape, into):
                        return False
                    continue
                operand = operand.result
            if type(operand) is DeviceNDArray:
                if not self._add_array(operand, shape, into):
                    return False
            else:
                key.append(operand.dtype)
                self.numbers.append(operand)
        return True

    def _add_array(self, array: DeviceNDArray, shape: tuple[int, ...], into: DeviceNDArray | None) -> bool:
        if array is into:
            self.key.append(_TARGET)
            return True
        for n, one in enumerate(self.arrays):
            if one is array:
                self.key.append(n)
                return True
        token, own = array.layout_token, array._shape
        if token is None or array.stream:
            return False
        self.arrays.append(array)
        self.key += (token, own)
        if own != shape or array.layout != "C" or array.offset:
            self.key += (array._strides, array.offset)
        return True


def parts_of(root: Node, into: DeviceNDArray | None = None) -> Parts | None:
    """The parts of an expression that is computed to new memory or into an array; None where the launch is not kept."""
    shape = root.shape
    parts = Parts()
    parts.key.append(shape)
    if into is not None:
        if into.layout_token is None or into.stream:
            return None
        parts.key += (_TARGET, into.layout_token, into._strides, into.offset)
    return parts if parts.add(root, shape, into) else None


def keep(
    parts: Parts,
    context: Context,
    ready: ReadyLaunch,
    program: Program,
    taken: Taken,
) -> None:
    """Keep a launch."""
    places, more = taken
    if len(parts.numbers) != len(program.numbers) or len(places) != 1 + len(parts.arrays):
        return
    if any(x is not y for x, y in zip(parts.arrays, program.arrays, strict=True)):
        return
    facts = tuple(None if array is view else facts_of(view) for array, view in places)
    remember(
        context, tuple(parts.key), _Repeated(ready, places[0][0].layout_token, facts if any(facts) else None, more)
    )


def repeat(root: Node, parts: Parts, into: DeviceNDArray | None = None) -> bool:
    """Launch as for an expression like this one; False where there was none.

    The context's `Unsettled.lock` is held.
    """
    context = root.context
    where = root.stream or context.default_stream
    found: _Repeated | None = context.expression_launches.get(tuple(parts.key))
    if found is None:
        return False
    ready, token, facts, more = found
    array: DeviceNDArray | None = into
    if into is None:
        array = None if root.array is None else root.array()
    if array is None:
        return False
    args = array, *parts.arrays, *parts.numbers, *more
    if into is not None:
        return ready.again(where, args if facts is None else _viewed(args, facts), False)
    deferred, array.deferred = array.deferred, None
    try:
        array._buffer = context.allocate(array.size * array.itemsize)
        done = ready.again(where, args if facts is None else _viewed(args, facts), False)
    except BaseException:
        array.deferred, array._buffer = deferred, None
        raise
    if done:
        array.layout_token, root.result = token, array
    else:
        array.deferred, array._buffer = deferred, None
    return done


def _viewed(args: tuple[Any, ...], facts: tuple[Facts | None, ...]) -> tuple[Any, ...]:
    views = [x if own is None else view_with(x, own) for x, own in zip(args, facts, strict=False)]
    return (*views, *args[len(facts) :])
