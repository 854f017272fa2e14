"""Functions and programs: bodies of IR with their parameters and arrays."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from portagpu.ir.nodes import Stmt
from portagpu.ir.types import Element, Scalar, Space, Struct, Type
from portagpu.source import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryArray:
    """A shared or local array of static size; ``shape`` names the scalars it may be split into."""

    name: str
    element: Element
    shape: tuple[int, ...]
    space: Space
    span: Span

    @property
    def size(self) -> int:
        """Number of elements."""
        total = 1
        for extent in self.shape:
            total *= extent
        return total


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantArray:
    """A read-only array known at compile time; ``data`` are the elements in C order."""

    name: str
    element: Scalar
    data: tuple[int | float | bool, ...]
    span: Span
    aligned: bool = False  # bytes that are read as wider numbers


class ParameterRole(Enum):
    """What a C parameter of a kernel carries."""

    POINTER = "pointer"
    OFFSET = "offset"
    SHAPE = "shape"
    STRIDE = "stride"
    SCALAR = "scalar"
    DYNAMIC_SHARED = "dynamic shared memory"
    SHARED = "shared array of the caller"
    GRID_CELLS = "cells of the grid's barrier"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A C parameter. ``path`` leads to the Python argument: its index, then those in tuples; ``axis``: the axis.

    Strides and offsets are counted in ``unit`` bytes; 0 stands for the argument's elements.
    """

    name: str
    type: Type
    role: ParameterRole
    path: tuple[int, ...] = ()
    axis: int = 0
    unit: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A kernel or device function in IR."""

    name: str
    parameters: tuple[Parameter, ...]
    result: Type
    body: tuple[Stmt, ...]
    locals: tuple[MemoryArray, ...]
    span: Span
    effect: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A kernel with everything it needs; device functions come callee first."""

    kernel: Function
    functions: tuple[Function, ...]
    shared: tuple[MemoryArray, ...]
    constants: tuple[ConstantArray, ...]
    structs: tuple[Struct, ...]
    wide_index: bool  # 64-bit subscripts
    block_dim: tuple[int, int, int] | None
    dynamic_shared: bool
    cooperative: bool = False  # its blocks wait for each other
