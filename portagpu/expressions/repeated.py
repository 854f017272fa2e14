"""Nodes that are computed as others like them were: the launch is looked up by what they are applied to.

That is for nodes whose operands are all there, arrays and numbers, as those of most programs that go step by step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from portagpu.dispatch.ready import ReadyLaunch, remember
from portagpu.expressions.node import Node
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.factory import view_with
from portagpu.runtime.arrays.facts import Facts, facts_of

_TARGET = "target"  # in a key, for the array that is written


class _Repeated(NamedTuple):
    """A launch, the layout token of the array that it makes, and what it takes.

    ``order``: the places of operands, or None where these come as they are; ``facts``: of views of the target and the
    arrays, None for those that are taken themselves.
    """

    ready: ReadyLaunch
    token: Any
    order: tuple[int, ...] | None
    facts: tuple[Facts | None, ...] | None


def key_of(root: Node, into: DeviceNDArray | None = None) -> tuple[Any, ...] | None:
    """What tells the launch that computes a node, to new memory or into an array; None for one that is not kept."""
    operands, shape = root.operands, root.shape
    key: list[Any] = [root.operation, shape]
    if into is not None:
        if into.layout_token is None or into.stream:
            return None
        key += (_TARGET, into.layout_token, into._strides, into.offset)
    for operand in operands:
        if type(operand) is DeviceNDArray:
            if operand is into:
                key.append(_TARGET)
                continue
            token = operand.layout_token
            if token is None or operand.stream:
                return None
            own = operand._shape
            key += (token, own)
            if own != shape or operand.layout != "C":
                key += (operand._strides, operand.offset)
        elif type(operand) is Node:
            return None
        else:
            key.append(operand.dtype)
    if len(operands) == 2 and operands[0] is operands[1]:
        return None
    return tuple(key)


def keep(
    key: tuple[Any, ...],
    root: Node,
    into: DeviceNDArray | None,
    ready: ReadyLaunch,
    taken: Sequence[tuple[DeviceNDArray, DeviceNDArray]],
) -> None:
    """Keep a launch; ``taken``: the target and the arrays, each with what the kernel took in its place."""
    arrays = [n for n, x in enumerate(root.operands) if type(x) is DeviceNDArray and x is not into]
    numbers = [n for n, x in enumerate(root.operands) if type(x) is not DeviceNDArray]
    if len(arrays) + 1 != len(taken):  # one comes twice
        return
    order = (*arrays, *numbers)
    facts = tuple(None if array is view else facts_of(view) for array, view in taken)
    found = _Repeated(
        ready,
        taken[0][0].layout_token,
        None if order == tuple(range(len(root.operands))) else order,
        facts if any(facts) else None,
    )
    remember(root.context, key, found)


def repeat(root: Node, key: tuple[Any, ...], into: DeviceNDArray | None = None) -> bool:
    """Launch as for a node like this one; False where there was none. The context's `Unsettled.lock` is held."""
    context = root.context
    found: _Repeated | None = context.expression_launches.get(key)
    if found is None:
        return False
    ready, token, order, facts = found
    array: DeviceNDArray | None = into
    if into is None:
        array = None if root.array is None else root.array()
    if array is None:
        return False
    operands = root.operands
    if order is not None:
        operands = tuple([operands[n] for n in order])
    if into is not None:
        return ready.again(context.default_stream, _viewed((into, *operands), facts), False)
    deferred, array.deferred = array.deferred, None
    try:
        array._buffer = context.allocate(array.size * array.itemsize)
        done = ready.again(context.default_stream, _viewed((array, *operands), facts), False)
    except BaseException:
        array.deferred, array._buffer = deferred, None
        raise
    if done:
        array.layout_token, root.result = token, array
    else:
        array.deferred, array._buffer = deferred, None
    return done


def _viewed(args: tuple[Any, ...], facts: tuple[Facts | None, ...] | None) -> tuple[Any, ...]:
    if facts is None:
        return args
    views = [x if own is None else view_with(x, own) for x, own in zip(args, facts, strict=False)]
    return (*views, *args[len(facts) :])
