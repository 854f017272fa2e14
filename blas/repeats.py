"""Products that are asked for again, with the same arrays and numbers: their launches are recorded and made at once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from portagpu.blas.choice import generation
from portagpu.blas.recordings import Recordings
from portagpu.runtime.array import DeviceNDArray
from portagpu.runtime.recording import Replay, kept_by, recorded

_REMEMBERED = 128  # products of a thread in a context
_KEPT_SHARE = 64  # of the device's memory: scratch memory that all recordings of a thread keep
_recordings = Recordings()  # None for products that were seen once


def again(a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray, stream: Any, numbers: Any) -> bool:
    """Enqueue a product that was recorded; False where there is no such recording.

    ``numbers`` is what the product depends on besides the arrays; ``stream`` a stream, or None for the default one.
    """
    mine = _recordings.of(c.context)
    found = mine.known.get(_key(a, b, c, stream, numbers))
    return found is not None and mine.generation == generation(c.context) and found.launch(stream)


def first(
    a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray, stream: Any, numbers: Any, multiply: Callable[[], None]
) -> None:
    """Have ``multiply`` enqueue a product; the second time that this thread asks for it, the launches are recorded.

    The recording holds until there are new tuning results or memory is given back.
    """
    if a.token is None or b.token is None or c.token is None:  # memory of others, which may change hands
        multiply()
        return
    known = _recordings.of(c.context).refresh(c.context)
    key = _key(a, b, c, stream, numbers)
    if key in known:
        known[key] = found = recorded(multiply, (a, b, c))
        if found is not None and found.kept_bytes:
            _bound(known, c.context.capabilities.global_memory // _KEPT_SHARE)
        return
    multiply()
    known[key] = None
    if len(known) > _REMEMBERED:
        known.popitem(last=False)


def _key(a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray, stream: Any, numbers: Any) -> Any:
    return a.token, b.token, c.token, None if stream is None else stream.token, numbers


def _bound(known: OrderedDict[Any, Replay | None], most: int) -> None:
    """Forget the oldest recordings that keep scratch memory, until what is kept is at most so many bytes."""
    keeping = [key for key, replay in known.items() if replay is not None and replay.kept]
    for key in keeping:
        if kept_by(replay for replay in known.values() if replay is not None) <= most:
            return
        known[key] = None
