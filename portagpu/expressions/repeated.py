"""Expressions that are computed as others like them were: the launch is looked up by what they are made of.

That is for expressions whose operands are all there, arrays and numbers, as those of most programs that go step by
step.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Any, NamedTuple

from portagpu.dispatch.ready import ReadyLaunch, remember
from portagpu.expressions.applied import Applied, Launch, alike, typed
from portagpu.expressions.node import Node
from portagpu.expressions.program import Program
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.factory import view_with
from portagpu.runtime.arrays.facts import Facts, facts_of
from portagpu.runtime.arrays.overlap import may_overlap
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.current import current_stream

_TARGET = "target"  # in a key, for the array that is written
_STORED, _SEEN = "stored", "seen"  # for a node that is stored on the way, and where it occurs again
_STRIDES = "strides"  # before those of a node that is not in C order
_ROLLED = "rolled"  # before an array that is


class _Repeated(NamedTuple):
    """A launch, and the layout tokens of the arrays that it makes.

    ``facts``: of views of the targets and the arrays, None for those that are taken themselves. ``numbers``: that the
    kernel takes behind those of the expression.
    """

    ready: ReadyLaunch
    tokens: tuple[Any, ...]
    facts: tuple[Facts | None, ...] | None
    numbers: tuple[Any, ...]


class Taken(NamedTuple):
    """The targets and the arrays of a launch, each with what the kernel took in its place, and further numbers."""

    places: Sequence[tuple[DeviceNDArray, DeviceNDArray]]
    numbers: tuple[Any, ...]


class Parts:
    """What an expression is made of.

    ``key`` tells its launch; operands are in the order of `Program`'s; ``stored``: nodes on the way whose arrays the
    program still has, with these, in the order of their steps.
    """

    __slots__ = ("_into", "_reduces", "_shape", "_shifts", "arrays", "key", "numbers", "stored")

    def __init__(self, shape: tuple[int, ...], into: DeviceNDArray | None, reduces: bool) -> None:
        """``shape``: of the whole; ``into``: an array that it is written to. ``reduces``: the whole is reduced by the
        kernel that computes it, which stores nothing else and rolls no array."""
        self._shape, self._into, self._reduces = shape, into, reduces
        self.key: list[Any] = [shape]
        self.arrays: list[DeviceNDArray] = []
        self._shifts: list[tuple[int, ...] | None] = []  # of the arrays that are rolled
        self.numbers: list[Any] = []
        self.stored: list[tuple[Node, DeviceNDArray]] = []

    def add(self, node: Node) -> bool:
        """Add a node and what it is applied to; False where the launch is not kept."""
        if node.failure is not None:
            node.check()
        if node.strides is not None:
            self.key += (_STRIDES, node.strides)
        if node.shifts is not None:
            return self._add_rolled(node)
        key = self.key
        key.append(node.operation)
        for operand in node.operands:
            if type(operand) is Node:
                if operand.result is None:
                    if not self._add_node(operand):
                        return False
                    continue
                operand = operand.result
            if type(operand) is DeviceNDArray:
                if not self._add_array(operand, None):
                    return False
            elif isinstance(operand, DeviceNDArray):
                return False
            else:
                key.append(operand.dtype)
                self.numbers.append(operand)
        return True

    def _add_node(self, node: Node) -> bool:
        if node.shifts is not None:
            return self._add_rolled(node)
        if self._reduces and node.operation.is_costly and node.is_wanted:  # is stored the second time
            return False
        array = None
        if node.shape == self._shape:
            if node.array is not None and not self._reduces:
                array = node.array()
        elif any(n != 1 for n in node.shape):  # is computed before
            return False
        if array is None:
            if self._reduces and node.operation.is_costly and node.is_wanted:  # may be stored: see `Source`
                return False
            return self.add(node)
        for n, (known, _) in enumerate(self.stored):
            if known is node:
                self.key += (_SEEN, n)
                return True
        self.key.append(_STORED)
        if not self.add(node):
            return False
        self.stored.append((node, array))
        return True

    def _add_rolled(self, node: Node) -> bool:
        self.key += (_ROLLED, node.shifts)
        return not self._reduces and self._add_array(node.operands[0], node.shifts)

    def _add_array(self, array: DeviceNDArray, shifts: tuple[int, ...] | None) -> bool:
        if array is self._into and shifts is None:
            self.key.append(_TARGET)
            return True
        for n, one in enumerate(self.arrays):
            if one is array and self._shifts[n] == shifts:
                self.key.append(n)
                return True
        token, own = array.layout_token, array._shape
        if token is None or array.stream:
            return False
        self.arrays.append(array)
        self._shifts.append(shifts)
        self.key += (token, own)
        if own != self._shape or array.layout != "C" or array.offset:
            self.key += (array._strides, array.offset)
        return True


def parts_of(root: Node, into: DeviceNDArray | None = None, *, reduces: bool = False) -> Parts | None:
    """The parts of an expression that is computed to new memory or into an array; None where the launch is not kept.

    ``reduces``: it is computed by the kernel that reduces it.
    """
    parts = Parts(root.shape, into, reduces)
    if into is not None:
        if into.layout_token is None or into.stream:
            return None
        parts.key += (_TARGET, into.layout_token, into._strides, into.offset)
    return parts if parts.add(root) else None


def are_those_of(parts: Parts, program: Program) -> bool:
    """Whether a program has the operands of an expression's parts, in the same order."""
    if len(parts.numbers) != len(program.numbers) or len(parts.arrays) != len(program.arrays):
        return False
    return all(x is y for x, y in zip(parts.arrays, program.arrays, strict=True))


def keep(parts: Parts, context: Context, ready: ReadyLaunch, stored: Sequence[Node], taken: Taken) -> None:
    """Keep a launch that stores a root and nodes on the way, for parts that are those of its program."""
    places, more = taken
    if len(places) != len(stored) + len(parts.arrays) or len(stored) != 1 + len(parts.stored):
        return
    if any(x is not y for x, (y, _) in zip(stored[1:], parts.stored, strict=True)):
        return  # somebody dropped an array meanwhile
    facts = tuple(None if array is view else facts_of(view) for array, view in places)
    tokens = tuple(array.layout_token for array, _ in places[: len(stored)])
    remember(context, tuple(parts.key), _Repeated(ready, tokens, facts if any(facts) else None, more))


def repeat(root: Node, parts: Parts, into: DeviceNDArray | None = None) -> bool:
    """Launch as for an expression like this one; False where there was none.

    The context's `Unsettled.lock` is held.
    """
    context = root.context
    found: _Repeated | None = context.expression_launches.get(tuple(parts.key))
    if found is None:
        return False
    ready, tokens, facts, more = found
    array: DeviceNDArray | None = into
    made = parts.stored
    if into is None:
        array = None if root.array is None else root.array()
        if array is not None:
            made = [(root, array), *made]
    else:
        tokens = tokens[1:]
    if array is None:
        return False
    args = array, *[one for _, one in parts.stored], *parts.arrays, *parts.numbers, *more
    if root.applied is not None and len(made) == (into is None):
        _note(root, parts, into, found)
    deferred = [one.deferred for _, one in made]
    done = False
    try:
        for _, one in made:
            one._buffer = context.allocate(one.size * one.itemsize)
            one.deferred = None  # not before: threads read without the lock
        args = args if facts is None else _viewed(args, facts)  # not before: views need the memory
        done = ready.again(root.stream or context.default_stream, args, False)
    finally:
        if done:
            for (node, one), token in zip(made, tokens, strict=True):
                one.layout_token, node.result = token, one
        else:
            for (_, one), own in zip(made, deferred, strict=True):
                one.deferred, one._buffer = own, None
    return done


def _note(root: Node, parts: Parts, into: DeviceNDArray | None, found: _Repeated) -> None:
    """Keep a launch beside the function that was applied to operands like the node's."""
    operands, applied = root.operands, root.applied
    if applied is None or len(operands) > 2:
        return
    given = (*parts.arrays, *parts.numbers)
    orders = (slice(0, 2), slice(None, None, -1), slice(0, 1), slice(1, 2), slice(0, 0))
    order = next(o for o in orders if len(operands[o]) == len(given) and all(map(is_, operands[o], given)))
    launch = Launch(found.ready, order, found.numbers, found.facts, found.tokens[0])
    applied.launches[alike(operands, into)] = launch


def repeat_applied(root: Node, applied: Applied) -> bool:
    """Launch as a function was applied to operands like the node's; False where it was not.

    The context's `Unsettled.lock` is held.
    """
    operands = root.operands
    launch = applied.launches.get(len(operands) == 2 and operands[0] is operands[1])  # as `alike` has it
    array = None if root.array is None else root.array()
    if launch is None or array is None:
        return False
    for x in operands:
        if type(x) is DeviceNDArray and x.stream:
            return False
    context, deferred = root.context, array.deferred
    array._buffer = context.allocate(array.size * array.itemsize)
    array.deferred = None  # not before: threads read without the lock
    done = False
    try:
        args = _arguments(launch, array, operands)
        done = launch.ready.again(root.stream or context.default_stream, args, False)
    finally:
        if done:
            array.layout_token, root.result = launch.token, array
        else:
            array.deferred, array._buffer = deferred, None
    return done


def repeat_into(out: DeviceNDArray, values: tuple[Any, ...], key: tuple[Any, ...]) -> bool:
    """Write to an array as a function of operands like these was written to one like it; False where it was not.

    ``key``: of the values and the array. Other operands share no memory with it. What is put off is computed before,
    since it may read the array.
    """
    context = out.context
    applied: Applied | None = context.applied.get(key)
    launch = None if applied is None else applied.launches.get(alike(values, out))
    if applied is None or launch is None or out.stream or out.deferred is not None:
        return False
    for x in values:
        if type(x) is DeviceNDArray and x is not out and (x.stream or x.deferred is not None or may_overlap((x, out))):
            return False
    try:
        operands = values if applied.dtypes is None else typed(values, applied.dtypes)
    except OverflowError:
        return False
    stream, unsettled = current_stream(context), context.unsettled
    if unsettled.arrays:
        unsettled.settle(None, stream)
    with unsettled.lock:
        return launch.ready.again(stream, _arguments(launch, out, operands), False)


def _arguments(launch: Launch, written: DeviceNDArray, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    args = (written, *operands[launch.order], *launch.more)
    return args if launch.views is None else _viewed(args, launch.views)


def _viewed(args: tuple[Any, ...], facts: tuple[Facts | None, ...]) -> tuple[Any, ...]:
    views = [x if own is None else view_with(x, own) for x, own in zip(args, facts, strict=False)]
    return (*views, *args[len(facts) :])
