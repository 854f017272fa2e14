"""Evaluation: an expression's kernel is launched, and its elements are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.dispatch.ready import ReadyLaunch, remember
from portagpu.expressions.kernels import kernel_of, kernel_of_rows
from portagpu.expressions.node import Node
from portagpu.expressions.program import Program, Steps
from portagpu.expressions.repeated import Taken, are_those_of, keep, parts_of, repeat, repeat_applied
from portagpu.expressions.rows import Rows, flat_memory, rows_of, threads_on
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.copies import streams_beside
from portagpu.runtime.arrays.facts import layout_token_of
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.current import current_stream
from portagpu.runtime.execution.stream import Stream

_BYTES = 16  # that a thread of a GPU reads of an array: enough are then on their way to keep the memory busy


def evaluate(root: Node, *, into: DeviceNDArray | None = None) -> None:
    """Compute a node's elements, to memory of their own or to an array's, which may be of another dtype.

    In the node's stream, else the current one. Nodes on the way whose arrays the program still has are stored by the
    same kernel. ``into`` shares no memory with other operands, but may be one itself.
    """
    if root.stream is None:
        root.stream = current_stream(root.context)
    parts = parts_of(root, into)
    if into is not None and parts is not None and repeat(root, parts, into):
        return
    program = Program(root, into, rolls=True)
    while program.smaller is not None:  # to be computed once, not for each element of the whole
        program.smaller.stream = root.stream
        evaluate(program.smaller)
        program = Program(root, into, rolls=True)
    stored = [root] if into is None else []
    if len(program.nodes) > 1:
        shape = root.shape
        stored += [n for n in program.nodes if n is not root and n.shape == shape and n.is_wanted]
    made = [Made(node) for node in stored]
    try:
        targets = [m.array for m in made]
        if into is not None:
            stored, targets = [root, *stored], [into, *targets]
        if targets[0].size:
            ready, taken = _run(program, stored, targets, root.context, root.stream)
            if parts is not None and are_those_of(parts, program):
                keep(parts, root.context, ready, stored, taken)
    except BaseException:
        for m in made:
            m.undo()
        raise
    for m in made:
        m.node.result = m.array


def evaluate_again(root: Node) -> bool:
    """Compute a node's elements as those of a node like it were computed; False where there was none.

    The context's `Unsettled.lock` is held.
    """
    applied = root.applied
    if applied is not None and repeat_applied(root, applied):
        return True
    parts = parts_of(root)
    return parts is not None and repeat(root, parts)


class Made:
    """The array that gets a node's elements: the one that shows the node, where the program still has that."""

    __slots__ = ("_deferred", "array", "node")

    def __init__(self, node: Node) -> None:
        self.node = node
        array = None if node.array is None else node.array()
        self._deferred = None if array is None else array.deferred
        if array is None:
            array = device_array(node.shape, node.dtype, node.strides, context=node.context)
        else:
            context = node.context
            array._buffer = context.allocate(array.size * array.itemsize)
            array.deferred = None
            array.layout_token = layout_token_of(array)
        self.array: DeviceNDArray = array

    def undo(self) -> None:
        """Nothing was computed."""
        if self._deferred is not None:
            self.array.deferred, self.array._buffer, self.array.layout_token = self._deferred, None, None


def _run(
    program: Program, stored: list[Node], targets: list[DeviceNDArray], context: Context, where: Stream
) -> tuple[ReadyLaunch, Taken]:
    """Launch the kernel that stores nodes to arrays, which all lie alike. The launch, and what it took."""
    given = (*targets, *program.arrays)
    target = targets[0]
    shape, size = target._shape, target.size
    key: list[Any] = [size]
    arrays: Sequence[DeviceNDArray] = program.arrays
    is_flat = all(array.layout == "C" for array in targets) and not any(program.shifts)
    for array in arrays:
        if array.size == 1 and size > 1:
            key.append(1)
        elif array.layout != "C" or array._shape != shape:
            is_flat = False
        key.append(array.layout_token or array.type_key)
    others = streams_beside(where, (*targets, *arrays))
    for other in others:
        where.wait_stream(other)
    if is_flat:
        ready = _launch_flat((program, stored), targets, arrays, key, where)
        taken = Taken(list(zip(given, given, strict=True)), ())
    else:
        ready, taken = _launch_rows((program, stored), targets, arrays, where)
    for other in others:
        other.wait_stream(where)
    return ready, taken


def _launch_flat(
    what: tuple[Program, list[Node]],
    targets: Sequence[DeviceNDArray],
    arrays: Sequence[DeviceNDArray],
    key: list[Any],
    stream: Stream,
) -> ReadyLaunch:
    """Launch as was done for arrays with this ``key``, or compile."""
    program, stored = what
    for node, array in zip(stored, targets, strict=True):
        key += (program.register_of(node), array.layout_token or array.type_key)
    known = (*key, *program.key)
    args = (*targets, *arrays, *program.numbers)
    context, size = targets[0].context, targets[0].size
    ready: ReadyLaunch | None = context.expression_launches.get(known)
    if ready is not None and ready.again(stream, args):
        return ready
    singles = tuple(array.size == 1 and size > 1 for array in arrays)
    threads, items = threads_on(context.capabilities), _items_of(context, targets[0].itemsize)
    kernel = kernel_of(Steps(program, stored, list(targets)), singles, threads, items)
    return _first_launch((known, kernel), (-(-size // (threads * items)), threads, 1), args, context, stream)


def _launch_rows(
    what: tuple[Program, list[Node]], targets: list[DeviceNDArray], arrays: Sequence[DeviceNDArray], stream: Stream
) -> tuple[ReadyLaunch, Taken]:
    """The same for operands that do not lie alike, whose kernels take their memory."""
    program, stored = what
    context, size = targets[0].context, targets[0].size
    copied = any(array.align for array in arrays)
    arrays = [array.copy() if array.align else array for array in arrays]  # elements between the places of their size
    operands = [*targets, *arrays]
    launches = context.expression_launches
    lies: list[Any] = [rows_of, *program.shifts]
    for array in operands:
        lies += (array._shape, array._strides, array.itemsize)
    rows: Rows | None = launches.get(tuple(lies))
    if rows is None:
        rows = rows_of(targets, arrays, program.shifts, context.capabilities)
        remember(context, tuple(lies), rows)
    memory = [flat_memory(array, *span) for array, span in zip(operands, rows.spans, strict=True)]
    places = list(zip(operands, memory, strict=True))
    if rows.is_flat:
        made, read = memory[: len(targets)], memory[len(targets) :]
        singles = [array.size == 1 and size > 1 for array in arrays]
        key = [size, *singles, *(m.layout_token or m.type_key for m in read)]
        return _launch_flat(what, made, read, key, stream), Taken([] if copied else places, ())
    registers = tuple(program.register_of(node) for node in stored)
    known = (rows.plan, rows.blocks, registers, *(m.layout_token or m.type_key for m in memory), *program.key)
    args = (*memory, *program.numbers, *rows.numbers)
    ready: ReadyLaunch | None = launches.get(known)
    if ready is None or not ready.again(stream, args):
        kernel = kernel_of_rows(Steps(program, stored, targets), rows.plan)
        sizes = rows.blocks, rows.plan.side, rows.plan.down
        ready = _first_launch((known, kernel), sizes, args, context, stream)
    return ready, Taken([] if copied else places, rows.numbers)


def _first_launch(
    what: tuple[tuple[Any, ...], Dispatcher[..., Any]],
    sizes: tuple[int, int, int],
    args: tuple[Any, ...],
    context: Context,
    stream: Stream,
) -> ReadyLaunch:
    """Launch a kernel, and remember it as what is known; ``sizes``: blocks, and threads of each along two axes."""
    known, kernel = what
    blocks, side, down = sizes
    ready = ReadyLaunch(kernel, (blocks, 1, 1), (side, down, 1), args, context)
    remember(context, known, ready)
    ready.again(stream, args)
    return ready


def _items_of(context: Context, itemsize: int) -> int:
    """Elements of a thread."""
    if context.capabilities.is_serial:
        return 1
    return max(1, min(4, _BYTES // itemsize))
