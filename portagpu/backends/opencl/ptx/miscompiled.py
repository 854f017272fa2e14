"""Instructions of PTX that CUDA's assembler compiles wrongly, replaced by others of the same meaning.

The driver compiles OpenCL C to PTX, and PTX to machine code. The second step, ``ptxas`` of CUDA 13.0 (driver 580), is
wrong in three cases, whatever wrote the PTX: NVRTC and nvcc meet them, too. ``ptxas`` 13.5 is right in all of them.

- A 16-bit negation or absolute value whose result is widened is computed in 32 bits: -(-32768) becomes 32768.
- Of a minimum or maximum of three int32 values, one instruction since sm_90, the second operand loses its negation.
- Sums of one product with different multiples of 2^32, shifted down by 32, are taken for equal: NVVM forms them of
  subscripts such as ``(int)i * 23 + 9``, so that a store to one field of a record lands in another.

PTX ISA: "Integer Arithmetic Instructions" (``neg``, ``abs``, ``add``, ``sub``), "Logic and Shift Instructions".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

REVISION = "1"  # a part of the cache's keys: another number for another table
_TWO_EXTREMES = re.compile(r"\b(?:min|max)\.s32\b.*\b(?:min|max)\.s32\b", re.DOTALL)
_WORD = 1 << 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """One kind of instruction, alone on its line, and its replacement; ``beside``: only in programs that match."""

    instruction: re.Pattern[str]
    replacement: str | Callable[[re.Match[str]], str]
    beside: re.Pattern[str] | None = None


def _line(text: str) -> re.Pattern[str]:
    """An instruction by its opcode and operands, with ``D`` for the result and ``A`` for the first operand."""
    operands = {"D": r"(?P<d>%\w+)", "A": r"(?P<a>%\w+)", "K": r"(?P<k>-?\d+)", " ": r"\s+"}
    pattern = "".join(operands.get(letter, re.escape(letter)) for letter in text)
    return re.compile(rf"^(?P<indent>[ \t]*){pattern};$", re.MULTILINE)


def _high_word_sum(match: re.Match[str]) -> str:
    """A sum with a constant, by its high word alone where the low one is zero."""
    constant = int(match["k"])
    if constant == 0 or constant % _WORD:
        return match[0]
    indent, result, operand = match["indent"], match["d"], match["a"]
    return (
        f"{indent}{{ .reg .b32 low, high; mov.b64 {{low, high}}, {operand}; "
        f"add.s32 high, high, {constant >> 32}; mov.b64 {result}, {{low, high}}; }}"
    )


_NEGATION = r"\g<indent>not.b{0} \g<d>, \g<a>;\n\g<indent>add.s{0} \g<d>, \g<d>, 1;"
_ABSOLUTE = (
    r"\g<indent>{ .reg .b16 sign; shr.s16 sign, \g<a>, 15; xor.b16 \g<d>, \g<a>, sign; "
    r"sub.s16 \g<d>, \g<d>, sign; }"
)
REWRITES = (
    Rewrite(instruction=_line("neg.s16 D, A"), replacement=_NEGATION.format(16)),
    Rewrite(instruction=_line("sub.s16 D, 0, A"), replacement=_NEGATION.format(16)),
    Rewrite(instruction=_line("abs.s16 D, A"), replacement=_ABSOLUTE),
    Rewrite(instruction=_line("neg.s32 D, A"), replacement=_NEGATION.format(32), beside=_TWO_EXTREMES),
    Rewrite(instruction=_line("sub.s32 D, 0, A"), replacement=_NEGATION.format(32), beside=_TWO_EXTREMES),
    Rewrite(instruction=_line("add.s64 D, A, K"), replacement=_high_word_sum),
)


def rewritten(text: str) -> str:
    """A program's PTX without the instructions that are compiled wrongly; the same text where it has none."""
    for row in REWRITES:
        if row.beside is None or row.beside.search(text):
            text = row.instruction.sub(row.replacement, text)
    return text
