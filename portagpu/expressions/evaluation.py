"""Evaluation: an expression's kernel is launched, and its elements are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from portagpu.device import DeviceType
from portagpu.dispatch.ready import ReadyLaunch, remember
from portagpu.expressions.axes import broadcast_strides, joined
from portagpu.expressions.kernels import FLAT, kernel_of
from portagpu.expressions.node import Node
from portagpu.expressions.program import Program, Steps
from portagpu.expressions.repeated import keep, parts_of, repeat
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.copies import streams_beside
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.current import current_stream
from portagpu.runtime.execution.stream import Stream

_THREADS = 256
_BYTES = 16  # that a thread of a GPU reads of an array: enough are then on their way to keep the memory busy


def evaluate(root: Node, *, into: DeviceNDArray | None = None) -> None:
    """Compute a node's elements, to memory of their own or to an array's, which may be of another dtype.

    In the node's stream, else the current one. Nodes on the way whose arrays the program still has are stored by the
    same kernel. ``into`` shares no memory with
    other operands, but may be one itself.
    """
    if root.stream is None:
        root.stream = current_stream(root.context)
    parts = parts_of(root, into)
    if into is not None and parts is not None and repeat(root, parts, into):
        return
    program = Program(root, into)
    while program.smaller is not None:  # to be computed once, not for each element of the whole
        program.smaller.stream = root.stream
        evaluate(program.smaller)
        program = Program(root, into)
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
            if parts is not None and len(stored) == 1:
                keep(parts, root.context, ready, program, taken)
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
    program: Program, stored: list[Node], targets: list[DeviceNDArray], context: Context, where: Stream
) -> tuple[ReadyLaunch, list[tuple[DeviceNDArray, DeviceNDArray]]]:
    """Launch the kernel that stores nodes to arrays, which all lie alike.

    The launch, and arrays with what it takes in their places.
    """
    given = (*targets, *program.arrays)
    target = targets[0]
    shape, size = target._shape, target.size
    key: list[Any] = [size]
    arrays: Sequence[DeviceNDArray] = program.arrays
    is_flat = target.layout == "C"
    for array in arrays:
        if array.size == 1 and size > 1:
            key.append(1)
        elif array.layout != "C" or array._shape != shape:
            is_flat = False
        key.append(array.layout_token or array.type_key)
    ndim = FLAT
    if not is_flat:
        ndim, targets, arrays = _walked(targets, arrays)
        key = [size, ndim, *(a.size == 1 and size > 1 for a in arrays), *(a.layout_token or a.type_key for a in arrays)]
    for node, array in zip(stored, targets, strict=True):
        key += (program.register_of(node), array.layout_token or array.type_key)
    key += program.key
    others = streams_beside(where, (*targets, *arrays))
    for other in others:
        where.wait_stream(other)
    ready = _launched((program, stored), targets, arrays, ndim, tuple(key), where)
    for other in others:
        other.wait_stream(where)
    return ready, list(zip(given, (*targets, *arrays), strict=True))


def _launched(
    operands: tuple[Program, list[Node]],
    targets: Sequence[DeviceNDArray],
    arrays: Sequence[DeviceNDArray],
    ndim: int,
    known: tuple[Any, ...],
    stream: Stream,
) -> ReadyLaunch:
    """Launch as was done for what is ``known``, or compile."""
    program, stored = operands
    args = (*targets, *arrays, *program.numbers)
    context, size = targets[0].context, targets[0].size
    ready: ReadyLaunch | None = context.expression_launches.get(known)
    if ready is not None and ready.again(stream, args):
        return ready
    singles = tuple(array.size == 1 and size > 1 for array in arrays)
    threads, items = threads_of(context), _items_of(context, targets[0].itemsize, ndim)
    kernel = kernel_of(Steps(program, stored, list(targets)), ndim, singles, threads, items)
    blocks = -(-size // (threads * items))
    ready = ReadyLaunch(kernel, (blocks, 1, 1), (threads, 1, 1), args, context)
    remember(context, known, ready)
    ready.again(stream, args)
    return ready


def threads_of(context: Context) -> int:
    """Threads of a block."""
    caps = context.capabilities
    return min(_THREADS, caps.max_work_group_size, caps.max_work_item_sizes[0])


def _items_of(context: Context, itemsize: int, ndim: int) -> int:
    """Elements of a thread."""
    if ndim != FLAT or context.capabilities.device_type is DeviceType.CPU:
        return 1
    return max(1, min(4, _BYTES // itemsize))


def _walked(
    targets: Sequence[DeviceNDArray], arrays: Sequence[DeviceNDArray]
) -> tuple[int, list[DeviceNDArray], list[DeviceNDArray]]:
    """Views of all operands with the axes that a kernel must walk, as few as there are."""
    shape, size = targets[0].shape, targets[0].size
    walkers = [array for array in arrays if array.size != 1 or size == 1]
    steps = [target.strides for target in targets]
    steps += [broadcast_strides(array.shape, array.strides, shape) for array in walkers]
    extents, strides = joined(shape, steps)
    views = [viewed(array, extents, own) for array, own in zip([*targets, *walkers], strides, strict=True)]
    made, rest = views[: len(targets)], iter(views[len(targets) :])
    taken = [next(rest) if array.size != 1 or size == 1 else array for array in arrays]
    return FLAT if all(view.layout == "C" for view in views) else len(extents), made, taken


def viewed(array: DeviceNDArray, shape: tuple[int, ...], strides: tuple[int, ...]) -> DeviceNDArray:
    """A view of an array's memory from its first element on, with another shape and other strides."""
    if array.shape == shape and array.strides == strides:
        return array
    return DeviceNDArray(
        shape,
        array.dtype,
        strides,
        array.buffer,
        array.context,
        offset=array.offset,
        base=array if array.base is None else array.base,
        stream=array.stream,
        readonly=array.readonly,
        allocation_key=array.allocation_key,
    )
