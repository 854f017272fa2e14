"""What a reducing kernel computes of an element before it is reduced: an expression without its operands."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu.expressions.evaluation import evaluate
from portagpu.expressions.node import Node
from portagpu.expressions.operations import Operation
from portagpu.expressions.program import Program, Steps
from portagpu.expressions.repeated import Parts, are_those_of, parts_of
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.current import current_stream
from portagpu.runtime.execution.stream import Stream


class Element(NamedTuple):
    """Dtypes of arrays and numbers, operations with their registers, and the register that is reduced.

    Registers are those of `portagpu.expressions.program.Program`.
    """

    arrays: tuple[np.dtype[Any], ...]
    numbers: tuple[np.dtype[Any], ...]
    steps: tuple[tuple[Operation, tuple[int, ...]], ...]
    output: int


class Source:
    """What is reduced: an expression's element, and its operands."""

    __slots__ = ("_program", "_root", "arrays", "key", "numbers", "shape")

    def __init__(self, array: DeviceNDArray, stream: Stream | None) -> None:
        """Of an array that is put off, its expression, the first time that it is reduced."""
        self.shape = array.shape
        deferred: Any = array.deferred
        root: Any = array
        if deferred is not None:
            node: Node = deferred.node
            if node.result is not None:
                root = node.result
            elif node.was_reduced or node.stream is not (stream or current_stream(node.context)):
                deferred.evaluate()
            else:
                node.was_reduced = True
                root = node
        self._program: Program | None = None
        if isinstance(root, Node):
            program = Program(root)
            while program.smaller is not None:
                program.smaller.stream = stream or current_stream(array.context)
                evaluate(program.smaller)
                program = Program(root)
            if _evaluated_again(program):
                program = Program(root)
            if root.result is not None:  # was itself computed before, as rolled arrays are
                root = root.result
            elif program.arrays:
                self._program = program
            else:  # of numbers only: there is no memory whose order counts
                deferred.evaluate()
                root = array
        self._root = root
        self.arrays: list[DeviceNDArray] = [root] if self._program is None else program.arrays
        self.numbers: list[Any] = [] if self._program is None else program.numbers
        self.key: list[Any] = [] if self._program is None else program.key

    @property
    def is_costly(self) -> bool:
        """Whether functions are computed that take longer than loads and stores."""
        return self._program is not None and any(node.operation.is_costly for node in self._program.nodes)

    def is_of(self, parts: Parts) -> bool:
        """Whether these are the operands of an expression's parts, in the same order."""
        return self._program is not None and are_those_of(parts, self._program)

    def element(self) -> Element:
        """What kernels do with an element."""
        if self._program is None:
            return stored(self.arrays[0].dtype)
        steps = Steps(self._program, [], [])
        return Element(
            tuple(steps.arrays),
            tuple(steps.numbers),
            tuple((operation, tuple(registers)) for operation, registers in steps.steps),
            self._program.register_of(self._root),
        )


def _evaluated_again(program: Program) -> bool:
    """Store arrays that the program still has, and that another reduction has computed, where that took long."""
    waiting: list[Any] = []
    for node in program.nodes[:-1]:
        if node.operation.is_costly and node.array is not None and (array := node.array()) is not None:
            if node.was_reduced and array.deferred is not None:
                waiting.append(array)
            node.was_reduced = True
    for array in waiting:
        if array.deferred is not None:
            array.deferred.evaluate()
    return bool(waiting)


def parts_to_reduce(array: DeviceNDArray) -> Parts | None:
    """The parts of an expression that is about to be reduced by the kernel that computes it; None for anything else.

    They are for one `Source`, or what is kept for expressions like this one.
    """
    deferred: Any = array.deferred
    if deferred is None:
        return None
    node: Node = deferred.node
    if node.result is not None or node.was_reduced or node.stream is not current_stream(node.context):
        return None
    parts = parts_of(node, reduces=True)
    return parts if parts is not None and parts.arrays else None


def stored(dtype: np.dtype[Any]) -> Element:
    """An array's element."""
    return Element((dtype,), (), (), 0)
