"""Memory of this process, read through a file: an address where nothing can be read is no crash."""

from __future__ import annotations

import struct
from pathlib import Path

WORD = struct.calcsize("P")  # bytes of a pointer


def words_at(address: int, count: int = 1) -> tuple[int, ...] | None:
    """Up to ``count`` words from an address, fewer where the rest cannot be read.

    None where the system does not let a process read its memory through a file.
    """
    try:
        memory = Path("/proc/self/mem").open("rb", buffering=0)  # noqa: SIM115 - closed below
    except OSError:
        return None
    with memory:
        try:
            memory.seek(address)
            content = memory.read(count * WORD) or b""
        except (OSError, OverflowError, ValueError):
            return ()
    whole = len(content) // WORD
    return struct.unpack(f"{whole}P", content[: whole * WORD])
