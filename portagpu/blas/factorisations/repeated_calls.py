"""Factorisations that are asked for again: their launches are recorded, and made again for other memory.

A blocked factorisation of one matrix is hundreds of short launches, whose Python costs a CPU more than its arithmetic.
The second call for arrays of the same shapes, strides and dtypes records them; see `portagpu.runtime.replay.replay`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from portagpu.blas.gemm.replay.recordings import Known, Recordings
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.recorder import active
from portagpu.runtime.execution.stream import Stream
from portagpu.runtime.replay.replay import Replay, kept_by, recorded

_REMEMBERED = 32  # calls of a thread in a context
_MOST_LAUNCHES = 4096
_KEPT_SHARE = 16  # of the device's memory: scratch memory that all recordings of a thread keep
_recordings = Recordings(Known)


def repeated(
    enqueue: Callable[..., None],
    name: str,
    operands: tuple[DeviceNDArray, ...],
    stream: Stream,
    options: tuple[Any, ...],
) -> None:
    """Call ``enqueue(*operands, stream)``, or enqueue what it enqueued for arrays like these.

    options: what the launches depend on besides the operands' shapes, strides, offsets and dtypes; name: of the call.
    """
    context = operands[0].context
    mine = _recordings.of(context)
    known = mine.refresh(context)
    first = {id(x.buffer): n for n, x in reversed(list(enumerate(operands)))}  # kernels are told what may overlap
    facts = tuple((x.type_key, x.dtype, x.shape, x.strides, x.offset, first[id(x.buffer)]) for x in operands)
    key = (name, facts, stream.token, options, active.depth)
    found = known.get(key)
    buffers = tuple(x.buffer for x in operands)
    if isinstance(found, Replay):
        if not found.busy and found.launch(stream, buffers):
            known.move_to_end(key)
            return
        found = None
    if found is None or found is True:
        _enqueue(enqueue, operands, stream)
        known[key] = found is True  # False: seen once; True: it cannot be recorded
    else:
        replay = recorded(lambda: _enqueue(enqueue, operands, stream), operands, _MOST_LAUNCHES)
        known[key] = True if replay is None else replay
        _bound(known, context.capabilities.global_memory // _KEPT_SHARE)
    known.move_to_end(key)
    while len(known) > _REMEMBERED:
        known.popitem(last=False)


def _enqueue(enqueue: Callable[..., None], operands: tuple[DeviceNDArray, ...], stream: Stream) -> None:
    """One that begins meanwhile, in a finaliser or signal handler, has scratch memory of its own."""
    depth = active.depth
    active.depth = depth + 1
    try:
        enqueue(*operands, stream)
    finally:
        active.depth = depth


def _bound(known: Any, most: int) -> None:
    """Forget the oldest recordings until what they keep is at most so many bytes; the latest is not made again."""
    replays = {key: found for key, found in list(known.items()) if isinstance(found, Replay)}
    while replays and kept_by(replays.values()) > most:
        key = next(iter(replays))
        known[key] = len(replays) == 1
        del replays[key]
