"""An expression as a program: loads, functions and stores in order, equal for expressions that the same kernel runs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu.expressions.node import Node
from portagpu.runtime.arrays.array import DeviceNDArray


class Program(NamedTuple):
    """What a kernel does with an element. Registers are numbered: first those of arrays, then of numbers, then steps.

    ``arrays`` and ``numbers`` are dtypes, ``steps`` the name of a function, its registers, the dtypes they are
    converted to and the result's; ``outputs`` the registers that are stored, with the dtypes of the arrays.
    """

    arrays: tuple[np.dtype[Any], ...]
    numbers: tuple[np.dtype[Any], ...]
    steps: tuple[tuple[str, tuple[int, ...], tuple[np.dtype[Any], ...], np.dtype[Any]], ...]
    outputs: tuple[tuple[int, np.dtype[Any]], ...]


class Flattened:
    """A program with its operands, which are found by walking from a root."""

    __slots__ = ("_places", "_root", "_steps", "arrays", "nodes", "numbers", "shape")

    def __init__(self, root: Node | DeviceNDArray) -> None:
        self.shape = root.shape
        self._root = root
        self.arrays: list[DeviceNDArray] = []
        self.numbers: list[Any] = []
        self.nodes: list[Node] = []  # in the order of their steps
        self._places: dict[int, tuple[str, int]] = {}
        self._steps: list[tuple[Node, list[tuple[str, int]]]] = []
        self._visit(root)

    def _visit(self, value: Any) -> tuple[str, int]:
        if type(value) is Node and value.result is not None:
            value = value.result
        found = self._places.get(id(value))
        if found is not None:
            return found
        if type(value) is Node:
            places = [self._visit(operand) for operand in value.operands]
            found = "step", len(self._steps)
            self._steps.append((value, places))
            self.nodes.append(value)
        elif isinstance(value, DeviceNDArray):
            found = "array", len(self.arrays)
            self.arrays.append(value)
        else:
            found = "number", len(self.numbers)
            self.numbers.append(value)
        self._places[id(value)] = found
        return found

    def program(self, stored: list[Node], kinds: list[np.dtype[Any]]) -> Program:
        """The program that stores these nodes to arrays of these dtypes."""
        first = {"array": 0, "number": len(self.arrays), "step": len(self.arrays) + len(self.numbers)}
        return Program(
            tuple(a.dtype for a in self.arrays),
            tuple(n.dtype for n in self.numbers),
            tuple(
                (node.name, tuple(first[kind] + at for kind, at in places), node.inputs, node.dtype)
                for node, places in self._steps
            ),
            tuple((self._register(node, first), kind) for node, kind in zip(stored, kinds, strict=True)),
        )

    def of_root(self, kind: np.dtype[Any]) -> Program:
        """The program that computes the root, as a number of a dtype."""
        root: Any = self._root
        return self.program([root], [kind])

    def _register(self, node: Node, first: dict[str, int]) -> int:
        kind, at = self._places[id(node)]
        return first[kind] + at
