"""Replay of products of device arrays.

With ``out`` a recording is for these very arrays. For new results it serves all operands of the same shapes, strides
and dtypes, whatever memory they are in: products follow one another, each on the result of the last one. What an
epilogue reads counts as operands do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from portagpu.blas.gemm.replay.recordings import Known, Recordings, Remembered
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.factory import ArrayFactory
from portagpu.runtime.arrays.overlap import may_overlap, unknown_key
from portagpu.runtime.execution.current import current_stream
from portagpu.runtime.replay.replay import Replay, beyond, recorded

_REMEMBERED = 128  # products of a thread in a context
_KEPT_SHARE = 64  # of the device's memory: scratch memory that all recordings of a thread keep
_recordings = Recordings(Known)


class _Recording(NamedTuple):
    replay: Replay
    factory: ArrayFactory | None  # of the result, if it is new each time


def again(
    a: DeviceNDArray,
    b: DeviceNDArray,
    out: DeviceNDArray | None,
    stream: Any,
    numbers: Any,
    further: tuple[DeviceNDArray, ...] = (),
    *,
    borrowed: bool = False,
) -> Any:
    """Enqueue a product that was recorded and return the result; None where there is no such recording.

    ``out``: None for a new result; ``borrowed``: where all arrays are views that were made for this call, so that those
    of a recording, which lay alike, are not these. ``numbers`` is what the product depends on besides the arrays,
    ``further`` what its epilogue reads; ``stream`` a stream, or None for the default one. Raises `OutOfMemoryError`.
    """
    context = a.context
    mine = _recordings.of(context)
    key = _borrowed_key(a, b, out, stream, numbers) if borrowed else _key(a, b, out, stream, numbers, further)
    found = mine.known.get(key)
    if found is None or found is True or found is False or not mine.holds(context):
        return None
    replay, factory = found
    if factory is None and not replay.copies and not borrowed:
        return out if replay.launch(stream) else None
    if replay.busy:
        return None
    if b.context is not context or a.token is None or b.token is None:
        return None
    if further and any(x.context is not context or x.token is None for x in further):
        return None
    mine.known.use(key)
    result = out if factory is None else factory.array()
    assert result is not None
    buffers = (a.buffer, b.buffer, *[x.buffer for x in further], result.buffer)
    return result if replay.launch(stream, buffers) else None


def first(
    a: DeviceNDArray,
    b: DeviceNDArray,
    c: DeviceNDArray,
    stream: Any,
    numbers: Any,
    multiply: Callable[[DeviceNDArray], None],
    *,
    new: bool,
    further: tuple[DeviceNDArray, ...] = (),
    borrowed: bool = False,
) -> None:
    """Have ``multiply(c)`` enqueue a product; the second time that this thread asks for it, the launches are recorded.

    ``new`` says that nobody else knows c; ``borrowed``: see `again`. The recording holds until there are new tuning
    results or memory is given back.
    """
    if any(x.token is None for x in (a, b, c, *further)):  # memory of others, which may change hands
        multiply(c)
        return
    context = c.context
    context.unsettled.settle(stream=current_stream(context))  # what was put off is no part of the product
    known = _recordings.of(context).refresh(context)
    if borrowed:
        key = _borrowed_key(a, b, c, stream, numbers)
    else:
        key = _key(a, b, None if new else c, stream, numbers, further)
    state = known.pop(key, None)
    if state is None or state is True:
        multiply(c)
        known[key] = state is True
    else:
        known[key] = _record((a, b, *further), c, multiply, new=new, borrowed=borrowed) or True
        _bound(known, context.capabilities.global_memory // _KEPT_SHARE)
    if len(known) > _REMEMBERED:
        known.forget_oldest()


def _record(
    operands: tuple[DeviceNDArray, ...],
    c: DeviceNDArray,
    multiply: Callable[[DeviceNDArray], None],
    *,
    new: bool,
    borrowed: bool,
) -> _Recording | None:
    if not new and not borrowed:
        replay = recorded(lambda: multiply(c), (*operands, c), copies=True)
        return None if replay is None else _Recording(replay, None)
    factory = ArrayFactory(c)
    # under another name: the recording writes what is kept for this one (maps of tensors) anew for each result
    own = factory.view(c, unknown_key()) if borrowed else factory.array(c.buffer)
    replay = recorded(lambda: multiply(own), (*operands, own), copies=True)
    return None if replay is None else _Recording(replay, None if borrowed else factory)


def _key(
    a: DeviceNDArray,
    b: DeviceNDArray,
    out: DeviceNDArray | None,
    stream: Any,
    numbers: Any,
    further: tuple[DeviceNDArray, ...],
) -> Any:
    where = None if stream is None else stream.token
    if out is not None:
        tokens = (a.token, b.token, out.token, where, numbers)
        return (*tokens, *[x.token for x in further]) if further else tokens
    shared = a.allocation_key == b.allocation_key  # kernels are told which arrays may overlap
    if not further:
        return (*_facts(a), *_facts(b), shared, where, numbers)
    memory = [x.allocation_key for x in (a, b, *further)]
    first_uses = tuple(map(memory.index, memory))
    return (*_facts(a), *_facts(b), first_uses, where, numbers, *map(_facts, further))


def _borrowed_key(a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray | None, stream: Any, numbers: Any) -> Any:
    """As `_key`, of views for one call. Their memories may begin at one address, and a and b overlap."""
    assert c is not None
    driver = c.context.driver
    shared: Any = None
    if driver.may_overlap([(x._buffer, 0) for x in (a, b, c)]):
        places = [driver.handle(x._buffer) for x in (a, b, c)]
        shared = (tuple(map(places.index, places)), may_overlap((a, b)), may_overlap((a, c)), may_overlap((b, c)))
    return (*_facts(a), *_facts(b), *_facts(c), shared, None if stream is None else stream.token, numbers)


def _facts(x: DeviceNDArray) -> tuple[Any, ...]:
    return x.type_key, x.dtype, x.shape, x.strides, x.offset


def _bound(known: Remembered, most: int) -> None:
    """Forget the oldest recordings that keep scratch memory, until what is kept is at most so many bytes.

    One that keeps more all by itself is not made again.
    """
    # a copy: where a collection runs code that multiplies, known may change meanwhile
    states = [(key, known.get(key)) for key in list(known)]
    keeping = {key: found.replay for key, found in states if isinstance(found, _Recording) and found.replay.kept}
    for key, alone in beyond(keeping, most):
        known[key] = alone
