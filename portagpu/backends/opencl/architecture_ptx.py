"""Instructions of one GPU architecture that a driver refuses in source text, but takes in its own intermediate text.

The driver compiles OpenCL C for the plain target of an architecture, ``sm_90`` say, and loads the text that comes
out, PTX, as a binary too. Instructions that exist on that architecture alone (``wgmma``, ``setmaxnreg``) need its own
target, ``sm_90a``. So they are written as marked comments inside inline assembly, which pass the compiler untouched;
the text is taken from it, the marks are removed and the target is changed, and the result is loaded as a binary.

PTX ISA, "Target architecture", PTX directives ``.target`` and ``.maxntid``.
"""

from __future__ import annotations

import re

MARK = "//portagpu "  # begins an instruction of one architecture, up to the end of the line
_TARGET = re.compile(r"^(\.target sm_\d+)(?=[,\s])", re.MULTILINE)
_BLOCK = re.compile(r"^\.reqntid (\d+), (\d+), (\d+)", re.MULTILINE)


def is_marked(source: str) -> bool:
    """Whether a program has instructions of one architecture."""
    return MARK in source


def unmarked(text: bytes) -> bytes:
    """The driver's text of a program with its marked instructions made real.

    Registers are moved between warps (``setmaxnreg``) only where the entry says how many threads it has at most, and
    that one block fits: the exact size that OpenCL's attribute stands for is not enough. So the limit is stated in its
    place where such instructions occur; the launch still has that size.
    """
    ptx = text.decode("latin1").rstrip("\0")
    moves_registers = f"{MARK}setmaxnreg" in ptx
    ptx = _TARGET.sub(r"\1a", ptx.replace(MARK, ""), count=1)
    if moves_registers:
        ptx = _BLOCK.sub(r".maxntid \1, \2, \3\n.minnctapersm 1", ptx)
    return ptx.encode("latin1")
