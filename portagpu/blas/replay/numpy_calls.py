"""Recorded calls on NumPy arrays, for CPUs that use them in place: made again on whatever memory the arrays have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from portagpu.blas.replay.device_calls import MOST_LAUNCHES
from portagpu.blas.replay.factors import Factors
from portagpu.blas.replay.host_trace import HostTrace, Made, Place
from portagpu.blas.replay.keys import CallKey
from portagpu.blas.replay.results import Constant, Leaf, recipe
from portagpu.errors import PortaGPUError
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.current import current_stream
from portagpu.runtime.replay.host_calls import HostBuffers
from portagpu.runtime.replay.replay import Replay, recorded


class _Array(NamedTuple):
    """An array that a call returns."""

    place: Place

    def of(self, operands: Sequence[Any]) -> Any:
        """It, for a call that had these operands."""
        return self.place.among(operands)


class _Number(NamedTuple):
    """A number that a call reads from one of its arrays, and returns: NumPy's or Python's."""

    array: int
    of_python: bool

    def of(self, operands: Sequence[Any]) -> Any:
        """It, for a call that had these operands."""
        found = operands[self.array]
        return found.item() if self.of_python else found.reshape(())[()]


class NumpyRecording:
    """A call's launches, and the arrays that it ``made`` for them."""

    __slots__ = ("_buffers", "_context", "_made", "_results", "factors", "replay")

    def __init__(
        self,
        replay: Replay,
        made: tuple[Made, ...],
        results: Leaf,
        factors: Factors,
        context: Context,
        buffers: HostBuffers,
    ) -> None:
        self.replay, self.factors = replay, factors
        self._made, self._results, self._context, self._buffers = made, results, context, buffers

    def again(self, key: CallKey, stream: Any) -> tuple[Any] | None:
        """Make the call for other arrays, and give what it returns; None where it must be made anew."""
        numbers = self.factors.numbers(tuple(key.factors))
        if numbers is None or self.replay.busy:
            return None
        arrays, spans = key.host_arrays, key.spans
        for each in self._made:
            array, span = each.again(arrays)
            arrays.append(array)
            spans.append(span)
        over, context = self._buffers.over, self._context
        buffers = [over(context, span) for span in spans]
        stream = stream or context.default_stream
        try:
            if not self.replay.complete(stream, buffers, numbers):
                return None
        except BaseException:  # arrays must not go while kernels use them
            with suppress(PortaGPUError):
                stream.synchronize()
            raise
        return (self._results.of(arrays),)


def record_numpy_call(
    call: Callable[..., Any],
    arguments: tuple[Any, ...],
    keywords: Mapping[str, Any],
    key: CallKey,
    context: Context,
    buffers: HostBuffers,
) -> tuple[NumpyRecording | None, Any]:
    """Make a call, and give its recording, if there can be one, and what it returned."""
    trace = HostTrace(context, key.host_arrays, key.spans, buffers)
    returned: Any = None

    def make() -> None:
        nonlocal returned
        returned = call(*arguments, **keywords)

    context.unsettled.settle(stream=current_stream(context))  # what was put off is no part of the call
    replay = recorded(make, trace.ranges, MOST_LAUNCHES, copies=True, numbers=bool(key.factors), host=trace)
    if replay is None or not trace.is_complete:
        return None, returned
    try:
        results = recipe(returned, partial(_leaf, trace))
    except LookupError:  # what comes from elsewhere
        return None, returned
    return NumpyRecording(replay, tuple(trace.made), results, Factors(tuple(key.factors)), context, buffers), returned


def _leaf(trace: HostTrace, x: Any) -> Leaf:
    """How a part of what was returned is made. Raises `LookupError`."""
    if x is None:
        return Constant(x)
    if isinstance(x, np.ndarray):
        place = trace.place(x)
        if place is not None:
            return _Array(place)
    else:
        number = trace.read_from(x)
        if number is not None:
            return _Number(number, not isinstance(x, np.generic))
    raise LookupError
