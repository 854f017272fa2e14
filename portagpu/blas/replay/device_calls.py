"""Recorded calls on device arrays: enqueued again for other arrays, and for new results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from portagpu.blas.replay.factors import Factors
from portagpu.blas.replay.keys import CallKey
from portagpu.blas.replay.results import Leaf, Operands, leaf_of, new_memory, recipe, tuple_like
from portagpu.runtime.arrays.array import DeviceNDArray, allocations
from portagpu.runtime.arrays.factory import ArrayFactory
from portagpu.runtime.replay.replay import Replay, recorded

MOST_LAUNCHES = 4096


class DeviceRecording:
    """A call's launches. ``new``: makes the operands beyond those of the call, in new memory each time."""

    __slots__ = ("factors", "new", "replay", "results")

    def __init__(self, replay: Replay, new: tuple[ArrayFactory, ...], results: Leaf, factors: Factors) -> None:
        self.replay, self.new, self.results, self.factors = replay, new, results, factors

    def again(self, key: CallKey, stream: Any) -> tuple[Any] | None:
        """Enqueue for other arrays, and give what the call returns; None where the call must be made anew."""
        numbers = self.factors.numbers(tuple(key.factors))
        if numbers is None or self.replay.busy:
            return None
        arrays = key.arrays
        operands = [*arrays, *(factory.array() for factory in self.new)] if self.new else arrays
        if not self.replay.launch(stream or None, [x.buffer for x in operands], numbers):
            return None
        return (self.results.of(operands),)


def record_device_call(
    call: Callable[..., Any], arguments: tuple[Any, ...], keywords: Mapping[str, Any], key: CallKey
) -> tuple[DeviceRecording | None, Any]:
    """Make a call, and give its recording, if there can be one, and what it returned."""
    arrays, factors = tuple(key.arrays), tuple(key.factors)
    own = _renamed(arrays)
    operands = [own[id(x)] for x in arrays]
    new: Operands = ()
    returned: Any = None

    def make() -> None:
        nonlocal new, returned
        named = {name: _put(x, own) for name, x in keywords.items()}
        returned = call(*(_put(x, own) for x in arguments), **named)
        new = new_memory(returned, tuple(operands))
        operands.extend(new)

    replay = recorded(make, operands, MOST_LAUNCHES, copies=True, numbers=bool(factors))
    try:
        results = recipe(returned, partial(leaf_of, tuple(operands)))
    except LookupError:  # numbers, which the call has waited for
        return None, returned
    result = results.of((*arrays, *new))
    if replay is None or not all(x.size for x in new):
        return None, result
    return DeviceRecording(replay, tuple(map(ArrayFactory, new)), results, Factors(factors)), result


def _put(argument: Any, own: Mapping[int, DeviceNDArray]) -> Any:
    """An argument with other arrays in it."""
    if isinstance(argument, tuple):
        return tuple_like(argument, (_put(x, own) for x in argument))
    return own.get(id(argument), argument)


def _renamed(arrays: Operands) -> dict[int, DeviceNDArray]:
    """The same arrays under other names, by the ids of these: a recording has all that is kept for these arrays, such
    as maps of tensors, written anew. Nothing is kept for the host's memory."""
    keys = {x.allocation_key: next(allocations) for x in arrays}
    return {id(x): ArrayFactory(x).view(x, keys[x.allocation_key]) if x.token else x for x in arrays}
