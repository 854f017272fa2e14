"""Names of variables and arrays on which the frontend, passes and back ends agree.

What the compiler makes by itself begins with ``pg.``, as no name in Python does; a part or copy of a user's variable
has its name, a dot and a word: ``x.shared``, ``x.half``.
"""

from __future__ import annotations

_OWN = "pg."
DYNAMIC_SHARED_ARRAY = "pg.dynamic_shared"
"""Dynamic shared memory, of the type `portagpu.ir.types.DYNAMIC_SHARED`."""
DYNAMIC_SHARED_BYTES = "pg.dynamic_bytes"
"""How much of it there is."""
GRID_CELLS = "pg.grid"
"""Global memory of the grid's barrier."""
VOTES = "pg.votes"
"""A shared number, with which threads vote whether a loop goes on."""
WORK, WORK_TOTALS = "pg.work", "pg.work_totals"
"""Counts of a thread's work, and where those of all threads are added up."""
WARP_VALUES = "pg.warp"
"""The shared array through which emulated warps exchange values: buffers, and threads of each."""
WARP_FLAGS = "pg.warp_flags"
"""The one for bits: votes, and who takes part."""

CAPTURED_ARRAYS = "pg.arrays"
"""The last parameter of a kernel that captures device arrays, and of the functions that it calls: their tuple."""

# words of flags that guard the way to barriers: who is there, who takes a branch, whether any thread does
LIVE, INSIDE, GATE = "live", "in", "gate"

SHARED_MARK, LOCAL_MARK = ".shared", ".local"
"""What follows a user's name in those of its shared and local arrays."""


def own(word: str) -> str:
    """A name of the compiler's own."""
    return f"{_OWN}{word}"


def is_own(name: str) -> bool:
    """Whether the compiler made a name, and no part of a user's."""
    return name.startswith(_OWN)


def word_of(name: str) -> str:
    """A name of the compiler's own without what marks it as such."""
    return name.removeprefix(_OWN)


def is_gate(name: str) -> bool:
    """Whether a flag is one that is the same for all threads of a block."""
    return name.startswith(own(GATE))
