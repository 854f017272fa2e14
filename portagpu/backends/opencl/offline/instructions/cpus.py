"""Instructions of x86-64 and of 64-bit Arm, by the names and operands of LLVM's assembler."""

from __future__ import annotations

import re
from collections.abc import Iterator

from portagpu.backends.opencl.offline.instructions.counting import Instruction, Kind, KindOf, of_clang

_REGISTER = {"z": 64, "y": 32, "x": 16}
_SUFFIX = {"b": 1, "w": 2, "l": 4, "q": 8}
_FUNCTIONS = r"(?:exp2?|exp10|log|log2|log10|pow|sin|cos|fmod|ldexp)f?\b"
_X86_RULES = (
    (re.compile(r"tdp\w+"), Kind("matrix")),
    (re.compile(r"v?(?:sqrt|rsqrt|rcp)\w*\s|callq?\s+" + _FUNCTIONS), Kind("special")),
    (re.compile(r"j[a-z]+\s"), Kind("branches")),
    (re.compile(r"lock\b"), Kind("atomics")),
)
_X86_FMA = re.compile(r"vfn?m(?:add|sub)")
_MEMORY = re.compile(r"(?:[\w.$+-]+|-?\d+)?\((%[^)]*)\)|\b[\w.$]+\(%rip\)")


def instructions(text: str) -> Iterator[Instruction]:
    """The instructions of the assembly."""
    return of_clang(text)


def kind_of(triple: str) -> KindOf:
    """What tells the kinds of instructions of a CPU."""
    return _x86 if triple.startswith("x86") else _arm


def _x86(text: str) -> Kind | None:
    for rule, kind in _X86_RULES:
        if rule.match(text):
            return kind
    code = text.partition("#")[0].strip()
    name, _, operands = code.partition("\t")
    if _X86_FMA.match(name):  # also where it reads memory: it is what the loop is for
        return Kind("fma")
    found = _MEMORY.search(operands)
    if found is None or name.startswith(("lea", "nop", "prefetch", "call", "push", "pop")):
        return None
    place = found.group(0)
    if "%rsp" in place or "%rbp" in place:
        return Kind("scratch")
    if "%rip" in place:
        return Kind("scalar_loads" if "LCPI" in place or "pg_place" in place else "local")  # or where the thread is
    store = operands.rstrip().endswith(place) and not name.startswith(("cmp", "test", "vucomi", "ucomi"))
    return Kind("stores" if store else "loads", _x86_bytes(name, operands))


def _x86_bytes(name: str, operands: str) -> int:
    vectors = re.findall(r"%([xyz])mm", operands)
    if name.endswith(("ss", "sd")) and vectors:
        return 4 if name.endswith("ss") else 8
    if name.startswith(("vbroadcast", "vpbroadcast")):
        return 8 if name.endswith(("sd", "q")) else 4
    if re.match(r"v?mov[dq]$", name) and vectors:
        return 4 if name.endswith("d") else 8
    if vectors:
        return max(_REGISTER[one] for one in vectors)
    return _SUFFIX.get(name[-1], 8)


_ARM_BYTES = {"q": 16, "x": 8, "d": 8, "w": 4, "s": 4, "h": 2, "b": 1, "z": 32, "v": 16}
_ARM_RULES = (
    (re.compile(r"(?:bf|f|[su]s?)mmla\b"), Kind("matrix")),
    (re.compile(r"fn?m(?:add|sub|la|ls|ad|sb)\b"), Kind("fma")),
    (re.compile(r"fsqrt|frecpe|frsqrte|bl\s+" + _FUNCTIONS), Kind("special")),
    (
        re.compile(r"(?:ld|st)(?:add|clr|eor|set|[su]max|[su]min)a?l?[bh]?\s|(?:swp|cas)\w*\s|ldax|stlx|ldxr|stxr"),
        Kind("atomics"),
    ),
    (re.compile(r"b(?:\.\w+)?\s+\.L|c?tbn?z|cbn?z"), Kind("branches")),
)
_ARM_MEMORY = re.compile(r"(ld|st)(r|ur|p|np|1|nt1|rs)\w*\s+\{?\s*([a-z])\d+")


def _arm(text: str) -> Kind | None:
    for rule, kind in _ARM_RULES:
        if rule.match(text):
            return kind
    found = _ARM_MEMORY.match(text)
    if found is None:
        return None
    if re.search(r"\[sp\b|\[x29\b", text):
        return Kind("scratch")
    name = text.split()[0]
    nbytes = (
        1 if name.endswith(("rb", "sb")) else 2 if name.endswith(("rh", "sh")) else _ARM_BYTES.get(found.group(3), 8)
    )
    return Kind("loads" if found.group(1) == "ld" else "stores", nbytes * (2 if found.group(2) in ("p", "np") else 1))
