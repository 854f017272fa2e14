"""Whole numbers of a generator, under NumPy's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.errors import ArgumentRangeError, ArgumentTypeError, ArgumentValueError, DTypeError
from portagpu.random import draws, samplers
from portagpu.random.drawing import Drawing
from portagpu.random.draws import Draw, Source
from portagpu.random.samplers import Sampler
from portagpu.random.sampling import sample
from portagpu.random.targets import POSITIVE, Limits, Target, laid_out, parameter
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.ufuncs.operands import operand

_PROBABILITY = Limits(0.0, 1.0)
_CHANCE = Limits(0.0, 1.0, is_open=True)
_MOST_MEAN = Limits(0.0, 2.0**63 - 2.0**36)
_TRIALS = Limits(0.0, 2.0**63 - 1024)


class Discrete(Drawing):
    """Integers and counts. Parameters, ``size``, ``out`` and errors are those of real numbers.

    Counts are computed in float64, in float32 where a device has no other.
    """

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Any = None,
        dtype: Any = np.int64,
        endpoint: bool = False,
        out: Any = None,
    ) -> DeviceNDArray:
        """Integers from ``low`` on, below ``high``, or up to it with ``endpoint``; below ``low`` where that is alone.

        All have the same chance exactly (Lemire's method). ``dtype``: any of integers, or bool. Bounds that are device
        arrays are copied to the host to be looked at.
        """
        begin, spans, kind = bounds_of(low, high, dtype if out is None else getattr(out, "dtype", dtype), endpoint)
        if isinstance(spans, int):
            return self._bounded(int(begin), spans, size, kind, out)
        offsets = _wrapped(begin, spans.shape)
        target = Target(self._context, size, kind, out, (spans,))
        shape, context, word = target.array.shape, target.context, np.dtype(np.uint64)
        a, b = laid_out(offsets, shape, word, context), laid_out(spans, shape, word, context)
        place = self._bits.take(target.array.size)
        plan = Sampler(samplers.bounded_by_arrays, kind.type, arrays=True)
        return target.filled(lambda flat: sample(flat, place, a, b, plan, self._stream))

    def _bounded(self, begin: int, span: int, size: Any, kind: np.dtype[Any], out: Any) -> DeviceNDArray:
        target = Target(self._context, size, kind, out)
        bits = 64 if span > 2**32 else 32
        offset, word = np.uint64(begin % 2**64), np.uint64 if bits == 64 else np.uint32
        if span == 2**bits:
            return self._fill(target, Draw(draws.raw, kind.type, bits == 64), (offset,))
        numbers = offset, word(span), word(2**bits % span)
        source = Source.ACCEPTED if 2**bits % span else Source.WORDS
        accepts = draws.is_fair if source is Source.ACCEPTED else None
        return self._fill(target, Draw(draws.bounded, kind.type, bits == 64, source, accepts), numbers)

    def poisson(self, lam: Any = 1.0, size: Any = None, out: Any = None) -> DeviceNDArray:
        """Events, int64, where ``lam`` are expected."""
        return self._discrete(samplers.poisson, parameter("lam", lam, _MOST_MEAN), 1.0, size, out)

    def binomial(self, n: Any, p: Any, size: Any = None, out: Any = None) -> DeviceNDArray:
        """Successes, int64, of ``n`` trials that succeed with probability ``p``."""
        trials, chance = parameter("n", n, _TRIALS), parameter("p", p, _PROBABILITY)
        if isinstance(trials, float):
            trials = float(int(trials))
        return self._discrete(samplers.binomial, trials, chance, size, out)

    def geometric(self, p: Any, size: Any = None, out: Any = None) -> DeviceNDArray:
        """Trials, int64, up to and with the first success of probability ``p``; 2**63 - 1024 stands for more."""
        return self._discrete(samplers.geometric, parameter("p", p, _CHANCE), 1.0, size, out)

    def negative_binomial(self, n: Any, p: Any, size: Any = None, out: Any = None) -> DeviceNDArray:
        """Failures, int64, before the ``n``-th success of probability ``p``."""
        trials, chance = parameter("n", n, POSITIVE), parameter("p", p, _CHANCE)
        return self._discrete(samplers.negative_binomial, trials, chance, size, out)

    def bytes(self, length: int) -> bytes:
        """Random bytes, on the host. Raises `ArgumentValueError`."""
        if length < 0:
            raise ArgumentValueError(f"a length is not negative, unlike {length}")
        words = self._words(-(-length // 4), np.dtype(np.uint32), self._context)
        return words.copy_to_host().astype("<u4").tobytes()[:length]


def bounds_of(low: Any, high: Any, dtype: Any, endpoint: bool) -> tuple[Any, Any, np.dtype[Any]]:
    """The first integer, how many there are, and the dtype; arrays, uint64 where 0 stands for 2**64, for arrays.

    Raises `ArgumentValueError`, `ArgumentTypeError`, `DTypeError`.
    """
    kind = _integer_dtype(dtype)
    first, last = (0, low) if high is None else (low, high)
    begin, end = _bound(first, "low"), _bound(last, "high")
    least, most = (0, 1) if kind.kind == "b" else (np.iinfo(kind).min, np.iinfo(kind).max)
    return begin, _spans(begin, end, endpoint, int(least), int(most)), kind


def _integer_dtype(dtype: Any) -> np.dtype[Any]:
    try:
        found: np.dtype[Any] = np.dtype(dtype)
    except TypeError as error:
        raise DTypeError(f"{dtype!r} is no dtype") from error
    if found.kind not in "iub":
        raise DTypeError(f"random integers are of an integer dtype, not {found}")
    native: np.dtype[Any] = found.newbyteorder("=")
    return native


def _bound(value: Any, name: str) -> Any:
    """An int, or an array of integers on the host; floats are truncated, as NumPy does."""
    found = operand(value)
    if isinstance(found, DeviceNDArray):
        found = found.copy_to_host()
    if isinstance(found, np.ndarray):
        if found.dtype.kind in "iub":
            return found.astype(object)
        if found.dtype.kind == "f":
            return np.vectorize(lambda number: _truncated(number, name), otypes=[object])(found)
        raise ArgumentTypeError(f"{name} is made of numbers, not of {found.dtype}")
    if isinstance(found, bool | int | float | np.integer | np.floating | np.bool_):
        return _truncated(found, name)
    raise ArgumentTypeError(f"{name} is a number, not {value!r}")


def _truncated(number: Any, name: str) -> int:
    """Raises `ArgumentRangeError` for infinities, `ArgumentValueError` for NaN."""
    try:
        return int(number)
    except OverflowError as error:
        raise ArgumentRangeError(f"{name} is {number}: {error}") from error
    except ValueError as error:
        raise ArgumentValueError(f"{name} is {number}: {error}") from error


def _spans(begin: Any, end: Any, endpoint: bool, least: int, most: int) -> Any:
    """How many integers there are: an int, or uint64, where 0 stands for 2**64. Raises `ArgumentValueError`."""
    last = end if endpoint else end - 1
    if isinstance(begin, int) and isinstance(last, int):
        if begin < least or last > most:
            raise ArgumentValueError(f"integers from {begin} to {last} do not fit into the dtype, {least} to {most}")
        if begin > last:
            raise ArgumentValueError(f"there are no integers from {begin} to {last}")
        return last - begin + 1
    spans = np.asarray(last - begin + 1, dtype=object)
    if spans.size:
        if np.min(begin) < least or np.max(last) > most:
            raise ArgumentValueError(f"there are bounds that do not fit into the dtype, {least} to {most}")
        if spans.min() < 1:
            raise ArgumentValueError("there are no integers between some of the bounds")
    return (spans % 2**64).astype(np.uint64)


def _wrapped(begin: Any, shape: tuple[int, ...]) -> Any:
    return np.broadcast_to(np.asarray(np.asarray(begin, dtype=object) % 2**64).astype(np.uint64), shape)
