"""Handles of streams that other libraries made: numbers that are none are an error, not the end of the process.

CUDA's driver reads the memory that a handle points to, whatever it is, and has no call that checks one. Its streams
refer to their context, always at the same offsets, which streams of our own show. Memory that was a stream's may still
look like one.
"""

from __future__ import annotations

from collections.abc import Iterable

from portagpu.backends.process_memory import WORD, words_at

_LOOKED_AT = 256  # words of a stream


def context_offsets(context: int, streams: Iterable[int]) -> tuple[int, ...]:
    """Offsets, in words, at which all these streams of a context refer to it; none where the driver keeps no such."""
    known = [words_at(stream, _LOOKED_AT) or () for stream in streams]
    shortest = min(map(len, known), default=0)
    return tuple(i for i in range(shortest) if all(words[i] == context for words in known))


def may_be_stream(handle: int, context: int, offsets: tuple[int, ...]) -> bool:
    """Whether a stream of a context may be at an address of this process, by its `context_offsets`.

    Where memory cannot be read through a file, only alignment is checked.
    """
    if handle <= 0 or handle % WORD:
        return False
    words = words_at(handle, max(offsets, default=0) + 1)
    return words is None or (bool(words) and all(i < len(words) and words[i] == context for i in offsets))
