"""Instructions of Intel's GPUs, as their compiler writes them: `dpas`, messages to memory, the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator

from portagpu.backends.opencl.offline.instructions.counting import Instruction, Kind

_LINE = re.compile(r"^// Line (\d+)")
_MESSAGE = re.compile(r"(load|store)(?:_block2d|_quad)?\.(ugm|ugml|slm|tgm)\.d(\d+)(?:u\d+)?(?:x(\d+))?(t?)")
_SURFACE = {"x": 1, "xy": 2, "xyz": 3, "xyzw": 4}
_DATA_PORT = re.compile(
    r"// .*?;\s*(?:a64\s+)?(?P<what>[a-z][\w ]*?)\s*(?:\bwith (?P<parts>[xyzw]+)|\bx(?P<count>\d+))?\s*//"
)
_BITS = re.compile(r"\b(8|16|32|64)b$")
_BRANCHES = re.compile(r"(?:jmpi|goto|if|else|while|break|cont|brc|brd|call|calla)\b")
_SLM = 0xFE  # the surface that stands for local memory
_FLOAT = re.compile(r">?:(?:f|df|hf|bf)\b")


def instructions(text: str) -> Iterator[Instruction]:
    """The instructions, with the lines that remarks between them say."""
    line: int | None = None
    for row in text.splitlines():
        place = _LINE.match(row)
        if place is not None:
            line = int(place.group(1))
        elif row and not row.startswith(("//", "_", ".", "L")):
            bare = re.sub(r"^\([^)]*\)", "", row).strip()
            if bare and bare[0].isalpha() and not bare.endswith(":"):
                yield Instruction(bare, line)


def kind_of(text: str) -> Kind | None:
    """What an instruction is; block messages of a subgroup count by the bytes of each of 16 lanes."""
    if text.startswith(("dpas", "dpasw")):
        return Kind("matrix")
    if text.startswith("math."):
        return Kind("special")
    if text.startswith("mad") and _FLOAT.search(text):
        return Kind("fma")
    if text.startswith("sync.bar"):
        return Kind("barriers")
    if text.startswith("atomic"):
        return Kind("local" if ".slm" in text.split()[0] else "atomics")
    if text.startswith(("load", "store")):
        return _message(text)
    if text.startswith(("send.dc", "sends.dc", "send.hdc", "send.ugm", "send.slm")):
        return _data_port(text)
    return Kind("branches") if _BRANCHES.match(text) else None


def _message(text: str) -> Kind | None:
    found = _MESSAGE.match(text)
    if found is None:
        return Kind(f"{text.split('.')[0].partition('_')[0]}s", 4) if "block2d" in text else None
    way, memory, bits, count, whole = found.groups()
    if memory == "slm":
        return Kind("local")
    if re.search(r"\bss\[", text):
        return Kind("scratch")
    nbytes = int(bits) // 8 * int(count or 1)
    if whole and way == "load" and (".a32" in text or nbytes < 64):  # arguments, and what all lanes want
        return Kind("scalar_loads")
    if whole:
        nbytes //= 16
    return Kind(f"{way}s", max(nbytes, 1))


def _data_port(text: str) -> Kind | None:
    found = _DATA_PORT.search(text)
    if found is None:
        return None
    what, parts, count = found.group("what"), found.group("parts"), found.group("count")
    descriptor = re.findall(r"\b0x([0-9A-Fa-f]{8})\b", text.partition("//")[0])
    if descriptor and int(descriptor[-1], 16) & 0xFF == _SLM and "a64" not in text:
        return Kind("local")
    if "scratch" in what:
        return Kind("scratch")
    if "atomic" in what:
        return Kind("atomics")
    way = "loads" if "read" in what else "stores" if "writ" in what else None
    if way is None:
        return None
    if "block" in what:
        nbytes = (32 if "hword" in what else 16) * int(count or 1) // 16
        return Kind("scalar_loads") if "aligned" in what and way == "loads" else Kind(way, max(nbytes, 1))
    told = _BITS.search(what)  # "byte gathering read 32b": bytes are what addresses count
    size = int(told.group(1)) // 8 if told else 1 if "byte" in what else 8 if "qword" in what else 4
    return Kind(way, size * (_SURFACE.get(parts or "", 1) if parts else int(count or 1)))
