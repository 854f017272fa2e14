"""Instructions of one GPU architecture that a driver refuses in source text, but takes in its own intermediate text.

The driver compiles OpenCL C for the plain target of an architecture, ``sm_90`` say, and loads the text that comes
out, PTX, as a binary too. Instructions that exist on that architecture alone (``wgmma``, ``setmaxnreg``) need its own
target, ``sm_90a``. So they are written as marked comments inside inline assembly, which pass the compiler untouched;
the text is taken from it, the marks are removed and the target is changed, and the result is loaded as a binary.

Clusters of blocks are what the driver's language has no word for: a comment in the source says of how many blocks they
are, and the text gets the directives. They launch through CUDA's driver alone.

PTX ISA, "Target architecture", PTX directives ``.target``, ``.maxntid`` and ``.reqnctapercluster``.
"""

from __future__ import annotations

import re

MARK = "//portagpu "  # begins an instruction of one architecture, up to the end of the line
_TARGET = re.compile(r"^(\.target sm_\d+)(?=[,\s])", re.MULTILINE)
_CLUSTER = re.compile(r"^// cluster of (\d+) x (\d+) x (\d+) blocks$", re.MULTILINE)
_ENTRY = re.compile(r"^(?:\.visible\s+)?\.entry\b[^{]*(?=\{)", re.MULTILINE)
_BLOCK = re.compile(r"^\.reqntid (\d+), (\d+), (\d+)", re.MULTILINE)


def cluster_line(cluster: tuple[int, int, int]) -> str:
    """The comment that says of how many blocks a kernel's clusters are."""
    return "// cluster of {} x {} x {} blocks".format(*cluster)


def is_marked(source: str) -> bool:
    """Whether a program has what the driver takes in its own text alone."""
    return MARK in source or _CLUSTER.search(source) is not None


def unmarked(text: bytes, source: str = "") -> bytes:
    """The driver's text of a program with its marked instructions, and the clusters of its source, made real.

    Registers are moved between warps (``setmaxnreg``) only where the entry says how many threads it has at most, and
    that one block fits: the exact size that OpenCL's attribute stands for is not enough. So the limit is stated in its
    place where such instructions occur; the launch still has that size.
    """
    ptx = text.decode("latin1").rstrip("\0")
    moves_registers = f"{MARK}setmaxnreg" in ptx
    if MARK in ptx:
        ptx = _TARGET.sub(r"\1a", ptx.replace(MARK, ""), count=1)
    if moves_registers:
        ptx = _BLOCK.sub(r".maxntid \1, \2, \3\n.minnctapersm 1", ptx)
    cluster = _CLUSTER.search(source)
    if cluster is not None:
        sizes = ", ".join(cluster.groups())
        ptx = _ENTRY.sub(lambda found: f"{found[0]}.explicitcluster\n.reqnctapercluster {sizes}\n", ptx)
    return ptx.encode("latin1")
