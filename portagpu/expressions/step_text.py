"""Text of what a kernel does with one element: operands are loaded, functions applied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.expressions.program import STEPS, TARGET, Steps


def element(
    steps: Steps, indent: str, prefix: str, load: Callable[[int], str], target: str, *, numbers: str = ""
) -> list[str]:
    """Lines that load an element's operands and compute what is stored of it, as variables v0, v1 ..."""
    lines = [f"{indent}{prefix}x{n} = {load(n)}" for n in range(len(steps.arrays))]
    if any(TARGET in registers for _, registers in steps.steps):
        lines.append(f"{indent}{prefix}old = {target}")

    def register(number: int) -> str:
        if number < 0:
            return f"{numbers}n{-1 - number}"
        if number >= STEPS:
            return f"{prefix}t{number - STEPS}"
        return f"{prefix}old" if number == TARGET else f"{prefix}x{number}"

    for n, (operation, registers) in enumerate(steps.steps):
        taken = [converted(register(r), kind) for r, kind in zip(registers, operation.inputs, strict=True)]
        lines.append(f"{indent}{prefix}t{n} = {converted(applied(operation.name, taken), operation.dtype)}")
    for n, (number, dtype) in enumerate(steps.outputs):
        lines.append(f"{indent}{prefix}v{n} = {converted(register(number), dtype)}")
    return lines


TYPES = {f"as_{row.name}": getattr(np, "bool_" if row is dtypes.BOOL else row.name) for row in dtypes.ALL}
"""Names of kernels for conversions to dtypes."""


def converted(value: str, dtype: np.dtype[Any]) -> str:
    """Text of a value as a number of a dtype; of bfloat16 kernels compute with float32."""
    return f"as_{dtypes.from_numpy(dtype).computed.name}({value})"


def applied(name: str, values: list[str]) -> str:
    """Text of a function of NumPy's, or of an attribute that begins with a dot, of values."""
    if name == "astype":
        return values[0]
    if name.startswith("."):
        return f"{values[0]}{name}"
    function, bracket, result = name.partition("[")  # of several results one
    return f"np.{function}({', '.join(values)}){bracket}{result}"
