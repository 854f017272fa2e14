"""`Generator`: random numbers on a device, under the names of `numpy.random.Generator`."""

from __future__ import annotations

from typing import Any

from portagpu.random.arranging import Arranging
from portagpu.random.bit_generator import Philox
from portagpu.runtime.execution.stream import Stream


class Generator(Arranging):
    """Random numbers of a bit generator, made on the current device, or that of ``out``, parameters or the stream.

    The same bit generator gives the same numbers on all devices: integers, uniform numbers and permutations bit by bit,
    others up to the rounding of products, sums, roots and exponentials. Results are device arrays, of shape () where no
    ``size`` is given. Calls of several threads take turns, each with blocks of its own.

    ``stream``: where the work is, by default the device's default stream.
    """

    def spawn(self, n_children: int) -> list[Generator]:
        """Generators with keys of their own, made of the seed. Raises `ArgumentTypeError` without one."""
        return [Generator(bits, stream=self._stream) for bits in self._bits.spawn(n_children)]

    def __repr__(self) -> str:
        return f"Generator(Philox4x32 at {self._bits.state['state']['counter']:#x})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Generator, (self._bits,)


def default_rng(seed: Any = None, *, stream: Stream | int = 0) -> Generator:
    """A generator of a seed: None, an integer, a sequence of integers, a `numpy.random.SeedSequence`, a `Philox`.

    A generator is given back as it is. Raises `ArgumentTypeError`, `ArgumentValueError`.
    """
    if isinstance(seed, Generator):
        return seed
    return Generator(seed if isinstance(seed, Philox) else Philox(seed), stream=stream)
