"""Kernels of programs: text in the dialect, kept for programs that are equal."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.expressions.program import Program
from portagpu.ufuncs.kernel_source import kernel_from, position

FLAT = 0
"""In place of a number of axes: the arrays that are not single elements lie alike, without gaps."""
_MOST = 4096  # kernels that are kept
_kernels: dict[Any, Dispatcher] = {}
_lock = threading.Lock()


def kernel_of(program: Program, ndim: int, singles: tuple[bool, ...]) -> Dispatcher:
    """The kernel of a program for arrays of ``ndim`` axes, or FLAT; ``singles``: which arrays are one element.

    It takes the arrays that it writes, those that it reads, and numbers.
    """
    key = program, ndim, singles
    found = _kernels.get(key)
    if found is None:
        with _lock:
            if len(_kernels) >= _MOST:
                _kernels.clear()
            found = _kernels.get(key)
            if found is None:
                found = _kernels[key] = _make(program, ndim, singles)
    return found


def _make(program: Program, ndim: int, singles: tuple[bool, ...]) -> Dispatcher:
    outputs = [f"out{n}" for n in range(len(program.outputs))]
    arrays = [f"a{n}" for n in range(len(program.arrays))]
    numbers = [f"n{n}" for n in range(len(program.numbers))]
    lines, at = position(ndim, "out0.shape") if ndim > 1 else ([], "i")
    values = [
        _loaded(name, at, ndim, dtype, is_single=single)
        for name, dtype, single in zip(arrays, program.arrays, singles, strict=True)
    ]
    values += numbers
    body = list(lines)
    for name, registers, inputs, dtype in program.steps:
        taken = [converted(values[r], kind) for r, kind in zip(registers, inputs, strict=True)]
        body.append(f"        t{len(values)} = {converted(applied(name, taken), dtype)}")
        values.append(f"t{len(values)}")
    for name, (register, dtype) in zip(outputs, program.outputs, strict=True):
        place = f"{name}.ravel()[i]" if ndim == FLAT else f"{name}[{at}]"
        body.append(f"        {place} = {converted(values[register], dtype)}")
    text = [
        f"def kernel({', '.join([*outputs, *arrays, *numbers])}):",
        "    i = grid(1)",
        "    if i < out0.size:",
        *body,
    ]
    return kernel_from(text, {"core": np.positive, "np": np, **TYPES}, {})


def _loaded(name: str, at: str, ndim: int, dtype: np.dtype[Any], *, is_single: bool) -> str:
    if is_single:
        return f"{name}.ravel()[0]"
    return f"{name}.ravel()[i]" if ndim == FLAT else f"{name}[{at}]"


TYPES = {f"as_{row.name}": getattr(np, "bool_" if row is dtypes.BOOL else row.name) for row in dtypes.ALL}
"""Names of kernels for conversions to dtypes."""


def converted(value: str, dtype: np.dtype[Any]) -> str:
    """Text of a value as a number of a dtype; of bfloat16 kernels compute with float32."""
    return f"as_{dtypes.from_numpy(dtype).computed.name}({value})"


def applied(name: str, values: list[str]) -> str:
    """Text of a function of NumPy's, or of an attribute that begins with a dot, of values."""
    if name == "astype":
        return values[0]
    return f"{values[0]}{name}" if name.startswith(".") else f"np.{name}({', '.join(values)})"
