"""Evaluation: an expression's kernel is launched, and its elements are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from portagpu.device import DeviceType
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.dispatch.ready import ReadyLaunch
from portagpu.expressions.kernels import kernel_of, kernel_of_rows
from portagpu.expressions.node import Node
from portagpu.expressions.program import Program, Steps
from portagpu.expressions.rows import Rows, flat_memory, rows_of, threads_on
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.copies import streams_beside
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.stream import Stream

_BYTES = 16  # that a thread of a GPU reads of an array: enough are then on their way to keep the memory busy
_MOST = 4096  # launches that a context remembers


def evaluate(root: Node, *, into: DeviceNDArray | None = None, stream: Stream | None = None) -> None:
    """Compute a node's elements, to memory of their own or to an array's, which may be of another dtype.

    Nodes on the way whose arrays the program still has are stored by the same kernel. ``into`` shares no memory with
    other operands, but may be one itself.
    """
    alone = _alone(root) if into is None and stream is None else None
    if alone is not None and _run_again(root, alone):
        return
    program = Program(root, into, rolls=True)
    while program.smaller is not None:  # to be computed once, not for each element of the whole
        evaluate(program.smaller, stream=stream)
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
            ready = _run(program, stored, targets, root.context, stream)
            if alone is not None and ready is not None and len(program.arrays) + len(program.numbers) == len(alone) - 2:
                root.context.expression_launches[alone] = ready, targets[0].layout_token
    except BaseException:
        for m in made:
            m.undo()
        raise
    for m in made:
        m.node.result = m.array


def _alone(root: Node) -> tuple[Any, ...] | None:
    """What tells the kernel of a node whose operands are all there, and the launch; None for other nodes."""
    operands = root.operands
    if root.shifts is not None:
        return None
    key: list[Any] = [root.operation, root.shape]
    for operand in operands:
        if type(operand) is DeviceNDArray:
            if operand.layout_token is None or operand.stream:
                return None
            key.append((operand.layout_token, operand._shape))
        elif type(operand) is Node:
            return None
        else:
            key.append(operand.dtype)
    if len(operands) == 2 and operands[0] is operands[1]:
        return None
    return tuple(key)


def _run_again(root: Node, alone: tuple[Any, ...]) -> bool:
    """Launch a node's kernel as it was launched for a node like it; False where there was none."""
    context = root.context
    found = context.expression_launches.get(alone)
    array = None if root.array is None else root.array()
    if found is None or array is None:
        return False
    ready, token = found
    operands = root.operands
    arrays = tuple(x for x in operands if type(x) is DeviceNDArray)
    if len(arrays) < len(operands):  # kernels take numbers behind arrays
        operands = (*arrays, *(x for x in operands if type(x) is not DeviceNDArray))
    deferred, array.deferred = array.deferred, None
    try:
        array._buffer = context.allocate(array.size * array.itemsize)
        done: bool = ready.again(context.default_stream, (array, *operands))
    except BaseException:
        array.deferred, array._buffer = deferred, None
        raise
    if done:
        array.layout_token, root.result = token, array
    else:
        array.deferred, array._buffer = deferred, None
    return done


class Made:
    """The array that gets a node's elements: the one that shows the node, where the program still has that."""

    __slots__ = ("_deferred", "array", "node")

    def __init__(self, node: Node) -> None:
        self.node = node
        array = None if node.array is None else node.array()
        self._deferred = None if array is None else array.deferred
        if array is None:
            array = device_array(node.shape, node.dtype, context=node.context)
        else:
            context = node.context
            array._buffer = context.allocate(array.size * array.itemsize)
            array.deferred = None
            token = array.type_key, array.is_large
            array.layout_token = context.layout_tokens.setdefault(token, token)
        self.array: DeviceNDArray = array

    def undo(self) -> None:
        """Nothing was computed."""
        if self._deferred is not None:
            self.array.deferred, self.array._buffer, self.array.layout_token = self._deferred, None, None


def _run(
    program: Program, stored: list[Node], targets: list[DeviceNDArray], context: Context, stream: Stream | None
) -> ReadyLaunch | None:
    """Launch the kernel that stores nodes to arrays, which all lie alike.

    The launch, where it takes the operands as they are.
    """
    target = targets[0]
    shape, size = target._shape, target.size
    key: list[Any] = [size]
    arrays: Sequence[DeviceNDArray] = program.arrays
    is_flat = target.layout == "C" and not any(program.shifts)
    for array in arrays:
        if array.size == 1 and size > 1:
            key.append(1)
        elif array.layout != "C" or array._shape != shape:
            is_flat = False
        key.append(array.layout_token or array.type_key)
    where = context.default_stream if stream is None else stream
    others = streams_beside(where, (*targets, *arrays))
    for other in others:
        where.wait_stream(other)
    ready = None
    if is_flat:
        ready = _launch_flat((program, stored), targets, arrays, key, where)
    else:
        _launch_rows((program, stored), targets, arrays, where)
    for other in others:
        other.wait_stream(where)
    return ready


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
    launches = context.expression_launches
    ready: ReadyLaunch | None = launches.get(known)
    if ready is not None and ready.again(stream, args):
        return ready
    singles = tuple(array.size == 1 and size > 1 for array in arrays)
    threads, items = threads_on(context.capabilities), _items_of(context, targets[0].itemsize)
    kernel = kernel_of(Steps(program, stored, list(targets)), singles, threads, items)
    return _first_launch((known, kernel), (-(-size // (threads * items)), threads, 1), args, context, stream)


def _launch_rows(
    what: tuple[Program, list[Node]], targets: list[DeviceNDArray], arrays: Sequence[DeviceNDArray], stream: Stream
) -> None:
    """The same for operands that do not lie alike, whose kernels take their memory."""
    program, stored = what
    context, size = targets[0].context, targets[0].size
    arrays = [array.copy() if array.align else array for array in arrays]  # elements between the places of their size
    operands = [*targets, *arrays]
    launches = context.expression_launches
    lies: list[Any] = [rows_of, *program.shifts]
    for array in operands:
        lies += (array._shape, array._strides, array.itemsize)
    rows: Rows | None = launches.get(tuple(lies))
    if rows is None:
        rows = launches[tuple(lies)] = rows_of(targets, arrays, program.shifts, context.capabilities)
    memory = [flat_memory(array, *span) for array, span in zip(operands, rows.spans, strict=True)]
    if rows.is_flat:
        made, read = memory[: len(targets)], memory[len(targets) :]
        singles = [array.size == 1 and size > 1 for array in arrays]
        _launch_flat(what, made, read, [size, *singles, *(m.layout_token or m.type_key for m in read)], stream)
        return
    registers = tuple(program.register_of(node) for node in stored)
    known = (rows.plan, rows.blocks, registers, *(m.layout_token or m.type_key for m in memory), *program.key)
    args = (*memory, *program.numbers, *rows.numbers)
    ready: ReadyLaunch | None = launches.get(known)
    if ready is None or not ready.again(stream, args):
        kernel = kernel_of_rows(Steps(program, stored, targets), rows.plan)
        sizes = rows.blocks, rows.plan.side, rows.plan.down
        _first_launch((known, kernel), sizes, args, context, stream)


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
    launches = context.expression_launches
    if len(launches) >= _MOST:
        launches.clear()
    launches[known] = ready = ReadyLaunch(kernel, (blocks, 1, 1), (side, down, 1), args, context)
    ready.again(stream, args)
    return ready


def _items_of(context: Context, itemsize: int) -> int:
    """Elements of a thread."""
    if context.capabilities.device_type is DeviceType.CPU:
        return 1
    return max(1, min(4, _BYTES // itemsize))
