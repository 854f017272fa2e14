"""Handles of streams that other libraries made: numbers that are none are an error, not the end of the process.

CUDA's driver reads the memory that a handle points to, whatever it is, and has no call that checks one. Its streams
refer to their context, always in the same way, which streams of our own show. Memory that was a stream's may still
look like one.
"""

from __future__ import annotations

from collections.abc import Iterable

from portagpu.backends.process_memory import WORD, words_at

_LOOKED_AT = 256  # words of a stream
_FOLLOWED = 16  # words of a stream that may point to what has the context
_BEHIND = 64  # words there

Path = tuple[int, ...]  # an offset in words; where there is a second, it is from the address at the first


def context_paths(context: int, streams: Iterable[int]) -> list[Path]:
    """Ways from a stream to its context that all these streams have; none where the driver keeps no such.

    Words behind a small stream belong to its neighbours, which may have the context, too, in the same place: what is
    found there is one way more, and hides none. Driver 580: the first word of a stream, of any flags and priority, is
    the address of what has the context as third.
    """
    ways = [_paths(context, stream) for stream in streams]
    return sorted(set(ways[0]).intersection(*ways[1:])) if ways else []


def _paths(context: int, stream: int) -> list[Path]:
    words = words_at(stream, _LOOKED_AT) or ()
    behind = ((i, words_at(word, _BEHIND) or ()) for i, word in enumerate(words[:_FOLLOWED]) if _is_address(word))
    paths: list[Path] = [(i, j) for i, found in behind for j, word in enumerate(found) if word == context]
    return paths + [(i,) for i, word in enumerate(words) if word == context]


def _is_address(word: int) -> bool:
    return word > 0 and word % WORD == 0


def may_be_stream(handle: int, context: int, paths: Iterable[Path]) -> bool:
    """Whether a stream of a context may be at an address of this process, by its `context_paths`.

    One that leads to the context is enough: others may be chance. Where memory cannot be read through a file, only
    alignment is checked, where no way is known, that there is memory.
    """
    if not _is_address(handle):
        return False
    start = words_at(handle)
    return start is None or (bool(start) and (not paths or any(_end(handle, path) == context for path in paths)))


def _end(address: int, path: Path) -> int | None:
    for offset in path:
        words = words_at(address + offset * WORD) if _is_address(address) else None
        if not words:
            return None
        address = words[0]
    return address
