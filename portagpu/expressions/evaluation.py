"""Evaluation: an expression's kernel is launched, and its elements are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from portagpu.expressions.axes import broadcast_strides, joined
from portagpu.expressions.kernels import FLAT, kernel_of
from portagpu.expressions.node import Node
from portagpu.expressions.program import Flattened, Program
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.stream import Stream
from portagpu.ufuncs.kernel_source import launch


def evaluate(root: Node, *, into: DeviceNDArray | None = None, stream: Stream | int = 0) -> None:
    """Compute a node's elements, to memory of their own or to an array's, which may be of another dtype.

    Nodes on the way whose arrays the program still has are stored by the same kernel.
    """
    flattened = Flattened(root)
    while (smaller := smaller_node(flattened)) is not None:  # to be computed once, not for each element of the whole
        evaluate(smaller, stream=stream)
        flattened = Flattened(root)
    stored = [] if into is not None else [root]
    for node in flattened.nodes:
        if node is not root and node.shape == root.shape and node.array is not None and node.array() is not None:
            stored.append(node)
    made = [Made(node) for node in stored]
    targets = [m.array for m in made]
    try:
        if into is not None:
            stored, targets = [root, *stored], [into, *targets]
        program = flattened.program(stored, [target.dtype for target in targets])
        if targets[0].size:
            run(program, targets, flattened.arrays, flattened.numbers, root.context, stream)
    except BaseException:
        for m in made:
            m.undo()
        raise


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
            array._buffer = context.allocate(array.nbytes)
            array.deferred = None
            token = array.type_key, array.is_large
            array.layout_token = context.layout_tokens.setdefault(token, token)
        self.array: DeviceNDArray = array
        node.result = array

    def undo(self) -> None:
        """Nothing was computed."""
        self.node.result = None
        if self._deferred is not None:
            self.array.deferred, self.array._buffer, self.array.layout_token = self._deferred, None, None


def smaller_node(flattened: Flattened) -> Node | None:
    """A node of the expression that has fewer elements than the whole, but more than one."""
    for node in flattened.nodes:
        if node.shape != flattened.shape and any(extent != 1 for extent in node.shape):
            return node
    return None


def run(
    program: Program,
    targets: Sequence[DeviceNDArray],
    arrays: Sequence[DeviceNDArray],
    numbers: Sequence[Any],
    context: Context,
    stream: Stream | int,
) -> None:
    """Launch a program's kernel: a thread for each element of the targets, which all lie alike."""
    target = targets[0]
    singles = tuple(array.size == 1 and target.size > 1 for array in arrays)
    ndim = FLAT
    order = target.layout
    if order != "C" or any(
        not single and (array.layout != "C" or array._shape != target._shape)
        for array, single in zip(arrays, singles, strict=True)
    ):
        ndim, targets, arrays = _walked(targets, arrays, singles)
    kernel = kernel_of(program, ndim, singles)
    launch(kernel, target.size, None, stream, (*targets, *arrays, *numbers), context)


def _walked(
    targets: Sequence[DeviceNDArray], arrays: Sequence[DeviceNDArray], singles: tuple[bool, ...]
) -> tuple[int, list[DeviceNDArray], list[DeviceNDArray]]:
    """Views of all operands with the axes that a kernel must walk, as few as there are."""
    shape = targets[0].shape
    steps = [target.strides for target in targets]
    walkers = [array for array, single in zip(arrays, singles, strict=True) if not single]
    steps += [broadcast_strides(array.shape, array.strides, shape) for array in walkers]
    extents, strides = joined(shape, steps)
    views = [viewed(array, extents, own) for array, own in zip([*targets, *walkers], strides, strict=True)]
    made, rest = views[: len(targets)], iter(views[len(targets) :])
    taken = [array if single else next(rest) for array, single in zip(arrays, singles, strict=True)]
    ndim = len(extents)
    if all(view.layout == "C" for view in views):
        ndim = FLAT
    return ndim, made, taken


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
