"""Products that are asked for again, with the same arrays and numbers: their launches are recorded and made at once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from portagpu.blas.choice import generation
from portagpu.runtime.array import DeviceNDArray
from portagpu.runtime.recording import Replay, recorded

_REMEMBERED = 128  # products of a thread
_KEPT_SHARE = 64  # of the device's memory: scratch memory that all recordings of a thread keep


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.known: OrderedDict[Any, Replay | None] = OrderedDict()
        self.generation = -1


_mine = _OfThread()


def again(a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray, stream: Any, numbers: Any) -> bool:
    """Enqueue a product that was recorded; False where there is no such recording.

    ``numbers`` is what the product depends on besides the arrays; ``stream`` a stream, or None for the default one.
    """
    mine = _mine
    found = mine.known.get((a.token, b.token, c.token, stream, numbers))
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
    mine = _mine
    now = generation(c.context)
    if mine.generation != now:
        mine.known.clear()
        mine.generation = now
    key = (a.token, b.token, c.token, stream, numbers)
    if key in mine.known:
        mine.known[key] = found = recorded(multiply, (a, b, c))
        if found is not None and found.kept_bytes:
            _bound(mine.known, c.context.capabilities.global_memory // _KEPT_SHARE)
        return
    multiply()
    mine.known[key] = None
    if len(mine.known) > _REMEMBERED:
        mine.known.popitem(last=False)


def _bound(known: OrderedDict[Any, Replay | None], most: int) -> None:
    """Forget the oldest recordings that keep scratch memory, until what is kept is at most so many bytes."""
    sizes = {key: replay.kept_bytes for key, replay in known.items() if replay is not None}
    kept = sum(sizes.values())
    for key, size in sizes.items():
        if kept <= most:
            return
        if size:
            known[key] = None
            kept -= size
