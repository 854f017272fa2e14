"""Text of kernels: what a thread does with its elements, in the dialect."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.expressions.program import STEPS, TARGET, Steps
from portagpu.ufuncs.kernel_source import KEPT, kernel_from, position

FLAT = 0
"""In place of a number of axes: the arrays that are not single elements lie alike, without gaps."""
_MOST = 4096  # kernels that are kept
_kernels: dict[str, Dispatcher[..., Any]] = {}
_lock = threading.Lock()


def kernel_of(steps: Steps, ndim: int, singles: tuple[bool, ...], threads: int, items: int) -> Dispatcher[..., Any]:
    """The kernel for arrays of ``ndim`` axes, or FLAT; ``singles``: which of those that are read are one element.

    Each of a block's ``threads`` computes ``items`` elements. It takes the arrays that it writes, those that it reads,
    and numbers.
    """
    return _made(_text(steps, ndim, singles, threads, items))


def _made(text: str) -> Dispatcher[..., Any]:
    with _lock:
        found = _kernels.get(text)
        if found is None:
            if len(_kernels) >= _MOST:
                _kernels.clear()
            found = _kernels[text] = kernel_from(text.splitlines(), {"core": _Named, "np": np, **TYPES}, KEPT)
    return found


def kernel_of_several(steps: Steps, singles: tuple[bool, ...], threads: int, count: int) -> Dispatcher[..., Any]:
    """The kernel for ``count`` expressions that are alike, of arrays in C order.

    It takes the number of blocks up to the end of each expression, and for each the array that is written, those that
    are read, and numbers.
    """
    text = _text_of_several(steps, singles, threads, count)
    return _made(text)


class _Named:
    """Gives the file of a kernel's text its name."""

    __name__ = "expression"


def _text(steps: Steps, ndim: int, singles: tuple[bool, ...], threads: int, items: int) -> str:
    arrays = [f"a{n}" for n in range(len(steps.arrays))]
    targets = [f"out{n}" for n in range(len(steps.outputs))]
    numbers = [f"n{n}" for n in range(len(steps.numbers))]
    lines, at = position(ndim, "out0.shape") if ndim > 1 else ([], "i")

    def place(name: str, i: str) -> str:
        return f"{name}.ravel()[{i}]" if ndim == FLAT else f"{name}[{at}]"

    loaded = [f"{name}.ravel()[0]" if single else "" for name, single in zip(arrays, singles, strict=True)]
    text = [f"def kernel({', '.join([*targets, *arrays, *numbers])}):"]
    if items == 1:
        text += ["    i = grid(1)", "    if i < out0.size:", *lines]
        text += _element(steps, "        ", "", lambda n: loaded[n] or place(arrays[n], "i"), place("out0", "i"))
        text += [f"        {place(f'out{n}', 'i')} = v{n}" for n in range(len(targets))]
        return "\n".join(text)
    text += [f"    i = blockIdx.x * {threads * items} + threadIdx.x"]
    text += [f"    if (blockIdx.x + 1) * {threads * items} <= out0.size:"]
    for k in range(items):  # all loads before all that waits for them

        def load(n: int, k: int = k) -> str:
            return loaded[n] or place(arrays[n], f"i + {k * threads}")

        text += _element(steps, "        ", f"k{k}", load, place("out0", f"i + {k * threads}"))
    for k in range(items):
        text += [f"        {place(f'out{n}', f'i + {k * threads}')} = k{k}v{n}" for n in range(len(targets))]
    text += ["    else:", f"        for j in range(i, out0.size, {threads}):"]
    text += _element(steps, "            ", "", lambda n: loaded[n] or place(arrays[n], "j"), place("out0", "j"))
    text += [f"            {place(f'out{n}', 'j')} = v{n}" for n in range(len(targets))]
    return "\n".join(text)


def _text_of_several(steps: Steps, singles: tuple[bool, ...], threads: int, count: int) -> str:
    names = [f"end{m}" for m in range(count)]
    body = []
    for m in range(count):
        arrays = [f"out{m}"] + [f"a{m}_{n}" for n in range(len(steps.arrays))]
        names += [*arrays, *(f"m{m}n{n}" for n in range(len(steps.numbers)))]
        begin = f" - end{m - 1}" if m else ""
        body += [f"    {'elif' if m else 'if'} blockIdx.x < end{m}:"]
        body += [f"        i = (blockIdx.x{begin}) * {threads} + threadIdx.x", f"        if i < out{m}.size:"]

        def load(n: int, m: int = m) -> str:
            return f"a{m}_{n}.ravel()[{'0' if singles[n] else 'i'}]"

        body += _element(steps, "            ", f"m{m}", load, "", numbers=f"m{m}")
        body += [f"            out{m}.ravel()[i] = m{m}v0"]
    return "\n".join([f"def kernel({', '.join(names)}):", *body])


def _element(
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
