"""Instructions of PTX, which CUDA's assembler has yet to translate, and of SASS, which is what runs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from portagpu.backends.opencl.offline.instructions.counting import Instruction, Kind, of_clang

_RULES = (
    (re.compile(r"(?:wgmma\.mma_async|wmma\.mma|mma|tcgen05\.mma)\b"), Kind("matrix")),
    (re.compile(r"cp\.(?:reduce\.)?async(?!\.(?:commit|wait|bulk\.(?:commit|wait|prefetch)))"), Kind("asynchronous")),
    (re.compile(r"(?:ld|st)(?:\.\w+)*\.local\b"), Kind("scratch")),
    (re.compile(r"(?:ld|st|atom|red)(?:\.\w+)*\.shared\b|ldmatrix|stmatrix|wmma\.(?:load|store)"), Kind("local")),
    (re.compile(r"(?:atom|red)\."), Kind("atomics")),
    (re.compile(r"ld\.(?:param|const)\b"), Kind("scalar_loads")),
    (re.compile(r"(?:fma|mad)\.(?:\w+\.)*(?:f|bf)\d"), Kind("fma")),
    (re.compile(r"(?:ex2|lg2|rcp|rsqrt|sqrt|sin|cos|tanh)\."), Kind("special")),
    (re.compile(r"(?:bar|barrier)(?:\.cta)?\.(?:sync|red)"), Kind("barriers")),
    (re.compile(r"bra\b"), Kind("branches")),
)
_MEMORY = re.compile(r"(ld|st)\.(\S+)")
_WIDTH = re.compile(r"[bufs](\d+)$")
_WORD = {"ld": "loads", "st": "stores"}


def instructions(text: str) -> Iterator[Instruction]:
    """The instructions of PTX, of inline assembly too, without predicates."""
    for one in of_clang(re.sub(r"^(\s+)(?:@!?%\w+|\{)\s*", r"\1", text, flags=re.MULTILINE)):
        for part in one.text.split(";"):
            bare = re.sub(r"^[\s{}]*(?:@!?%?\w+\s+)?", "", part)
            if bare and bare[0].isalpha():
                yield Instruction(bare, one.line)


def kind_of(text: str) -> Kind | None:
    """What an instruction of PTX is."""
    for rule, kind in _RULES:
        if rule.match(text):
            return kind
    found = _MEMORY.match(text)
    if found is None:
        return None
    parts = found.group(2).split(".")
    width = _WIDTH.match(parts[-1])
    lanes = next((int(part[1:]) for part in parts if part in ("v2", "v4", "v8")), 1)
    return Kind(_WORD[found.group(1)], (int(width.group(1)) // 8 if width else 4) * lanes)


# SASS ---------------------------------------------------------------------------------------------------------------

_SASS_RULES = (
    (re.compile(r"(?:[HIDQOB]|H?G|UTC)\w*MMA\b"), Kind("matrix")),
    (re.compile(r"LDGSTS|UBLKCP|UTMALDG|UTMASTG"), Kind("asynchronous")),
    (re.compile(r"(?:LDL|STL)\b"), Kind("scratch")),
    (re.compile(r"(?:LDS|STS|LDSM|STSM|ATOMS)\b"), Kind("local")),
    (re.compile(r"(?:ATOMG|ATOM|RED|REDG)\b"), Kind("atomics")),
    (re.compile(r"(?:LDC|LDCU|ULDC)\b"), Kind("scalar_loads")),
    (re.compile(r"(?:FFMA|DFMA|HFMA2|FFMA2)\b"), Kind("fma")),
    (re.compile(r"MUFU\b"), Kind("special")),
    (re.compile(r"BAR\.(?:SYNC|RED)"), Kind("barriers")),
    (re.compile(r"(?:BRA|BRX|JMP)\b"), Kind("branches")),
)
_SASS_MEMORY = re.compile(r"(LD|LDG|ST|STG)(?:\.(\S+))?\s")
_SASS_BYTES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16, "256": 32}
_SASS_LINE = re.compile(r'//##\s*File "[^"]*kernel\.cl", line (\d+)')
_SASS_OTHER = re.compile(r'//##\s*File "')
_SASS_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P[T\d]+\s+)?([A-Z][^;]*);")


def sass_instructions(text: str) -> Iterator[Instruction]:
    """The instructions that CUDA's disassembler shows."""
    line: int | None = None
    for row in text.splitlines():
        if _SASS_OTHER.search(row):
            place = _SASS_LINE.search(row)
            line = int(place.group(1)) if place else None
            continue
        found = _SASS_INSTRUCTION.match(row)
        if found is not None and not found.group(1).startswith("NOP"):
            yield Instruction(found.group(1).strip(), line)


def sass_kind_of(text: str) -> Kind | None:
    """What an instruction of SASS is."""
    for rule, kind in _SASS_RULES:
        if rule.match(text):
            return kind
    found = _SASS_MEMORY.match(text)
    if found is None:
        return None
    parts = (found.group(2) or "").split(".")
    nbytes = next((_SASS_BYTES[part] for part in parts if part in _SASS_BYTES), 4)
    return Kind("loads" if found.group(1).startswith("LD") else "stores", nbytes)
