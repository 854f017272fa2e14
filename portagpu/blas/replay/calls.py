"""`repeated`: calls on arrays that are made again; their launches are recorded, and made again for other memory.

Between a call and its launches lie checks, views and choices, hundreds of steps of Python, which come out the same for
all arrays that lie alike; a blocked factorisation has hundreds of launches besides. The second call whose arrays have
the same shapes, strides, offsets and dtypes, and whose other arguments are the same, is recorded; see
`portagpu.runtime.replay.replay`. From the first one with other factors on, they may be any. Calls on NumPy arrays are
recorded for CPUs, which use them in place; see `numpy_calls`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

from portagpu.blas.gemm.core.workspace import with_own_scratch
from portagpu.blas.gemm.replay.recordings import HostKnown, Recordings, Remembered
from portagpu.blas.replay.device_calls import DeviceRecording, record_device_call
from portagpu.blas.replay.keys import CallKey
from portagpu.blas.replay.numpy_calls import NumpyRecording, record_numpy_call
from portagpu.errors import PortaGPUError
from portagpu.runtime.execution.context import Context, context_of, current_context
from portagpu.runtime.execution.recorder import active
from portagpu.runtime.execution.stream import Stream
from portagpu.runtime.replay.replay import beyond

_P = ParamSpec("_P")
_R = TypeVar("_R")
_REMEMBERED = 256  # calls of a thread in a context
_SEEN = 1024  # calls that were made once
Recording = DeviceRecording | NumpyRecording
_KEPT_SHARE = 16  # of the device's memory: scratch memory that all recordings of a thread keep


def repeated(
    call: Callable[..., Any],
    name: str,
    arguments: tuple[Any, ...],
    keywords: Mapping[str, Any],
    options: tuple[Any, ...] = (),
) -> Any:
    """``call(*arguments, **keywords)``, or what it enqueued and returned for arguments like these.

    What it does must follow from its ``name``, from the shapes, strides, offsets and dtypes of its arrays, from
    its other arguments, and from ``options``, which it is not called with. It enqueues on ``keywords["stream"]``, by
    default on the default stream.
    """
    if active.recorder is not None:  # of a call that this one belongs to
        return call(*arguments, **keywords)
    stream = keywords.get("stream")
    key = CallKey(name, active.depth, options, *keywords)
    context = _context_of(key, stream) if key.add(arguments) and key.add(keywords.values()) else None
    if context is None:
        return call(*arguments, **keywords)
    mine = _recordings.of(context)
    mine.refresh(context)
    buffers = None
    if key.host_arrays:
        buffers = mine.kept_buffers(context)
        if buffers is None:
            return call(*arguments, **keywords)
        key.arrange()
    number = mine.number(key)
    found = mine.like(number)
    if found is not None:
        again = found.again(key, stream)
        if again is not None:
            return again[0]
    whole = partial(with_own_scratch, call)
    if not mine.is_due(number):
        result = whole(*arguments, **keywords)
        mine.note(number)
        return result
    recording: Recording | None
    if buffers is None:
        recording, result = record_device_call(whole, arguments, keywords, key)
    else:
        recording, result = record_numpy_call(whole, arguments, keywords, key, context, buffers)
    mine.keep(key, recording, context)
    return result


def _context_of(key: CallKey, stream: Any) -> Context | None:
    """Where a call runs; None for one that is not recorded: without arrays, with arrays of two kinds or contexts."""
    if key.host_arrays:
        if key.arrays:
            return None
        try:
            return current_context() if stream is None else context_of(stream)
        except PortaGPUError:  # the call tells, unless it needs no device
            return None
    if not key.arrays:
        return None
    context: Context = key.arrays[0].context
    is_own = not isinstance(stream, Stream) or stream.context is context
    return context if is_own and all(x.context is context for x in key.arrays) else None


def repeats(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A function whose calls are `repeated`: it enqueues on its keyword ``stream``, and follows from its arguments."""
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def call(*arguments: _P.args, **keywords: _P.kwargs) -> _R:
        return repeated(function, name, arguments, keywords)  # type: ignore[no-any-return]

    return call


# recordings ---------------------------------------------------------------------------------------------------------


class _Calls(HostKnown):
    """What a thread knows of calls in a context.

    ``known``: recordings, by the facts of calls, or by these and the factors for those in ``exact``, whose launches
    differ in more than the factors. ``seen``: calls that were made once; True where they cannot be recorded.
    """

    __slots__ = ("exact", "seen")

    def __init__(self) -> None:
        super().__init__()
        self.exact: set[Any] = set()
        self.seen = Remembered()

    def clear(self) -> None:
        super().clear()
        self.exact.clear()
        self.seen.clear()

    def number(self, key: CallKey) -> Any:
        """What is known of calls like this one is under that."""
        facts = tuple(key.facts)
        return (facts, tuple(key.factors)) if self.exact and facts in self.exact else facts

    def like(self, number: Any) -> Recording | None:
        """The recording of calls with a number."""
        found: Recording | None = self.known.use(number)
        return found

    def is_due(self, number: Any) -> bool:
        """Whether a call is to be recorded, or, with other factors, recorded again."""
        return number in self.known or self.seen.get(number) is False

    def note(self, number: Any, *, is_fixed: bool | None = None) -> None:
        """A call that was made; is_fixed: it cannot be recorded."""
        self.seen[number] = number in self.seen if is_fixed is None else is_fixed
        while len(self.seen) > _SEEN:
            self.seen.forget_oldest()

    def keep(self, key: CallKey, recording: Recording | None, context: Context) -> None:
        """Keep what was recorded, with what a former recording with other factors tells about it."""
        number = self.number(key)
        former: Recording | None = self.known.pop(number, None)
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
            known.forget_oldest()
        # a copy, found by found: where a collection runs code that calls, known may change meanwhile
        states = [(number, known.get(number)) for number in list(known)]
        keeping = {number: found.replay for number, found in states if found is not None and found.replay.kept}
        for number, alone in beyond(keeping, most):
            known.pop(number, None)
            self.seen[number] = alone


_recordings = Recordings(_Calls)
