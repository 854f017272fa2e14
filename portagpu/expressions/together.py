"""Many small expressions of one kind in one launch: each block computes elements of one of them.

A launch costs as much as tens of thousands of elements, so that lists of small arrays, such as parameters that are
updated alike, are bound by launches when each has its own (horizontal fusion).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from portagpu.dispatch.ready import ReadyLaunch, remember
from portagpu.expressions.evaluation import Made, evaluate, evaluate_again
from portagpu.expressions.kernels import kernel_of_several
from portagpu.expressions.node import Node
from portagpu.expressions.program import Program, Steps
from portagpu.expressions.rows import threads_on
from portagpu.runtime.execution.context import Context

_LEAST = 4  # expressions of one kind that are worth a kernel of their own
_MOST = 16  # of one kernel: each has arguments of its own
_SMALL = 1 << 16  # elements of one that is bound by its launch


def evaluate_all(nodes: Sequence[Node]) -> None:
    """Compute the elements of nodes of one context, those that are small and alike together.

    Nodes that fail keep their errors for those who read them: the caller, who may write what they read, goes on.
    """
    alike: dict[tuple[Any, ...], list[tuple[Node, Program]]] = {}
    if len(nodes) >= _LEAST:
        for node in nodes:
            if node.result is not None or node.failure is not None:
                continue
            try:
                program = Program(node)
            except Exception as error:
                node.fail(error)
                continue
            key = _key_of(node, program)
            if key is not None:
                alike.setdefault(key, []).append((node, program))
    for key, group in alike.items():
        for first in range(0, len(group) - _LEAST + 1, _MOST):
            some = group[first : first + _MOST]
            if len(some) >= _LEAST:
                with suppress(Exception):  # each alone then
                    _run(key, some)
    for node in nodes:
        if node.result is None and node.failure is None:
            try:
                if not evaluate_again(node):
                    evaluate(node)
            except Exception as error:
                node.fail(error)


def _key_of(node: Node, program: Program) -> tuple[Any, ...] | None:
    """What expressions have in common that one kernel can compute; None for one that is better off alone."""
    size = node.size
    if not 0 < size <= _SMALL or program.smaller is not None or node.strides is not None:
        return None
    if any(inner is not node and inner.is_wanted for inner in program.nodes):
        return None
    tokens: list[Any] = []
    for array in program.arrays:
        if array.layout_token is None or array.stream or array.layout != "C":
            return None
        is_single = array.size == 1 and size > 1
        if not is_single and array.shape != node.shape:
            return None
        tokens += (is_single, array.layout_token)
    return (node.stream, len(node.shape), *tokens, *program.key)


def _run(key: tuple[Any, ...], group: list[tuple[Node, Program]]) -> None:
    """Launch the kernel of several expressions."""
    context: Context = group[0][0].context
    stream = group[0][0].stream or context.default_stream
    threads = threads_on(context.capabilities)
    ends: list[int] = []
    for node, _ in group:
        ends.append((ends[-1] if ends else 0) + -(-node.size // threads))
    first, program = group[0]
    made = [Made(node) for node, _ in group]
    try:
        args: list[Any] = list(ends)
        for m, (_, operands) in zip(made, group, strict=True):
            args += (m.array, *operands.arrays, *operands.numbers)
        known = (evaluate_all, tuple(ends), *key[1:])
        ready: ReadyLaunch | None = context.expression_launches.get(known)
        if ready is None or not ready.again(stream, tuple(args)):
            singles = tuple(array.size == 1 and first.size > 1 for array in program.arrays)
            kernel = kernel_of_several(Steps(program, [first], [made[0].array]), singles, threads, len(group))
            ready = ReadyLaunch(kernel, (ends[-1], 1, 1), (threads, 1, 1), tuple(args), context)
            remember(context, known, ready)
            ready.again(stream, tuple(args))
    except BaseException:
        for m in made:
            m.undo()
        raise
    for m in made:
        m.node.result = m.array
