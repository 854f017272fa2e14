"""Replacements of PTX that CUDA's assembler compiles wrongly: which lines they meet, and that they mean the same."""

from __future__ import annotations

import re

import pytest
import z3

from portagpu.backends.opencl.ptx.miscompiled import rewritten

_TWO_MINIMA = "\tmin.s32 \t%r8, %r5, %r6;\n\tmin.s32 \t%r9, %r8, %r7;\n"
_SIZE, _SQUARE, _COSINE = "\tabs.f32 \t%f9, %f1;\n", "\tmul.f32 \t%f9, %f1, %f1;\n", "\tcos.approx.f32 \t%f9, %f1;\n"
_ZERO = "\tmov.u16 \t%rs9, 0;\n\tmov.u32 \t%r9, 0;\n"
_ZERO_LIMIT = "\tmax.f32 \t%f9, %f8, 0f00000000;\n"
_NEGATIVE_ZERO = "\tadd.f32 \t%f9, %f8, 0f80000000;\n"


@pytest.mark.parametrize(
    ("line", "beside"),
    [
        ("neg.s16 \t%rs2, %rs1", ""),
        ("sub.s16 \t%rs2, 0, %rs1", ""),
        ("abs.s16 \t%rs2, %rs1", ""),
        ("abs.s32 \t%r2, %r1", ""),
        ("abs.s64 \t%rd2, %rd1", ""),
        ("sub.s16 \t%rs2, %rs3, %rs1", _ZERO),
        ("sub.s16 \t%rs2, %rs3, %rs1", "\tmov.u32 \t%r9, 0;\n\tcvt.u16.u32 \t%rs3, %r9;\n"),
        ("sub.s32 \t%r2, %r3, %r1", _ZERO + _TWO_MINIMA),
        ("max.s16 \t%rs2, %rs1, %rs3", ""),
        ("min.s16 \t%rs2, %rs1, -7", ""),
        ("min.u16 \t%rs2, %rs1, %rs1", ""),
        ("max.u16 \t%rs2, %rs1, -7", ""),
        ("setp.ge.f32 \t%p1, %f1, 0f00000000", _SIZE),
        ("setp.gt.f32 \t%p1, %f1, %f2", _SQUARE),
        ("setp.lt.f32 \t%p1, %f1, 0f40000000", _COSINE),
        ("setp.le.f32 \t%p1, 0f80000000, %f1", _SQUARE + _COSINE),
        ("selp.f32 \t%f1, 0f80000000, 0f3F800000, %p1", ""),
        ("selp.f32 \t%f1, %f2, 0f3F800000, %p1", "\tmov.f32 \t%f2, 0f80000000;\n"),
        ("selp.f32 \t%f1, 0f40000000, 0f80000000, %p1", ""),
        ("abs.f32 \t%f2, %f1", _NEGATIVE_ZERO),
        ("min.f32 \t%f2, %f1, 0f3F800000", _ZERO_LIMIT),
        ("min.f32 \t%f2, %f1, 0f3F800000", _NEGATIVE_ZERO),
        ("min.f64 \t%fd2, %fd1, 0d3FF0000000000000", "\tadd.f64 \t%fd9, %fd8, 0d8000000000000000;\n"),
        ("min.f32 \t%f2, %f1, %f3", "\tmov.f32 \t%f3, 0f3F800000;\n" + _ZERO_LIMIT),
        (
            "min.f64 \t%fd2, %fd3, %fd1",
            "\tmov.f64 \t%fd3, 0d3FF0000000000000;\n\tmov.f64 \t%fd4, 0d0000000000000000;\n",
        ),
        ("setp.lt.f32 \t%p1, %f1, 0f3F800000", _ZERO_LIMIT),
        ("setp.le.f32 \t%p1, %f1, 0f3F800000", _ZERO_LIMIT),
        ("setp.lt.f32 \t%p1, %f1, %f3", "\tmov.f32 \t%f3, 0f3F800000;\n" + _ZERO_LIMIT),
        ("setp.geu.f32 \t%p1, %f1, 0f3F800000", _NEGATIVE_ZERO),
        ("setp.gtu.f32 \t%p1, %f1, 0f3F800000", _NEGATIVE_ZERO),
        ("setp.lt.f32 \t%p1, %f1, 0f3F800000", _ZERO_LIMIT + _SIZE),
        ("setp.eq.s32 \t%p1, %r1, %r2", _TWO_MINIMA.replace("min", "max")),
        ("setp.eq.b32 \t%p1, %r1, 7", _TWO_MINIMA.replace("min", "max")),
        ("setp.eq.s16 \t%p1, %rs1, 7", _TWO_MINIMA.replace("min", "max")),
        ("setp.eq.u16 \t%p1, %rs1, %rs2", _TWO_MINIMA.replace("min", "max")),
        ("neg.s32 \t%r2, %r1", _TWO_MINIMA),
        ("sub.s32 \t%r2, 0, %r1", _TWO_MINIMA.replace("min", "max")),
        ("add.s64 \t%rd2, %rd1, 38654705664", ""),
        ("add.s64 \t%rd2, %rd1, -4294967296", ""),
    ],
)
def test_replacements_mean_the_same(line: str, beside: str) -> None:
    _assert_the_same(line, line, beside)


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("operands", ["{0}1, {1}", "{0}1, {0}3", "{0}3, {0}1"])
@pytest.mark.parametrize(("function", "operator", "sign"), [("min", "lt", "0"), ("max", "gt", "8")])
def test_choices_of_zero_are_what_was_written(
    function: str, operator: str, sign: str, operands: str, kind: str
) -> None:
    register, zero = ("%f", f"0f{sign}0000000") if kind == "f32" else ("%fd", f"0d{sign}{'0' * 15}")
    line = f"{function}.{kind} \t{register}2, {operands.format(register, zero)}"
    choice = f"setp.{operator}.{kind} %p9, {register}1, {zero}; selp.{kind} {register}2, {register}1, {zero}, %p9"
    _assert_the_same(line, choice, f"\tmov.{kind} \t{register}3, {zero};\n")


def test_registers_are_those_of_their_function() -> None:
    """Of two functions with the same registers, only in one does the register always hold 1."""
    head, zero = ".visible .entry {}()\n{{\n", "\tmov.f32 \t%f4, 0f00000000;\n"
    minimum = "\tmin.f32 \t%f2, %f1, %f3;\n\tmin.f32 \t%f5, %f3, %f1;\n}\n"
    one, loaded = "\tmov.f32 \t%f3, 0f3F800000;\n", "\tld.global.f32 \t%f3, [%rd1];\n"
    for first, second in ((one, loaded), (loaded, one)):
        parts = [head.format(name) + zero + source + minimum for name, source in (("a", first), ("b", second))]
        text = rewritten("".join(parts))
        at = text.index(".visible .entry b")
        changed, kept = (text[:at], text[at:]) if first is one else (text[at:], text[:at])
        assert changed.count("setp.le.f32 less, %f1, 0f3F7FFFFF") == 2
        assert kept == (parts[1] if first is one else parts[0])


def _assert_the_same(line: str, meant: str, beside: str) -> None:
    """Proves that what a line is replaced with does what is meant: one or more instructions, for all values."""
    text = rewritten(f"{beside}\t{line};\n")
    lines = text.removeprefix(beside)
    assert line not in lines
    assert beside in text
    result = re.findall(r"%\w+", line)[0]
    values = {name: _variable(name) for name in re.findall(r"%\w+", line)}
    for constant in re.findall(r"mov\.f\d+\s[^;]*", beside):
        _run(constant, values)
    before = dict(values)
    for statement in meant.split(";"):
        _run(statement, before)
    for statement in re.findall(r"[a-z][^;{}]*(?:\{[^}]*\}[^;{}]*)?;", lines.replace("{ .reg", ".reg")):
        _run(statement.rstrip(";"), values)
    solver = z3.Solver()
    solver.add(before[result] != values[result])
    assert solver.check() == z3.unsat


@pytest.mark.parametrize(
    "line",
    [
        "\tneg.s32 \t%r2, %r1;\n",  # without minima beside it
        "\tmin.s32 \t%r2, %r1, %r3;\n\tneg.s32 \t%r4, %r2;\n",  # one alone
        "\tadd.s64 \t%rd2, %rd1, 4294967297;\n",
        "\tadd.s64 \t%rd2, %rd1, 0;\n",
        "\tadd.s64 \t%rd2, %rd1, %rd3;\n",
        "\tsub.s16 \t%rs2, %rs3, %rs1;\n",  # without a zero
        "\tmov.u32 \t%r9, 0;\n\tmin.s32 \t%r8, %r5, %r6;\n\tsub.s32 \t%r2, %r3, %r1;\n",
        "\tsetp.ge.f32 \t%p1, %f1, 0f00000000;\n",  # of any number
        "\tabs.f32 \t%f2, %f1;\n\tsetp.geu.f32 \t%p1, %f2, 0f00000000;\n",
        "\tabs.f64 \t%fd2, %fd1;\n\tsetp.ge.f64 \t%p1, %fd2, 0d0000000000000000;\n",
        "\tmul.rn.f32 \t%f2, %f1, %f1;\n\tsetp.ge.f32 \t%p1, %f2, 0f00000000;\n",
        "\tmul.f32 \t%f2, %f1, %f3;\n\tsetp.ge.f32 \t%p1, %f2, 0f00000000;\n",
        "\tmin.s32 \t%r2, %r1, %r3;\n\tsetp.eq.s32 \t%p1, %r2, 7;\n",
        "\tmax.s32 \t%r2, %r1, %r3;\n\tsetp.ne.s32 \t%p1, %r2, 7;\n",
        "\tmov.f32 \t%f1, 0f80000000;\n",
        "\tselp.f32 \t%f1, 0f00000000, 0f3F800000, %p1;\n",
        "\tneg.f32 \t%f2, %f1;\n",
        "\tmin.f32 \t%f2, %f1, 0f3F800000;\n",  # without a zero
        *(
            f"\tmov.f32 \t%f4, 0f00000000;\n\tmov.f32 \t%f3, 0f3F800000;\n{other}\tmin.f32 \t%f2, %f1, %f3;\n"
            for other in (
                "\tld.global.f32 \t%f3, [%rd1];\n",  # 1 is not its only value
                "\t@%p1 mov.f32 \t%f3, %f5;\n",
                "\tld.global.v2.f32 \t{%f6, %f3}, [%rd1];\n",
                "\t{ .reg .b32 t; mov.b32 %f3, t; }\n",
                "}\n.func second()\n{\n",  # of another function
            )
        ),
        "\tmin.f32 \t%f2, %f1, 0f3F000000;\n\tmax.f32 \t%f3, %f2, 0f00000000;\n",  # not 1
        "\tsetp.gt.f32 \t%p1, %f1, 0f3F800000;\n\tmax.f32 \t%f3, %f2, 0f00000000;\n",
        "// neg.s16 %rs2, %rs1;\n",
    ],
)
def test_other_lines_stay(line: str) -> None:
    assert rewritten(line) == line


def _variable(name: str) -> z3.ExprRef:
    """A register of PTX, by its name: numbers as their bits."""
    if name.startswith("%p"):
        return z3.Bool(name)
    return z3.BitVec(name, 64 if name[1:].startswith(("rd", "fd")) else 16 if name.startswith("%rs") else 32)


def _operand(text: str, bits: int, registers: dict[str, z3.ExprRef]) -> z3.ExprRef:
    if text in registers:
        return registers[text]
    return z3.BitVecVal(int(re.sub("^0[fd]", "0x", text), 16 if text.startswith("0") and len(text) > 1 else 10), bits)


def _run(statement: str, registers: dict[str, z3.ExprRef]) -> None:
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
    bits = int((re.search(r"\d+$", opcode) or ["32"])[0])
    registers[target] = _value(opcode.split("."), [_operand(o, bits, registers) for o in operands])


def _value(opcode: list[str], values: list[z3.ExprRef]) -> z3.ExprRef:
    """Result of an instruction; of numbers, their bits."""
    match opcode, values:
        case ["setp", operator, "f32" | "f64"], [a, b]:
            return _compared_numbers(operator, a, b)
        case ["setp", "eq" | "ne" as operator, _], [a, b]:
            return a == b if operator == "eq" else a != b
        case ["min", "f32" | "f64"], [a, b]:  # one of them is neither NaN nor zero
            return z3.If(z3.Not(_compared_numbers("ge", b, b)), a, z3.If(_compared_numbers("ltu", b, a), b, a))
        case ["min" | "max" as function, kind], [a, b]:
            smaller = a < b if kind.startswith("s") else z3.ULT(a, b)
            return z3.If(smaller, a, b) if function == "min" else z3.If(smaller, b, a)
        case ["cvt", "s32", "s16"], [a]:
            return z3.SignExt(16, a)
        case ["cvt", "u32", "u16"], [a]:
            return z3.ZeroExt(16, a)
        case ["cvt", "u16", "u32"], [a]:
            return z3.Extract(15, 0, a)
        case ["selp", _], [a, b, condition]:
            return z3.If(condition, a, b)
        case ["abs", "f32"], [a]:
            return a & 0x7FFFFFFF
        case ["mov", _], [a]:
            return a
        case ["not", "pred"], [a]:
            return z3.Not(a)
        case ["neg", _], [a]:
            return -a
        case ["not", _], [a]:
            return ~a
        case ["abs", _], [a]:
            return z3.If(a < 0, -a, a)
        case ["add", _], [a, b]:
            return a + b
        case ["sub", _], [a, b]:
            return a - b
        case ["and", _], [a, b]:
            return a & b
        case ["xor", _], [a, b]:
            return a ^ b
        case ["shr", _], [a, b]:
            return a >> b
    raise AssertionError(opcode)


def _compared_numbers(operator: str, a: z3.BitVecRef, b: z3.BitVecRef) -> z3.BoolRef:
    """A comparison of numbers by IEEE 754; operators that end in u hold of NaN."""
    kind = z3.Float32() if a.size() == 32 else z3.Float64()
    a, b = z3.fpBVToFP(a, kind), z3.fpBVToFP(b, kind)
    functions = {"lt": z3.fpLT, "le": z3.fpLEQ, "gt": z3.fpGT, "ge": z3.fpGEQ}
    ordered = functions[operator[:2]](a, b)
    return z3.Or(ordered, z3.fpIsNaN(a), z3.fpIsNaN(b)) if operator.endswith("u") else ordered
