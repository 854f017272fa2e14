"""Text of kernels of expressions whose operands do not lie alike."""

from __future__ import annotations

from portagpu.expressions.program import Steps
from portagpu.expressions.rows import RowPlan, Walk
from portagpu.expressions.step_text import element


def row_text(steps: Steps, plan: RowPlan) -> str:
    """The kernel's text; it takes what it writes, what it reads, numbers, and those of `portagpu.expressions.rows`."""
    targets, arrays = len(steps.outputs), len(steps.arrays)
    names = [f"out{n}" for n in range(targets)] + [f"a{n}" for n in range(arrays)]
    names += [f"n{n}" for n in range(len(steps.numbers))]
    operands = [f"out{n}" for n in range(targets)] + [f"a{n}" for n in range(arrays)]
    extents = ["across", "rows", "width", *(f"e{n}" for n in range(plan.ndim - 1) if plan.ndim > 2)]
    places = [_place(name, walk, plan) for name, walk in zip(operands, plan.of, strict=True)]
    body = element(steps, "", "", lambda n: places[targets + n], places[0])
    body += [f"{places[n]} = v{n}" for n in range(targets)]
    begins, taken = [], []
    for axis in range(plan.ndim - 2, 0, -1):
        begins += [f"i{axis} = i0 % e{axis}", f"i0 = i0 // e{axis}"]
    for n, walk in enumerate(plan.walks):
        own, lines = _walked(n, walk, plan.ndim)
        taken += own
        begins += lines
    turned = [n for n, walk in enumerate(plan.walks) if walk.rolled[-1] and walk.inner != 0]
    if plan.loops:
        names += ["chunk", "turns"]
        lines = _loops(begins, turned, plan, body)
    else:
        for n in turned:
            begins += _turned(f"j{n}", "j", f"h{n}_{plan.ndim - 1}", "width")
        lines = _threads(plan, [*begins, *body])
    return "\n".join([f"def kernel({', '.join([*names, *extents, *taken])}):", *lines])


def _threads(plan: RowPlan, body: list[str]) -> list[str]:
    """Lines of a thread that has one element."""
    return [
        "    block = as_index(blockIdx.x)",
        f"    j = block % across * as_index({plan.side}) + as_index(threadIdx.x)",
        f"    i0 = block // across * as_index({plan.down}) + as_index(threadIdx.y)",
        "    if j < width and i0 < rows:",
        *(f"        {line}" for line in body),
    ]


def _loops(begins: list[str], turned: list[int], plan: RowPlan, body: list[str]) -> list[str]:
    """Lines of a thread that has parts of rows, in which what is rolled is divided where it goes on at the front."""
    lines = [
        "    block = as_index(blockIdx.x)",
        "    low = block % across * chunk",
        "    high = min(low + chunk, width)",
        "    start = block // across * turns",
        "    for row in range(start, min(start + turns, rows)):",
        "        i0 = row",
        *(f"        {line}" for line in begins),
    ]
    if not turned:
        return [*lines, "        for j in range(low, high):", *(f"            {line}" for line in body)]
    lines += ["        begin = low", "        while begin < high:", "            end = high"]
    for n in turned:
        lines += [f"            {line}" for line in _turned(f"p{n}", "begin", f"h{n}_{plan.ndim - 1}", "width")]
        lines += [f"            end = min(end, begin + (width - p{n}))", f"            j{n} = p{n} - begin"]
    lines += ["            for j in range(begin, end):"]
    lines += [f"                {line}" for line in body]
    return [*lines, "            begin = end"]


def _walked(n: int, walk: Walk, ndim: int) -> tuple[list[str], list[str]]:
    """Names of a walk's numbers, and lines that say where a row begins, ``b``."""
    names = [f"f{n}"] if walk.begins else []
    names += [f"s{n}_{axis}" for axis, steps in enumerate(walk.outer) if steps]
    names += [f"s{n}"] if walk.inner is None else []
    names += [f"h{n}_{axis}" for axis, rolled in enumerate(walk.rolled) if rolled]
    lines, terms = [], [f"f{n}"] if walk.begins else []
    for axis, steps in enumerate(walk.outer):
        if not steps:
            continue
        at = f"i{axis}"
        if walk.rolled[axis]:
            lines += _turned(f"r{n}_{axis}", at, f"h{n}_{axis}", "rows" if ndim == 2 else f"e{axis}")
            at = f"r{n}_{axis}"
        terms.append(f"{at} * s{n}_{axis}")
    lines.append(f"b{n} = {' + '.join(terms) or 'as_index(0)'}")
    return names, lines


def _turned(name: str, at: str, shift: str, extent: str) -> list[str]:
    """Lines for a place on a ring."""
    return [
        f"{name} = {at} + {shift}",
        f"{name} = {name} - {extent} if {name} >= {extent} else {name}",
    ]


def _place(name: str, number: int | None, plan: RowPlan) -> str:
    if number is None:
        return f"{name}.ravel()[0]"
    walk = plan.walks[number]
    at = "j"
    if walk.rolled[-1]:
        at = f"(j{number} + j)" if plan.loops else f"j{number}"
    inner = {0: "", 1: f" + {at}", None: f" + {at} * s{number}"}[walk.inner]
    return f"{name}.ravel()[b{number}{inner}]"
