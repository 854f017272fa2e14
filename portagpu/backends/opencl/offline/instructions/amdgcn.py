"""Instructions of amdgcn: global, flat, scratch, ds, scalar and vector ones, by the names of LLVM's assembler."""

from __future__ import annotations

import re
from collections.abc import Iterator

from portagpu.backends.opencl.offline.instructions.counting import Instruction, Kind, of_clang

_BYTES = {
    **dict.fromkeys(("ubyte", "sbyte", "byte", "u8", "i8", "b8"), 1),
    **dict.fromkeys(("ushort", "sshort", "short", "u16", "i16", "b16"), 2),
    "dword": 4,
    "dwordx2": 8,
    "dwordx3": 12,
    "dwordx4": 16,
    "b32": 4,
    "b64": 8,
    "b96": 12,
    "b128": 16,
}
_GLOBAL = re.compile(r"(?:global|flat)_(load|store)_(?:lds_)?(?:d16_)?(?:hi_)?([a-z]+\d*(?:x\d)?)")
_RULES = (
    (re.compile(r"v_s?w?(?:mfma|wmma|mfmac|mmac)_"), Kind("matrix")),
    (re.compile(r"(?:global|buffer)_load_lds_|(?:global|buffer)_load_\w+ .*\blds\b"), Kind("asynchronous")),
    (re.compile(r"scratch_|buffer_(?:load|store)_"), Kind("scratch")),
    (re.compile(r"(?:global|flat|buffer)_atomic_"), Kind("atomics")),
    (re.compile(r"s_(?:buffer_)?load_"), Kind("scalar_loads")),
    (re.compile(r"ds_(?!bpermute|permute|swizzle|nop)"), Kind("local")),
    (re.compile(r"v_(?:pk_|dual_)?(?:fma|fmac|fmaak|fmamk|mac|mad)_(?!u|i)"), Kind("fma")),
    (re.compile(r"v_s?_?(?:exp|log|rcp|rsq|sqrt|sin|cos)_"), Kind("special")),
    (re.compile(r"s_barrier(?!_wait|_leave|_init|_join)"), Kind("barriers")),
    (re.compile(r"s_c?branch"), Kind("branches")),
)


def instructions(text: str) -> Iterator[Instruction]:
    """The instructions of the assembly; of a pair that is issued at once both."""
    for one in of_clang(text):
        for part in one.text.split("::"):
            yield Instruction(part.strip(), one.line)


def kind_of(text: str) -> Kind | None:
    """What an instruction is."""
    for rule, kind in _RULES:
        if rule.match(text):
            return kind
    found = _GLOBAL.match(text)
    if found is None:
        return None
    return Kind(found.group(1) + "s", _BYTES.get(found.group(2), 4))
