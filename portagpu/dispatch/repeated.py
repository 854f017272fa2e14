"""Functions of arrays that are one launch: made again for arrays that lie as others did, without what led to it.

The first time a function runs as it is, and its launch is noted with what it takes: the operands or views of them, the
result or views of it, memory for the launch alone, and numbers, which follow from how the operands lie and from what
the key says. A function that enqueues anything else, or has its result in an operand's memory, is not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from portagpu.dispatch.ready import ReadyLaunch, noting, remember
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.factory import made_of, view_with
from portagpu.runtime.arrays.facts import Facts, facts_of
from portagpu.runtime.execution.current import current_stream
from portagpu.runtime.execution.ordering import next_use

_RESULT = -1  # in place of an operand's number
_APART = -2


class _Argument(NamedTuple):
    """An array that the launch takes: a view of an operand or of the result, or memory of its own.

    ``facts``: None for the operand or the result itself. ``again``: the place of an argument that is the same array.
    """

    owner: int
    facts: Facts | None
    again: int | None


class _Once(NamedTuple):
    """A launch with what it takes: arguments and numbers; and the result's facts."""

    ready: ReadyLaunch
    args: tuple[Any, ...]
    result: Facts


def repeated(
    key: tuple[Any, ...], operands: Sequence[DeviceNDArray], function: Callable[[], DeviceNDArray]
) -> DeviceNDArray:
    """What a function of operands makes in new memory, on the current stream.

    ``key`` is all that the result depends on beside the operands' elements and how they lie.
    """
    context = operands[0].context
    where = current_stream(context)
    parts: list[Any] = [repeated, *key]
    for x in operands:
        if x.deferred is not None:
            x.deferred.evaluate()
        token = x.layout_token
        if token is None or x.stream or x.context is not context:
            return function()
        parts += (token, x._shape, x._strides, x.offset)
    if len(operands) > 1 and len({x.allocation_key for x in operands}) < len(operands):
        first = {id(x): n for n, x in reversed([*enumerate(operands)])}
        if len({x.allocation_key for x in operands}) < len(first):
            return function()  # whose memory is whose could not be told
        parts.append(tuple(first[id(x)] for x in operands))
    known = tuple(parts)
    found: _Once | None = context.expression_launches.get(known)
    if found is not None:
        result = made_of(found.result)
        args: list[Any] = []
        for arg in found.args:
            args.append(_given(arg, operands, result, args) if type(arg) is _Argument else arg)
        with context.unsettled.lock:
            if found.ready.again(where, tuple(args), False):
                return result
    before, outer, noting.launches = next_use(), noting.launches, []
    try:
        result = function()
    finally:
        launches, noting.launches = noting.launches, outer
        if outer is not None:
            outer += launches
    once = where.uses_since(before) == 1 == len(launches)
    if once:
        ((ready, given),) = launches
        made = _noted(ready, given, operands, result)
        if made is not None:
            remember(context, known, made)
    return result


def _given(arg: _Argument, operands: Sequence[DeviceNDArray], result: DeviceNDArray, args: list[Any]) -> Any:
    if arg.again is not None:
        return args[arg.again]
    if arg.owner == _APART:
        assert arg.facts is not None
        return made_of(arg.facts)
    owner = result if arg.owner == _RESULT else operands[arg.owner]
    return owner if arg.facts is None else view_with(owner, arg.facts)


def _noted(
    ready: ReadyLaunch, args: tuple[Any, ...], operands: Sequence[DeviceNDArray], result: DeviceNDArray
) -> _Once | None:
    """What is kept of a launch; None where it cannot be made again."""
    owners = {x.allocation_key: n for n, x in enumerate(operands)}
    if result.allocation_key in owners or result.layout != "C" or result.offset or result.readonly or result.stream:
        return None
    found: list[Any] = []
    for n, arg in enumerate(args):
        if not isinstance(arg, DeviceNDArray):
            if isinstance(arg, tuple) and any(isinstance(item, DeviceNDArray) for item in arg):
                return None
            found.append(arg)
            continue
        again = next((m for m in range(n) if args[m] is arg), None)
        facts: Facts | None = facts_of(arg)
        if arg.allocation_key == result.allocation_key:
            if arg.offset or arg.nbytes != result.nbytes:
                return None
            owner, facts = _RESULT, None if arg is result else facts
        elif arg.allocation_key in owners:
            owner = owners[arg.allocation_key]
            facts = None if arg is operands[owner] else facts
        elif arg.base is None and not arg.offset and arg.layout == "C":
            owner = _APART
        else:
            return None
        found.append(_Argument(owner, facts, again))
    return _Once(ready, tuple(found), facts_of(result))
