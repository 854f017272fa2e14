"""Functions of arrays that are one launch: made again for arrays that lie as others did, without what led to it.

The first time a function runs as it is, and its launch is noted with what it takes: the operands or views of them, the
results or views of them, memory for the launch alone, and numbers, which follow from how the operands lie and from what
the key says. A function that enqueues anything else, or has a result in an operand's memory, is not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from portagpu.dispatch.ready import ReadyLaunch, noting, remember
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.factory import made_of, view_with
from portagpu.runtime.arrays.facts import Facts, facts_of
from portagpu.runtime.execution.current import current_stream
from portagpu.runtime.execution.ordering import next_use

_OPERAND, _RESULT, _APART = range(3)  # whose memory an argument is
_Results = TypeVar("_Results", DeviceNDArray, tuple[DeviceNDArray, ...])


class _Argument(NamedTuple):
    """An array that the launch takes: a view of an operand or of a result with a ``number``, or memory of its own.

    ``facts``: None for the operand or the result itself. ``again``: the place of an argument that is the same array.
    """

    owner: int
    number: int
    facts: Facts | None
    again: int | None


class _Once(NamedTuple):
    """A launch with what it takes: arguments and numbers; and the results' facts."""

    ready: ReadyLaunch
    args: tuple[Any, ...]
    results: tuple[Facts, ...]


def repeated(key: tuple[Any, ...], operands: Sequence[DeviceNDArray], function: Callable[[], _Results]) -> _Results:
    """What a function of operands makes in new memory, one array or several, on the current stream.

    ``key`` is all that the results depend on beside the operands' elements and how they lie, with how many they are.
    """
    context = operands[0].context
    where = current_stream(context)
    parts: list[Any] = [repeated, *key]
    for x in operands:
        if x.deferred is not None:
            x.deferred.evaluate()
        if x.layout_token is None or x.stream or x.context is not context:
            return function()
        parts.append(x.facts_token)
    if len(operands) > 1 and len({x.allocation_key for x in operands}) < len(operands):
        first = {id(x): n for n, x in reversed([*enumerate(operands)])}
        if len({x.allocation_key for x in operands}) < len(first):
            return function()  # whose memory is whose could not be told
        parts.append(tuple(first[id(x)] for x in operands))
    known = tuple(parts)
    found: _Once | None = context.expression_launches.get(known)
    if found is not None:
        made = tuple(map(made_of, found.results))
        args: list[Any] = []
        for arg in found.args:
            args.append(_given(arg, operands, made, args) if type(arg) is _Argument else arg)
        with context.unsettled.lock:
            if found.ready.again(where, tuple(args), False):
                return cast(_Results, made if len(made) > 1 else made[0])
    before, outer, noting.launches = next_use(), noting.launches, []
    try:
        results = function()
    finally:
        launches, noting.launches = noting.launches, outer
        if outer is not None:
            outer += launches
    if where.uses_since(before) == 1 == len(launches):
        ((ready, given),) = launches
        new: Any = results
        once = _noted(ready, given, operands, new if type(new) is tuple else (new,))
        if once is not None:
            remember(context, known, once)
    return results


def _given(arg: _Argument, operands: Sequence[DeviceNDArray], results: Sequence[DeviceNDArray], args: list[Any]) -> Any:
    if arg.again is not None:
        return args[arg.again]
    if arg.owner == _APART:
        assert arg.facts is not None
        return made_of(arg.facts)
    owner = (results if arg.owner == _RESULT else operands)[arg.number]
    return owner if arg.facts is None else view_with(owner, arg.facts)


def _noted(
    ready: ReadyLaunch, args: tuple[Any, ...], operands: Sequence[DeviceNDArray], results: Sequence[DeviceNDArray]
) -> _Once | None:
    """What is kept of a launch; None where it cannot be made again."""
    owners = {x.allocation_key: (_OPERAND, n, x) for n, x in enumerate(operands)}
    for n, x in enumerate(results):
        if x.allocation_key in owners or x.layout != "C" or x.offset or x.readonly or x.stream:
            return None
        owners[x.allocation_key] = (_RESULT, n, x)
    found: list[Any] = []
    for n, arg in enumerate(args):
        if not isinstance(arg, DeviceNDArray):
            if isinstance(arg, tuple) and any(isinstance(item, DeviceNDArray) for item in arg):
                return None
            found.append(arg)
            continue
        again = next((m for m in range(n) if args[m] is arg), None)
        owner, number, whole = owners.get(arg.allocation_key, (_APART, 0, None))
        if owner == _RESULT and whole is not None and (arg.offset or arg.nbytes != whole.nbytes):
            return None
        if whole is None and not (arg.base is None and not arg.offset and arg.layout == "C"):
            return None
        found.append(_Argument(owner, number, None if arg is whole else facts_of(arg), again))
    return _Once(ready, tuple(found), tuple(map(facts_of, results)))
