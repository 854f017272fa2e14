"""Functions and programs: bodies of IR with their parameters and arrays."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from portagpu.ir.types import LONG, Element, Pointer, Scalar, Space, Struct, Type
from portagpu.source import Span

if TYPE_CHECKING:
    from portagpu.ir.nodes import Stmt


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryArray:
    """A shared or local array of static size; ``shape`` names the scalars it may be split into.

    ``alignment`` in bytes is what the program asked for; 0 leaves it to code generation.
    """

    name: str
    element: Element
    shape: tuple[int, ...]
    space: Space
    span: Span
    alignment: int = 0

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
    """What a parameter of a kernel carries."""

    POINTER = "pointer"
    OFFSET = "offset"
    SHAPE = "shape"
    STRIDE = "stride"
    SCALAR = "scalar"
    DYNAMIC_SHARED = "dynamic shared memory"
    SHARED = "shared array of the caller"
    GRID_CELLS = "cells of the grid's barrier"
    FAULT = "record of the first exception"
    COUNTS = "counts of a launch's work"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of a function.

    ``path`` leads to the Python argument: its index, then those in tuples; ``axis``: the axis. Strides and offsets
    are counted in ``unit`` bytes; 0 stands for the argument's elements.
    """

    name: str
    type: Type
    role: ParameterRole
    path: tuple[int, ...] = ()
    axis: int = 0
    unit: int = 0


@dataclass(frozen=True, slots=True)
class Recorded:
    """An argument of an exception that is known at run time: the n-th value of its record."""

    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelException:
    """An exception that a thread may raise; its number in the record is its position in `Program.faults`, plus 1.

    ``template`` is a text with ``{0}``, ``{1}`` ... for the recorded values; without one, ``args`` are the
    exception's arguments. ``values`` are the types under which the values were recorded.
    """

    kind: type[BaseException]
    template: str | None
    args: tuple[object, ...]
    values: tuple[Scalar, ...]
    function: str
    span: Span


@dataclass(frozen=True, slots=True)
class Remark:
    """What looks wrong in a program that compiles, and where; ``needs_width``: threads along x that it takes."""

    text: str
    span: Span
    needs_width: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What wastes time, in words, and where."""

    text: str
    span: Span
    needs_width: int  # threads along x that a block must have for it to matter
    only_slow_double: bool = False  # matters where float64 is much slower than float32


# the record of a launch: the fault's number, the thread's and the block's x, y, z, then the recorded values
FAULT_RECORD = Pointer(LONG, Space.GLOBAL)
FAULT_VALUES = 7  # where the values begin
MAX_FAULT_VALUES = 32


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
    is_inlined: bool = False  # the compiler behind is told to make it a part of its callers


@dataclass(frozen=True, slots=True)
class GridShape:
    """What a grid that becomes one work-group is made of: blocks, threads of each, bytes of dynamic shared memory.

    Code that was compiled for one grid is kept under it. What the driver is asked to launch is a
    `portagpu.runtime.programs.launch_shape.LaunchShape`, whose ``fused`` is told this one.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.block[0] * self.block[1] * self.block[2]


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
    cluster: tuple[int, int, int] | None = None  # blocks that run together, whose shared memory they reach
    cooperative: bool = False  # its blocks wait for each other
    fused: GridShape | None = None  # the grid that became one work-group
    faults: tuple[KernelException, ...] = ()
    remarks: tuple[Remark, ...] = ()
    checked: bool = False  # it asks whether subscripts are right, so that they may break what index arithmetic promises
    halves: bool = False  # float16 occurs
    fma: bool = True  # a product and a sum may be rounded once, as one
    retyped: bool = False  # it views an array under another dtype
    library: bool = False  # it is the package's own, of which users need no advice
    counted: tuple[tuple[str, str], ...] = ()  # what its threads count, by the place among the counts
    granule: int = 0  # bytes for which there is a mark of what was touched
