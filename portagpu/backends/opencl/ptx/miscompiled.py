"""Instructions of PTX that CUDA's compilers get wrong, replaced by others of the same meaning.

The driver compiles OpenCL C to PTX (NVVM), and PTX to machine code. The second step, ``ptxas`` of CUDA 13.0 (driver
580), is wrong in these cases, whatever wrote the PTX: NVRTC and nvcc meet them, too.

- A 16-bit negation or absolute value whose result is widened is computed in 32 bits: -(-32768) becomes 32768.
- Of a minimum or maximum of three int32 values, one instruction since sm_90, the second operand loses its negation.
- Sums of one product with different multiples of 2^32, shifted down by 32, are taken for equal: NVVM forms them of
  subscripts such as ``(int)i * 23 + 9``, so that a store to one field of a record lands in another.
- The absolute value of an integer is taken for 0 or more, which that of the least one is not.
- A float32 comparison whose outcome follows from the range of an operand holds for NaN, too: ``abs(x) >= 0``,
  ``x * x > -1``, ``cos(x) < 2``, and the first turn of an unrolled search for the largest ``abs(x)``.
- Of two float32 constants with -0.0 among them zero has the wrong sign (``-0.0 if c else 1.0``), and absolute values of
  -0.0 do where it is taken for 0 or more: ``abs(max(x * x, -0.0))``.
- A float32 or float64 number that is limited to 1 and then to 0, ``fmax(fmin(x, 1), 0)``, is 0 for NaN, as if the
  limits stood in the other order; with ``-0.0`` as the lower one zero has the wrong sign. Comparisons with 1 use the
  adjacent number, which ``ptxas`` does not recognise as a limit of its saturating instructions.
- sm_90: a minimum or maximum of 16-bit values is one of pairs of them. ``max(a, 7) == 7`` asks for the wrong half, and
  of two that are made a pair one may read a register that has been written since.
- sm_90: ``max(min(a, b), 0)`` of int32 values is one instruction. Whether its result equals ``a`` or ``b`` is asked of
  the wrong half of it: ``max(min(a, 7), 0) == 7`` and ``max(min(a, 7), 0) == a`` are the same. Asked whether it is
  another number (``setp.ne``) it is right, and after conversions to 16 bits, too.

The first step makes ``x if x < 0.0 else 0.0`` a minimum and ``x if x > -0.0 else -0.0`` a maximum, of which the
hardware takes the other zero: they become choices again. Where ``fmin`` and ``fmax`` are meant, either zero is right.

Comparisons of a known range are replaced by the negation of their opposites. ``ptxas`` 13.5 is right in the first four.

PTX ISA: "Integer Arithmetic Instructions" (``neg``, ``abs``, ``add``, ``sub``), "Logic and Shift Instructions",
"Comparison and Selection Instructions" (``setp``, ``selp``; comparisons that end in ``u`` hold for NaN). Forms with
``.ftz`` and predicates stay: the project's options give none of them.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

REVISION = "6"  # a part of the cache's keys: another number for another table
_MAXIMUM = re.compile(r"\bmax\.s32\b")
_TWO_EXTREMES = re.compile(r"\b(?:min|max)\.s32\b.*\b(?:min|max)\.s32\b", re.DOTALL)
_KNOWN_RANGE = re.compile(
    r"\b(?:abs|copysign|(?:sin|cos|tanh|ex2)\.approx)(?:\.ftz)?\.f32\b"
    r"|\bmul(?:\.ftz)?\.f32\s+%\w+, (?P<factor>%\w+), (?P=factor);"
)
_COMPARISON = re.compile(
    r"^(?P<indent>[ \t]*)setp\.(?P<operator>l[te]|g[te])\.f32\s+(?P<d>%\w+), (?P<operands>[^;\n]+);$", re.MULTILINE
)
_EQUALITY = re.compile(
    r"^(?P<indent>[ \t]*)setp\.eq\.(?P<kind>[bsu](?:16|32))\s+(?P<d>%\w+), (?P<operands>[^;\n]+);$", re.MULTILINE
)
_EXTREME_OF_16_BITS = re.compile(
    r"^(?P<indent>[ \t]*)(?P<function>min|max)\.(?P<kind>[su])16\s+(?P<d>%\w+), (?P<a>%\w+), (?P<b>%\w+|-?\d+);$",
    re.MULTILINE,
)
_WITH_ONE = re.compile(
    r"^(?P<before>[ \t]*setp)\.(?P<operator>lt|le|geu|gtu)\.f32(?P<operands>\s+%\w+, %\w+,) (?P<b>[^,;\n]+);$",
    re.MULTILINE,
)
_BESIDE_ONE = {"lt": "le 0f3F7FFFFF", "geu": "gtu 0f3F7FFFFF", "le": "lt 0f3F800001", "gtu": "geu 0f3F800001"}
_EXTREME = re.compile(
    r"^(?P<indent>[ \t]*)(?P<function>min|max)\.(?P<kind>f32|f64)"
    r"\s+(?P<d>%\w+), (?P<a>[^,;\n]+), (?P<b>[^,;\n]+);$",
    re.MULTILINE,
)
_ONES = {"f32": "0f3F800000", "f64": "0d3FF0000000000000"}
_BEFORE_ONE = {"f32": "0f3F7FFFFF", "f64": "0d3FEFFFFFFFFFFFFF"}
_ZEROS = {"min": {"f32": "0f00000000", "f64": "0d" + "0" * 16}, "max": {"f32": "0f80000000", "f64": "0d8" + "0" * 15}}
_FUNCTION = re.compile(r"\.(?:entry|func)\s")
_SET = re.compile(  # registers that an instruction sets, and what it sets them to
    r"(?:^|[;{}])[\s{]*(?:@!?%\w+\s+)?(\w[\w.]*)\s+(%\w+(?:\|%\w+)?|\{[^}\n]*\}),([^;\n]*)", re.MULTILINE
)
_ZERO_LIMIT = re.compile(r"\b0(?:f[08]0{7}|d[08]0{15})\b")
_CHOICE = re.compile(r"^[ \t]*selp\.f32\s[^;\n]*;$", re.MULTILINE)
_NEGATIVE_ZERO = re.compile(r"\b0f80000000\b")
_ZERO = re.compile(r"\bmov\.[sub](?:16|32)\s+%\w+, 0;")
_OPPOSITE = {"lt": "geu", "le": "gtu", "gt": "leu", "ge": "ltu"}
_WORD = 1 << 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """One kind of instruction, alone on its line, and its replacement; ``beside``: only in programs that match all."""

    instruction: re.Pattern[str]
    replacement: str | Callable[[re.Match[str]], str]
    beside: tuple[re.Pattern[str], ...] = ()


def _line(text: str) -> re.Pattern[str]:
    """An instruction by its opcode and operands: ``D`` the result, ``A`` and ``B`` registers, ``K`` a number."""
    operands = {"D": r"(?P<d>%\w+)", "A": r"(?P<a>%\w+)", "B": r"(?P<b>%\w+)", "K": r"(?P<k>-?\d+)", " ": r"\s+"}
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


def _negated_opposite(match: re.Match[str]) -> str:
    """A comparison as the negation of its opposite, which holds for NaN."""
    indent, result = match["indent"], match["d"]
    opposite = f"{indent}setp.{_OPPOSITE[match['operator']]}.f32 {result}, {match['operands']};"
    return f"{opposite}\n{indent}not.pred {result}, {result};"


@lru_cache(1)
def _numbers(text: str) -> tuple[list[int], list[dict[str, str]]]:
    """Starts of functions, and of each function the registers that only a move of a number sets, with the number."""
    begins = [0, *(head.start() for head in _FUNCTION.finditer(text))]
    functions = []
    for begin, end in itertools.pairwise([*begins, len(text)]):
        found: dict[str, str] = {}
        for opcode, target, source in _SET.findall(text, begin, end):
            for register in re.findall(r"%\w+", target):
                once = register not in found and opcode in ("mov.f32", "mov.f64")
                found[register] = source.strip() if once else ""
        functions.append(found)
    return begins, functions


def _number(match: re.Match[str], operand: str) -> str:
    """The number that an operand is: itself, or what its register always holds; else an empty text."""
    if not operand.startswith("%"):
        return operand
    begins, functions = _numbers(match.string)
    return functions[bisect.bisect(begins, match.start()) - 1].get(operand, "")


def _other(match: re.Match[str], number: str) -> str:
    """The register that an extreme is of beside a number; an empty text where it is of others."""
    others = [operand for operand in (match["a"], match["b"]) if _number(match, operand) != number]
    return others[0] if len(others) == 1 and others[0].startswith("%") else ""


def _beside_one(match: re.Match[str]) -> str:
    """``x < 1`` as ``x <= 1 - 2**-24`` and ``x <= 1`` as ``x < 1 + 2**-23``: there is no number between."""
    if _number(match, match["b"]) != _ONES["f32"]:
        return match[0]
    operator, number = _BESIDE_ONE[match["operator"]].split()
    return f"{match['before']}.{operator}.f32{match['operands']} {number};"


def _at_most_one(match: re.Match[str]) -> str:
    """A minimum of a number and 1, by a comparison with the number before 1."""
    kind = match["kind"]
    number = _other(match, _ONES[kind])
    if match["function"] == "max" or not number:
        return match[0]
    return (
        f"{match['indent']}{{ .reg .pred less; setp.le.{kind} less, {number}, {_BEFORE_ONE[kind]}; "
        f"selp.{kind} {match['d']}, {number}, {_ONES[kind]}, less; }}"
    )


def _choice_of_zero(match: re.Match[str]) -> str:
    """A minimum with 0.0 or maximum with -0.0, as the zero unless the number is less or more; bits keep its sign."""
    function, kind = match["function"], match["kind"]
    zero = _ZEROS[function][kind]
    number = _other(match, zero)
    if not number:
        return match[0]
    operator = "geu" if function == "min" else "leu"
    return (
        f"{match['indent']}{{ .reg .pred zero; setp.{operator}.{kind} zero, {number}, {zero}; "
        f"selp.b{kind[1:]} {match['d']}, 0x{zero[2:]}, {number}, zero; }}"
    )


def _in_32_bits(match: re.Match[str]) -> str:
    """A minimum or maximum of 16-bit values, as one of 32-bit ones."""
    kind, other = match["kind"], match["b"]
    if other.startswith("%"):
        second = f"cvt.{kind}32.{kind}16 second, {other}"
    else:
        second = f"mov.b32 second, {int(other) if kind == 's' else int(other) % (1 << 16)}"
    return (
        f"{match['indent']}{{ .reg .b32 first, second; cvt.{kind}32.{kind}16 first, {match['a']}; {second}; "
        f"{match['function']}.{kind}32 first, first, second; cvt.u16.u32 {match['d']}, first; }}"
    )


def _bits(match: re.Match[str]) -> str:
    """An instruction that moves float32 numbers, as one that moves their bits, of which nothing is assumed."""
    return match[0].replace(".f32", ".b32").replace("0f", "0x")


_NEGATION = r"\g<indent>not.b{0} \g<d>, \g<a>;\n\g<indent>add.s{0} \g<d>, \g<d>, 1;"
_DIFFERENCE = (  # where the first operand is a zero that the assembler knows
    r"\g<indent>{{ .reg .b{0} rest; not.b{0} rest, \g<b>; add.s{0} rest, rest, 1; add.s{0} \g<d>, \g<a>, rest; }}"
)
_ABSOLUTE = (
    r"\g<indent>{{ .reg .b{0} sign; shr.s{0} sign, \g<a>, {1}; xor.b{0} \g<d>, \g<a>, sign; "
    r"sub.s{0} \g<d>, \g<d>, sign; }}"
)
_NOT_ANOTHER = r"\g<indent>setp.ne.\g<kind> \g<d>, \g<operands>;\n\g<indent>not.pred \g<d>, \g<d>;"
REWRITES = (  # those of 16 bits first: as 32-bit minima they count for what follows
    Rewrite(instruction=_EXTREME_OF_16_BITS, replacement=_in_32_bits),
    Rewrite(instruction=_line("neg.s16 D, A"), replacement=_NEGATION.format(16)),
    Rewrite(instruction=_line("sub.s16 D, 0, A"), replacement=_NEGATION.format(16)),
    *(Rewrite(instruction=_line(f"abs.s{n} D, A"), replacement=_ABSOLUTE.format(n, n - 1)) for n in (16, 32, 64)),
    Rewrite(instruction=_line("neg.s32 D, A"), replacement=_NEGATION.format(32), beside=(_TWO_EXTREMES,)),
    Rewrite(instruction=_line("sub.s32 D, 0, A"), replacement=_NEGATION.format(32), beside=(_TWO_EXTREMES,)),
    Rewrite(instruction=_line("add.s64 D, A, K"), replacement=_high_word_sum),
    Rewrite(instruction=_line("sub.s16 D, A, B"), replacement=_DIFFERENCE.format(16), beside=(_ZERO,)),
    Rewrite(instruction=_line("sub.s32 D, A, B"), replacement=_DIFFERENCE.format(32), beside=(_ZERO, _TWO_EXTREMES)),
    Rewrite(instruction=_WITH_ONE, replacement=_beside_one, beside=(_ZERO_LIMIT,)),
    Rewrite(instruction=_EXTREME, replacement=_at_most_one, beside=(_ZERO_LIMIT,)),
    Rewrite(instruction=_EXTREME, replacement=_choice_of_zero, beside=(_ZERO_LIMIT,)),
    Rewrite(instruction=_EQUALITY, replacement=_NOT_ANOTHER, beside=(_MAXIMUM,)),
    Rewrite(instruction=_COMPARISON, replacement=_negated_opposite, beside=(_KNOWN_RANGE,)),
    Rewrite(
        instruction=_line("abs.f32 D, A"),
        replacement=r"\g<indent>and.b32 \g<d>, \g<a>, 0x7FFFFFFF;",
        beside=(_NEGATIVE_ZERO,),
    ),
    Rewrite(instruction=_CHOICE, replacement=_bits, beside=(_NEGATIVE_ZERO,)),
)


def rewritten(text: str) -> str:
    """A program's PTX without the instructions that are compiled wrongly; the same text where it has none."""
    for row in REWRITES:
        if all(pattern.search(text) for pattern in row.beside):
            text = row.instruction.sub(row.replacement, text)
    return text
