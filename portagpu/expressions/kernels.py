"""Text of kernels: what a thread does with its elements, in the dialect."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.expressions.program import Steps
from portagpu.expressions.row_text import row_text
from portagpu.expressions.rows import RowPlan
from portagpu.expressions.step_text import TYPES, element
from portagpu.ufuncs.kernel_source import KEPT, kernel_from

_MOST = 4096  # kernels that are kept
_kernels: dict[tuple[str, Any], Dispatcher[..., Any]] = {}
_lock = threading.Lock()


def kernel_of(steps: Steps, singles: tuple[bool, ...], threads: int, items: int) -> Dispatcher[..., Any]:
    """The kernel for arrays that lie alike, without gaps; ``singles``: which of those that are read are one element.

    Each of a block's ``threads`` computes ``items`` elements. It takes the arrays that it writes, those that it reads,
    and numbers.
    """
    return _made(_text(steps, singles, threads, items))


def kernel_of_rows(steps: Steps, plan: RowPlan) -> Dispatcher[..., Any]:
    """The kernel for arrays that do not lie alike: see `portagpu.expressions.row_text`."""
    index = np.uint64 if plan.wide else np.uint32
    return _made(row_text(steps, plan), index)


def _made(text: str, index: Any = None) -> Dispatcher[..., Any]:
    with _lock:
        found = _kernels.get((text, index))
        if found is None:
            if len(_kernels) >= _MOST:
                _kernels.clear()
            names = {"core": _Named, "np": np, "as_index": index, **TYPES}
            found = _kernels[text, index] = kernel_from(text.splitlines(), names, KEPT)
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


def _text(steps: Steps, singles: tuple[bool, ...], threads: int, items: int) -> str:
    arrays = [f"a{n}" for n in range(len(steps.arrays))]
    targets = [f"out{n}" for n in range(len(steps.outputs))]
    numbers = [f"n{n}" for n in range(len(steps.numbers))]

    def place(name: str, i: str) -> str:
        return f"{name}.ravel()[{i}]"

    loaded = [f"{name}.ravel()[0]" if single else "" for name, single in zip(arrays, singles, strict=True)]
    text = [f"def kernel({', '.join([*targets, *arrays, *numbers])}):"]
    if items == 1:
        text += ["    i = grid(1)", "    if i < out0.size:"]
        text += element(steps, "        ", "", lambda n: loaded[n] or place(arrays[n], "i"), place("out0", "i"))
        text += [f"        {place(f'out{n}', 'i')} = v{n}" for n in range(len(targets))]
        return "\n".join(text)
    text += [f"    i = blockIdx.x * {threads * items} + threadIdx.x"]
    text += [f"    if (blockIdx.x + 1) * {threads * items} <= out0.size:"]
    for k in range(items):  # all loads before all that waits for them

        def load(n: int, k: int = k) -> str:
            return loaded[n] or place(arrays[n], f"i + {k * threads}")

        text += element(steps, "        ", f"k{k}", load, place("out0", f"i + {k * threads}"))
    for k in range(items):
        text += [f"        {place(f'out{n}', f'i + {k * threads}')} = k{k}v{n}" for n in range(len(targets))]
    text += ["    else:", f"        for j in range(i, out0.size, {threads}):"]
    text += element(steps, "            ", "", lambda n: loaded[n] or place(arrays[n], "j"), place("out0", "j"))
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

        body += element(steps, "            ", f"m{m}", load, "", numbers=f"m{m}")
        body += [f"            out{m}.ravel()[i] = m{m}v0"]
    return "\n".join([f"def kernel({', '.join(names)}):", *body])
