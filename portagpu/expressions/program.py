"""An expression taken apart: what a kernel loads, applies and stores, in order, and the operands it does so with."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.expressions.node import Node
from portagpu.expressions.operations import Operation
from portagpu.runtime.arrays.array import DeviceNDArray


class Program:
    """The operands and steps of an expression.

    Registers are numbered: arrays are 0, 1 ..., numbers -1, -2 ..., steps follow the arrays in `registers_of_steps`.
    ``key`` is equal for expressions that one kernel runs; it has no operand in it.
    """

    __slots__ = ("_places", "_rolls", "_shape", "arrays", "key", "nodes", "numbers", "shifts", "smaller", "target")

    def __init__(self, root: Node, target: DeviceNDArray | None = None, *, rolls: bool = False) -> None:
        """``target``: an array that is written, and may be among those that are read, element by element.

        ``rolls``: the kernel reads arrays that are rolled; else these are `smaller`.
        """
        self.arrays: list[DeviceNDArray] = []
        self.shifts: list[tuple[int, ...] | None] = []  # of arrays that are rolled
        self._rolls = rolls
        self.numbers: list[Any] = []
        self.nodes: list[Node] = []  # in the order of their steps
        self.key: list[Any] = []
        self.target = target
        self.smaller: Node | None = None
        """A node that is to be computed before: with fewer elements than the whole, but more than one, or rolled."""
        self._places: dict[int, int] = {}
        self._shape = root.shape
        self._visit(root)

    def _visit(self, value: Any) -> int:
        """Take a value apart; its register, which is that of a step where it is a thousand or more."""
        kind = type(value)
        if kind is Node:
            if value.result is not None:
                value, kind = value.result, DeviceNDArray
            elif value.failure is not None:
                value.check()
        found = self._places.get(id(value))
        if found is not None:
            return found
        if kind is Node and value.shifts is not None:
            found = self._rolled(value)
        elif kind is Node:
            registers = [self._visit(operand) for operand in value.operands]
            found = STEPS + len(self.nodes)
            self.nodes.append(value)
            if value.shape != self._shape and any(n != 1 for n in value.shape):
                self.smaller = value  # the last one: those before may be parts of it
            self.key += (value.operation, *registers)
        elif kind is DeviceNDArray or isinstance(value, DeviceNDArray):
            if value is self.target:
                found = TARGET
            else:
                found = len(self.arrays)
                self.arrays.append(value)
                self.shifts.append(None)
        else:
            found = -1 - len(self.numbers)
            self.numbers.append(value)
            self.key.append(value.dtype)
        self._places[id(value)] = found
        return found

    def _rolled(self, node: Node) -> int:
        """The register of an array that is rolled."""
        if not self._rolls:
            self.smaller = node
        array, shifts = node.operands[0], node.shifts
        for n, (known, own) in enumerate(zip(self.arrays, self.shifts, strict=True)):
            if known is array and own == shifts:
                return n
        self.arrays.append(array)
        self.shifts.append(shifts)
        return len(self.arrays) - 1

    def register_of(self, node: Node) -> int:
        """Where a node's value is."""
        return self._places[id(node)]


STEPS, TARGET = 1000, 999
"""The register of the first step, and of the array that is written."""


class Steps:
    """What a kernel does with an element: `Program` without operands, for the text of the kernel."""

    __slots__ = ("arrays", "numbers", "outputs", "steps")

    def __init__(self, program: Program, stored: list[Node], targets: list[DeviceNDArray]) -> None:
        self.arrays: list[np.dtype[Any]] = [array.dtype for array in program.arrays]
        self.numbers: list[np.dtype[Any]] = [number.dtype for number in program.numbers]
        self.steps: list[tuple[Operation, list[int]]] = [
            (node.operation, [program.register_of(_held(operand)) for operand in node.operands])
            for node in program.nodes
        ]
        self.outputs: list[tuple[int, np.dtype[Any]]] = [
            (program.register_of(node), target.dtype) for node, target in zip(stored, targets, strict=True)
        ]


def _held(operand: Any) -> Any:
    return operand.result if type(operand) is Node and operand.result is not None else operand
