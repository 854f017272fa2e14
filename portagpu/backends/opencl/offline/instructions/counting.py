"""Instructions counted by kind, and the lines of the program that those come from which access scratch memory."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from portagpu.backends.offline import InstructionMix

_PLAIN = frozenset(
    {
        *("matrix", "scalar_loads", "local", "fma", "special", "atomics", "asynchronous", "barriers", "branches"),
        "scratch",
    }
)


class Kind(NamedTuple):
    """What an instruction is: a field of `InstructionMix`, for loads and stores with the bytes of a lane."""

    field: str
    nbytes: int = 0


class Instruction(NamedTuple):
    """An instruction's text, and the line of the program that it is for, where that is known."""

    text: str
    line: int | None


KindOf = Callable[[str], Kind | None]


def counted(form: str, instructions: Iterable[Instruction], kind_of: KindOf) -> tuple[InstructionMix, dict[int, int]]:
    """The mix of instructions, and how many of them access scratch memory, by line."""
    fields: Counter[str] = Counter()
    loads: Counter[int] = Counter()
    stores: Counter[int] = Counter()
    scratch: Counter[int] = Counter()
    total = 0
    for text, line in instructions:
        total += 1
        kind = kind_of(text)
        if kind is None:
            continue
        if kind.field == "loads":
            loads[kind.nbytes] += 1
        elif kind.field == "stores":
            stores[kind.nbytes] += 1
        else:
            assert kind.field in _PLAIN
            fields[kind.field] += 1
            if kind.field == "scratch" and line is not None:
                scratch[line] += 1
    mix = InstructionMix(
        form=form, total=total, loads=dict(sorted(loads.items())), stores=dict(sorted(stores.items())), **fields
    )
    return mix, dict(sorted(scratch.items()))


_FILE = re.compile(r'\.file\s+(\d+)\s+(?:"[^"]*"\s+)?"[^"]*kernel\.cl"')
_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)")


def of_clang(text: str) -> Iterator[Instruction]:
    """The instructions of LLVM's assembly, which are indented, with the program's lines that ``.loc`` says."""
    ours = set(_FILE.findall(text))
    line: int | None = None
    for row in text.splitlines():
        if not row.startswith(("\t", " ")):
            continue
        part = row.strip()
        if part.startswith("."):
            place = _LOC.match(part)
            if place is not None:
                line = int(place.group(2)) if place.group(1) in ours and place.group(2) != "0" else None
        elif part and part[0].isalpha():
            yield Instruction(part, line)


_DEBUG = re.compile(
    r"^\s*\.section\s+\.(?:debug_\w+|note\.GNU-stack|AMDGPU\.\w+debug)[^\n]*\n(?:(?!\s*\.(?:section|text|amdgpu_metadata)\b)[^\n]*\n?)*",
    re.MULTILINE,
)
_MARKS = re.compile(
    r"^\s*\.(?:loc|file|cfi_\w+|cv_\w+)\b[^\n]*\n|^\.?L(?:tmp|func_begin|func_end)\d+:[^\n]*\n", re.MULTILINE
)


def without_lines(text: str) -> str:
    """The assembly without what tells lines, which readers would have to look past."""
    return _MARKS.sub("", _DEBUG.sub("", text))
