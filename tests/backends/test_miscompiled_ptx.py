"""Replacements of PTX that CUDA's assembler compiles wrongly: which lines they meet, and that they mean the same."""

from __future__ import annotations

import re

import pytest
import z3

from portagpu.backends.opencl.ptx.miscompiled import rewritten

_TWO_MINIMA = "\tmin.s32 \t%r8, %r5, %r6;\n\tmin.s32 \t%r9, %r8, %r7;\n"


@pytest.mark.parametrize(
    ("line", "beside"),
    [
        ("neg.s16 \t%rs2, %rs1", ""),
        ("sub.s16 \t%rs2, 0, %rs1", ""),
        ("abs.s16 \t%rs2, %rs1", ""),
        ("neg.s32 \t%r2, %r1", _TWO_MINIMA),
        ("sub.s32 \t%r2, 0, %r1", _TWO_MINIMA.replace("min", "max")),
        ("add.s64 \t%rd2, %rd1, 38654705664", ""),
        ("add.s64 \t%rd2, %rd1, -4294967296", ""),
    ],
)
def test_replacements_mean_the_same(line: str, beside: str) -> None:
    text = rewritten(f"{beside}\t{line};\n")
    lines = text.removeprefix(beside)
    assert line not in lines
    assert beside in text
    bits = 16 if "s16" in line else 32 if "s32" in line else 64
    operand, result = z3.BitVecs("operand result", bits)
    registers = {re.findall(r"%\w+", line)[1]: operand}
    _run(line, before := dict(registers))
    for statement in re.findall(r"[a-z][^;{}]*(?:\{[^}]*\}[^;{}]*)?;", lines.replace("{ .reg", ".reg")):
        _run(statement.rstrip(";"), registers)
    name = re.findall(r"%\w+", line)[0]
    solver = z3.Solver()
    solver.add(result == before[name], result != registers[name])
    assert solver.check() == z3.unsat


@pytest.mark.parametrize(
    "line",
    [
        "\tneg.s32 \t%r2, %r1;\n",  # without minima beside it
        "\tmin.s32 \t%r2, %r1, %r3;\n\tneg.s32 \t%r4, %r2;\n",  # one alone
        "\tadd.s64 \t%rd2, %rd1, 4294967297;\n",
        "\tadd.s64 \t%rd2, %rd1, 0;\n",
        "\tadd.s64 \t%rd2, %rd1, %rd3;\n",
        "\tsub.s16 \t%rs2, %rs3, %rs1;\n",
        "\tneg.f32 \t%f2, %f1;\n",
        "// neg.s16 %rs2, %rs1;\n",
    ],
)
def test_other_lines_stay(line: str) -> None:
    assert rewritten(line) == line


def _run(statement: str, registers: dict[str, z3.BitVecRef]) -> None:
    """One instruction of PTX over bit vectors, by the PTX ISA's words."""
    opcode, rest = statement.strip().split(None, 1)
    if opcode == ".reg" or statement.strip().startswith("reg"):
        return
    unpacked = re.fullmatch(r"\{(\w+), (\w+)\}, (%\w+)", rest)
    packed = re.fullmatch(r"(%\w+), \{(\w+), (\w+)\}", rest)
    if unpacked is not None:
        value = registers[unpacked[3]]
        registers[unpacked[1]], registers[unpacked[2]] = z3.Extract(31, 0, value), z3.Extract(63, 32, value)
        return
    if packed is not None:
        registers[packed[1]] = z3.Concat(registers[packed[3]], registers[packed[2]])
        return
    target, *operands = (part.strip() for part in rest.split(","))
    bits = int(re.search(r"\d+$", opcode)[0])  # type: ignore[index]
    values = [registers[o] if o in registers else z3.BitVecVal(int(o), bits) for o in operands]
    match opcode.split(".")[0], values:
        case "neg", [a]:
            value = -a
        case "not", [a]:
            value = ~a
        case "abs", [a]:
            value = z3.If(a < 0, -a, a)
        case "add", [a, b]:
            value = a + b
        case "sub", [a, b]:
            value = a - b
        case "xor", [a, b]:
            value = a ^ b
        case "shr", [a, b]:
            value = a >> b
        case other:
            raise AssertionError(other)
    registers[target] = value
