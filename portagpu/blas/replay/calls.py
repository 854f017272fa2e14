"""`repeated`: calls on device arrays that are made again; their launches are recorded, and made again for other memory.

Between a call and its launches lie checks, views and choices, hundreds of steps of Python, which come out the same for
all arrays that lie alike; a blocked factorisation has hundreds of launches besides. The second call whose arrays have
the same shapes, strides, offsets and dtypes, and whose other arguments are the same, is recorded; see
`portagpu.runtime.replay.replay`. From the first one with other factors on, they may be any.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

from portagpu.blas.gemm.core.workspace import with_own_scratch
from portagpu.blas.gemm.replay.recordings import Known, Recordings
from portagpu.blas.replay.factors import Factors
from portagpu.blas.replay.keys import CallKey
from portagpu.blas.replay.results import Operands, Recipe, made, new_memory, recipe, tuple_like
from portagpu.runtime.arrays.array import DeviceNDArray, allocations
from portagpu.runtime.arrays.factory import ArrayFactory
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.recorder import active
from portagpu.runtime.execution.stream import Stream
from portagpu.runtime.replay.replay import Replay, kept_by, recorded

_P = ParamSpec("_P")
_R = TypeVar("_R")
_REMEMBERED = 256  # calls of a thread in a context
_SEEN = 1024  # calls that were made once
_MOST_LAUNCHES = 4096
_KEPT_SHARE = 16  # of the device's memory: scratch memory that all recordings of a thread keep


def repeated(
    call: Callable[..., Any],
    name: str,
    arguments: tuple[Any, ...],
    keywords: Mapping[str, Any],
    options: tuple[Any, ...] = (),
) -> Any:
    """``call(*arguments, **keywords)``, or what it enqueued and returned for arguments like these.

    What it does must follow from its ``name``, from the shapes, strides, offsets and dtypes of its device arrays, from
    its other arguments, and from ``options``, which it is not called with. It enqueues on ``keywords["stream"]``, by
    default on the default stream.
    """
    if active.recorder is not None:  # of a call that this one belongs to
        return call(*arguments, **keywords)
    stream = keywords.get("stream")
    key = CallKey(name, active.depth, options, *keywords)
    if not (key.add(arguments) and key.add(keywords.values()) and key.arrays):
        return call(*arguments, **keywords)
    arrays = tuple(key.arrays)
    context = arrays[0].context
    if any(x.context is not context for x in arrays) or not (stream is None or stream.context is context):
        return call(*arguments, **keywords)
    mine = _recordings.of(context)
    mine.refresh(context)
    number = mine.number(key)
    found = mine.like(number)
    if found is not None:
        again = found.launch(arrays, tuple(key.factors), stream)
        if again is not None:
            return again[0]
    whole = partial(with_own_scratch, call)
    if not mine.is_due(number):
        result = whole(*arguments, **keywords)
        mine.note(number)
        return result
    recording, result = _record(whole, arguments, keywords, arrays, tuple(key.factors))
    mine.keep(key, recording, context)
    return result


def repeats(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A function whose calls are `repeated`: it enqueues on its keyword ``stream``, and follows from its arguments."""
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def call(*arguments: _P.args, **keywords: _P.kwargs) -> _R:
        return repeated(function, name, arguments, keywords)  # type: ignore[no-any-return]

    return call


# recordings ---------------------------------------------------------------------------------------------------------


class _Recording:
    """A call's launches. ``new``: makes the operands beyond those of the call, in new memory each time."""

    __slots__ = ("factors", "new", "replay", "results")

    def __init__(self, replay: Replay, new: tuple[ArrayFactory, ...], results: Recipe, factors: Factors) -> None:
        self.replay, self.new, self.results, self.factors = replay, new, results, factors

    def launch(self, arrays: Operands, factors: tuple[float, ...], stream: Stream | None) -> tuple[Any] | None:
        """Enqueue for other arrays, and give what the call returns; None where the call must be made anew."""
        numbers = self.factors.numbers(factors)
        if numbers is None or self.replay.busy:
            return None
        operands = (*arrays, *(factory.array() for factory in self.new)) if self.new else arrays
        if not self.replay.launch(stream, [x.buffer for x in operands], numbers):
            return None
        return (made(self.results, operands),)


def _record(
    call: Callable[..., Any],
    arguments: tuple[Any, ...],
    keywords: Mapping[str, Any],
    arrays: Operands,
    factors: tuple[float, ...],
) -> tuple[_Recording | None, Any]:
    """Make a call, and give its recording, if there can be one, and what it returned."""
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

    replay = recorded(make, operands, _MOST_LAUNCHES, copies=True, numbers=bool(factors))
    try:
        results = recipe(returned, tuple(operands))
    except LookupError:  # numbers, which the call has waited for
        return None, returned
    result = made(results, (*arrays, *new))
    if replay is None or not all(x.size for x in new):
        return None, result
    return _Recording(replay, tuple(map(ArrayFactory, new)), results, Factors(factors)), result


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


class _Calls(Known):
    """What a thread knows of calls in a context.

    ``known``: recordings, by the facts of calls, or by these and the factors for those in ``exact``, whose launches
    differ in more than the factors. ``seen``: calls that were made once; True where they cannot be recorded.
    """

    __slots__ = ("exact", "seen")

    def __init__(self) -> None:
        super().__init__()
        self.exact: set[Any] = set()
        self.seen: OrderedDict[Any, bool] = OrderedDict()

    def clear(self) -> None:
        super().clear()
        self.exact.clear()
        self.seen.clear()

    def number(self, key: CallKey) -> Any:
        """What is known of calls like this one is under that."""
        facts = tuple(key.facts)
        return (facts, tuple(key.factors)) if self.exact and facts in self.exact else facts

    def like(self, number: Any) -> _Recording | None:
        """The recording of calls with a number."""
        found: _Recording | None = self.known.get(number)
        if found is not None:
            self.known.move_to_end(number)
        return found

    def is_due(self, number: Any) -> bool:
        """Whether a call is to be recorded, or, with other factors, recorded again."""
        return number in self.known or self.seen.get(number) is False

    def note(self, number: Any, *, is_fixed: bool | None = None) -> None:
        """A call that was made; is_fixed: it cannot be recorded."""
        self.seen[number] = number in self.seen if is_fixed is None else is_fixed
        while len(self.seen) > _SEEN:
            self.seen.popitem(last=False)

    def keep(self, key: CallKey, recording: _Recording | None, context: Context) -> None:
        """Keep what was recorded, with what a former recording with other factors tells about it."""
        number = self.number(key)
        former: _Recording | None = self.known.pop(number, None)
        if recording is None:
            self.note(number, is_fixed=True)
            return
        if former is not None and former.factors.values != recording.factors.values:
            told = former.factors.told_apart(
                former.replay.arguments, recording.factors.values, recording.replay.arguments
            )
            if told is None:
                if len(self.exact) >= _SEEN:
                    self.exact.clear()
                self.exact.add(number)
                number = self.number(key)
            else:
                recording.factors = told
        self.known[number] = recording
        self._bound(context)

    def _bound(self, context: Context) -> None:
        """Forget the oldest recordings until what they keep is at most a share of the memory.

        One that keeps more all by itself is not made again.
        """
        known, most = self.known, context.capabilities.global_memory // _KEPT_SHARE
        while len(known) > _REMEMBERED:
            known.popitem(last=False)
        keeping = {number: found.replay for number, found in list(known.items()) if found.replay.kept}
        while keeping and kept_by(keeping.values()) > most:
            number = next(iter(keeping))
            del known[number]
            self.seen[number] = len(keeping) == 1
            del keeping[number]


_recordings = Recordings(_Calls)
