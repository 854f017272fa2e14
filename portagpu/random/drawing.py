"""What all kinds of numbers of a generator need: its bit generator, and the ways to fill an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.errors import ArgumentTypeError
from portagpu.expressions.apply import apply
from portagpu.random import draws
from portagpu.random.bit_generator import Philox
from portagpu.random.draws import Draw, Source
from portagpu.random.filling import fill
from portagpu.random.samplers import QUICK, Sampler
from portagpu.random.sampling import sample
from portagpu.random.targets import Target, as_dtype, laid_out, real_dtype
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.context import Context, current_context
from portagpu.runtime.execution.stream import Stream


class Drawing:
    """A bit generator whose numbers arrays are filled with."""

    def __init__(self, bit_generator: Philox, *, stream: Stream | int = 0) -> None:
        if not isinstance(bit_generator, Philox):
            raise ArgumentTypeError(
                f"a generator takes a Philox, not {type(bit_generator).__name__}", hint="use default_rng(seed)"
            )
        self._bits = bit_generator
        self._stream = stream

    @property
    def bit_generator(self) -> Philox:
        """What the numbers come from, and its state."""
        return self._bits

    @property
    def _context(self) -> Context:
        return self._stream.context if isinstance(self._stream, Stream) else current_context()  # type: ignore[return-value]

    def _fill(self, target: Target, plan: Draw, parameters: tuple[Any, ...]) -> DeviceNDArray:
        place = self._bits.take(-(-target.array.size // plan.width))
        return target.filled(lambda flat: fill(flat, place, parameters, plan, self._stream))

    def _drawn(
        self, one: Any, loc: Any, scale: Any, size: Any, dtype: Any, out: Any, source: Source = Source.WORDS
    ) -> DeviceNDArray:
        """Numbers of a distribution with a place and a scale, both numbers or arrays."""
        kind = _kind(dtype, out, self._context)
        target = Target(self._context, size, kind, out, (loc, scale))
        plan = Draw(one, kind.type, kind.itemsize == 8, source)
        if isinstance(loc, float) and isinstance(scale, float):
            return self._fill(target, plan, (kind.type(loc), kind.type(scale)))
        made = Target(target.context, target.array.shape, kind, None)
        standard = self._fill(made, plan, (kind.type(0), kind.type(1)))
        moved = apply(np.add, apply(np.multiply, standard, as_dtype(scale, kind)), as_dtype(loc, kind))
        return target.stored(moved)

    def _sampled(
        self, one: Any, a: Any, b: Any, size: Any, out: Any, *, dtype: np.dtype[Any], real: np.dtype[Any]
    ) -> DeviceNDArray:
        """Numbers that each element makes of places of its own."""
        target = Target(self._context, size, dtype, out, (a, b))
        plan = Sampler(one, dtype.type, QUICK.get(one), real.type, real.itemsize == 8)
        place = self._bits.take(target.array.size)
        if isinstance(a, float) and isinstance(b, float):
            first, second = real.type(a), real.type(b)
            return target.filled(lambda flat: sample(flat, place, first, second, plan, self._stream))
        shape, context = target.array.shape, target.context
        x, y = (laid_out(value, shape, real, context) for value in (a, b))
        plan = plan._replace(arrays=True)
        return target.filled(lambda flat: sample(flat, place, x, y, plan, self._stream))

    def _continuous(self, one: Any, a: Any, b: Any, size: Any, dtype: Any, out: Any) -> DeviceNDArray:
        kind = _kind(dtype, out, self._context)
        return self._sampled(one, a, b, size, out, dtype=kind, real=kind)

    def _discrete(self, one: Any, a: Any, b: Any, size: Any, out: Any) -> DeviceNDArray:
        real = real_dtype(None, self._context)
        return self._sampled(one, a, b, size, out, dtype=np.dtype(np.int64), real=real)

    def _words(self, size: Any, dtype: np.dtype[Any], context: Context) -> DeviceNDArray:
        """Random bits as uint32 or uint64."""
        wide = dtype.itemsize == 8
        target = Target(context, size, dtype, None)
        return self._fill(target, Draw(draws.raw, dtype.type, wide), (np.uint64(0),))


def _kind(dtype: Any, out: Any, context: Context) -> np.dtype[Any]:
    if dtype is None and isinstance(out, DeviceNDArray):
        dtype = out.dtype
    return real_dtype(dtype, context)
