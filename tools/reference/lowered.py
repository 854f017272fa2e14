"""What the code generator makes of a call: a tiny kernel is rendered for a device, and its C text is read."""

from __future__ import annotations

import builtins
import cmath
import math
import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.backends.opencl.codegen.generate import generate
from portagpu.backends.source import KernelSource
from portagpu.device.capabilities import Capabilities
from portagpu.dispatch.code.lowering import lower_kernel
from portagpu.dtypes import FLOAT64
from portagpu.errors import KernelError
from portagpu.ir.types import ArgumentType, ArrayType, Layout, Scalar
from portagpu.ir.verify import verify

TABLE = np.arange(4, dtype=np.float32)  # captured by the sample of constant memory
_NAMES = {
    "cuda": cuda,
    "np": np,
    "numpy": np,
    "math": math,
    "cmath": cmath,
    "operator": operator,
    "builtins": builtins,
    "TABLE": TABLE,
}
OUT = ArrayType(Scalar(FLOAT64), 1, Layout.C)
_LINE = 2  # of the call in the sample


@dataclass(frozen=True, slots=True)
class Lowered:
    """C text of a call, what it is made of, and the extensions it needs; or the error instead."""

    text: str
    extensions: tuple[str, ...] = ()
    error: KernelError | None = None


def lower(call: str, rest: Sequence[str], arguments: dict[str, ArgumentType], caps: Capabilities) -> Lowered:
    """Lower ``r = call`` followed by the statements of ``rest``, which may use ``r`` and the array ``out``."""
    parameters = ", ".join([*arguments, "out"])
    statement = call if call.startswith("for ") else f"r = {call}"
    text = "\n    ".join([f"def sample({parameters}):", statement, *rest]) + "\n"
    names: dict[str, Any] = dict(_NAMES)
    exec(compile(text, "<sample>", "exec"), names)
    kernel = cuda.jit(names["sample"], source=text)
    try:
        program = lower_kernel(kernel.source, (*arguments.values(), OUT), caps)
        verify(program)
        generated = generate(program, caps)
    except KernelError as error:
        return Lowered("", error=error)
    return Lowered(_describe(generated, call, [f.name for f in program.functions]), _extensions(generated, arguments))


def _extensions(generated: KernelSource, arguments: dict[str, ArgumentType]) -> tuple[str, ...]:
    """Extensions that the program enables, without that of the result's float64."""
    found = re.findall(r"#pragma OPENCL EXTENSION (\w+)", generated.source)
    return tuple(e for e in found if e not in ("cl_khr_fp64", "cl_khr_fp16", "cl_khr_int64_extended_atomics"))


def _statements(generated: KernelSource, call: str) -> list[str]:
    """The C lines of the call."""
    lines = generated.source.split("\n")
    found = [
        line.strip()
        for line, span in zip(lines, generated.lines, strict=True)
        if span is not None and span.line == _LINE and not line.strip().startswith("//")
    ]
    declared = [line.strip() for line in lines if re.match(r" *__local (?!ulong2 warp)\w+ \w+\[|__constant ", line)]
    sizes = [line.strip() for line in lines if line.strip().startswith("const int pg_blockDim_")]
    if call.startswith("cuda.const."):  # the table itself; of other calls, coefficients of their helpers say nothing
        return [line for line in declared if line.startswith("__constant")]
    return [*sizes, *found] or [line for line in declared if not line.startswith("__constant")]


def _expression(statements: Sequence[str]) -> str:
    """The statements without their plumbing: names of temporaries are replaced by what they hold."""
    values: dict[str, str] = {}
    kept: list[str] = []
    for statement in statements:
        found = re.fullmatch(r"(?:const )?[\w ]+? (t\d+|r\d*|(?:r|t\d+)_\d+|pg_blockDim_\w) = (.*);", statement)
        text = found[2] if found else statement.rstrip(";")
        for name, value in values.items():
            text = re.sub(rf"\b{name}\b", lambda _, value=value: value, text)
        if found:
            values[found[1]] = text
            kept = [k for k in kept if k not in text]
        if text not in ("", "{", "}") and not any(text in k for k in kept):
            kept.append(text)
    shown = re.sub(r"\(volatile __global \w+\*\)\(\w+ \+ 0\)", "place", "; ".join(kept))
    return re.sub(r"\b([A-Za-z]\w*)_\b", r"\1", shown)  # names of the kernel's end in an underscore: see codegen.names


def _helper(name: str, source: str, call: str) -> str:
    """Text of a helper function; of its branches by a constant mode only that of the call."""
    found = re.search(rf"^[^\n]*\b{name}\(([^\n]*)\) {{\n.*?^}}", source, re.M | re.S)
    if found is None:
        return ""
    text, names = found[0], [p.split()[-1] for p in found[1].split(", ")]
    if "mode" in names:
        given = re.search(rf"{name}\(.*, (\d)(?:, true)?\)", call)
        mode = given[1] if given else "0"
        branches = re.split(r"(?:else )?if \(mode == (\d)\)|else (?=asm)", text)
        chosen = [branches[0]]
        last = 3
        for number, branch in zip(branches[1::2], branches[2::2], strict=True):
            if (number or str(last)) == mode:
                chosen.append(branch)
        text = "".join(chosen)
    return text


def _instructions(text: str) -> list[str]:
    found = []
    for assembly in re.findall(r'asm volatile\("([^"]*)"', text):
        words = [w.strip() for w in re.split(r"[;{}]", assembly)]
        names = [w.split()[0] for w in words if w and not w.startswith((".reg", "setp", "selp"))]
        found += [n for n in names if n not in found]
    return found


def _describe(generated: KernelSource, call: str, functions: Sequence[str]) -> str:
    text = _expression(_statements(generated, call))
    if any(re.search(rf"\b{name}\w*\(", text) for name in functions):
        return "a function in the dialect"
    helpers = list(dict.fromkeys(re.findall(r"\bpg_\w+(?=\()", text)))
    bodies = "\n".join(_helper(name, generated.source, text) for name in helpers)
    instructions = _instructions(text + bodies)
    if instructions:
        counter = "a counter in global memory and " if "atomic_inc(" in bodies else ""
        return f"{counter}PTX " + ", ".join(f"`{i}`" for i in instructions)
    if not helpers:
        return f"`{text}`" if text else "no code"
    if "cmpxchg" in bodies:
        function = f"`{'atom_cmpxchg' if 'atom_cmpxchg' in bodies else 'atomic_cmpxchg'}`"
        kind = f"a loop of {function}" if "do {" in bodies else f"{function} of the bits"
    elif "pg_warp_" in bodies and "barrier(" in bodies:
        kind = "an exchange through shared memory around a barrier"
    elif "barrier(" in bodies:
        kind = "a counter in shared memory between barriers"
    else:
        return f"`{text}`, a helper in OpenCL C"
    return f"{kind}: {', '.join(f'`{h}`' for h in helpers)}"
