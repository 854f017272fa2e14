"""The generator's state: which blocks of which key come next."""

from __future__ import annotations

import operator
import threading
from typing import Any

import numpy as np

from portagpu.errors import ArgumentTypeError, ArgumentValueError
from portagpu.random.filling import Place

_PLACES, _STREAMS = 2**64, 2**32


class Philox:
    """Philox4x32-10: the bit generator of `Generator`.

    A block is four words of 32 bits, a function of a counter of 128 bits and a key of 64. The counter's words are: two
    of the block's place, one of the stream, and one of attempts, which functions use that may draw again. Numbers are
    made of blocks in order of their places; a call takes as many places as it needs and leaves the rest of its last
    block.

    ``seed``: None for one from the operating system, an integer, a sequence of integers, or a `numpy.random.
    SeedSequence`, of which the key is made. ``key``, an integer of 64 bits, in its place; ``counter``: the first place,
    and the stream times 2**64. Raises `ArgumentTypeError`, `ArgumentValueError`.
    """

    def __init__(self, seed: Any = None, *, counter: int = 0, key: int | None = None) -> None:
        self._lock = threading.Lock()
        self._seeds: np.random.SeedSequence | None = None
        if key is None:
            self._seeds = sequence_of(seed)
            low, high = (int(word) for word in self._seeds.generate_state(2, np.uint32))
            self._key = high << 32 | low
        else:
            if seed is not None:
                raise ArgumentTypeError("a seed and a key= are one too many", hint="the key is made of the seed")
            self._key = _integer(key, "key=", _PLACES)
        self._stream, self._place = divmod(_integer(counter, "counter=", _PLACES * _STREAMS), _PLACES)

    def take(self, blocks: int) -> Place:
        """Where a call's blocks begin; those of the next one begin behind them, modulo 2**64."""
        with self._lock:
            place = self._place
            self._place = (place + blocks) % _PLACES
        return Place(np.uint64(place), np.uint32(self._stream), _words(self._key))

    def advance(self, delta: int) -> Philox:
        """Leave out blocks, or go back where ``delta`` is negative; this bit generator. Raises `ArgumentTypeError`."""
        with self._lock:
            self._place = (self._place + _index(delta, "delta")) % _PLACES
        return self

    def jumped(self, jumps: int = 1) -> Philox:
        """A bit generator at the same place of another stream: 2**64 blocks further for each of the jumps."""
        stream = (self._stream + _index(jumps, "jumps")) % _STREAMS
        return Philox(key=self._key, counter=stream * _PLACES + self._place)

    def spawn(self, n_children: int) -> list[Philox]:
        """Bit generators with keys of their own, made of the seed. Raises `ArgumentTypeError` without one."""
        if self._seeds is None:
            raise ArgumentTypeError("a bit generator of a key has no seed to spawn from", hint="use jumped(n)")
        return [Philox(child) for child in self._seeds.spawn(_index(n_children, "n_children"))]

    @property
    def seed_seq(self) -> np.random.SeedSequence | None:
        """What the key was made of."""
        return self._seeds

    @property
    def state(self) -> dict[str, Any]:
        """The counter, as an integer, and the key; to be kept, and set again."""
        counter = self._stream * _PLACES + self._place
        return {"bit_generator": "Philox4x32", "state": {"counter": counter, "key": self._key}}

    @state.setter
    def state(self, value: dict[str, Any]) -> None:
        try:
            name, inner = value["bit_generator"], value["state"]
            counter, key = inner["counter"], inner["key"]
        except (KeyError, TypeError, IndexError) as error:
            raise ArgumentTypeError("a state is what the attribute state gave") from error
        if name != "Philox4x32":
            raise ArgumentValueError(f"the state is one of {name}, not of Philox4x32")
        with self._lock:
            self._key = _integer(key, "the key", _PLACES)
            self._stream, self._place = divmod(_integer(counter, "the counter", _PLACES * _STREAMS), _PLACES)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.state, self._seeds)


def _restored(state: dict[str, Any], seeds: np.random.SeedSequence | None) -> Philox:
    made = Philox(key=0)
    made.state = state
    made._seeds = seeds
    return made


def sequence_of(seed: Any) -> np.random.SeedSequence:
    """NumPy's seed sequence of a seed. Raises `ArgumentTypeError`, `ArgumentValueError`."""
    if isinstance(seed, np.random.SeedSequence):
        return seed
    try:
        return np.random.SeedSequence(seed)
    except TypeError as error:
        raise ArgumentTypeError(f"a seed is an integer or a sequence of them, not {type(seed).__name__}") from error
    except ValueError as error:
        raise ArgumentValueError(f"a seed is not negative, unlike {seed!r}") from error


def _words(key: int) -> tuple[np.uint32, np.uint32]:
    return np.uint32(key & 0xFFFFFFFF), np.uint32(key >> 32)


def _index(value: Any, name: str) -> int:
    try:
        return operator.index(value)
    except TypeError as error:
        raise ArgumentTypeError(f"{name} is an integer, not {type(value).__name__}") from error


def _integer(value: Any, name: str, end: int) -> int:
    found = _index(value, name)
    if not 0 <= found < end:
        raise ArgumentValueError(f"{name} is from 0 on, below 2**{end.bit_length() - 1}, not {found}")
    return found
