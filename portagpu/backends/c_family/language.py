"""What the languages of the family say differently about values and memory: pointers, vectors, conversions, bits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal

from portagpu.backends.c_family.c_types import c_type, storage
from portagpu.ir.types import Pointer, Space, Type, Vector

INLINE = "static inline"
Rounding = Literal["rte", "rtn", "rtp", "rtz"]
"""To nearest, down, up, to zero, by the names that the languages share."""


class Language(ABC):
    """Text of values and memory. Types are given by their names (`c_types`), operands as text.

    A text that a method gives is a postfix or primary expression, unless the method says otherwise.
    """

    restrict: str
    """The qualifier of a pointer to what nothing else points to."""
    launch_number: str
    """A number from 1 to 3 that compilers cannot know: the launch tells it."""
    no_contraction: str
    """The pragma that keeps products and sums apart, of a text or function; empty where they always are."""
    empty_struct: str
    """An initialiser of zeros."""
    printf: str
    """The function that prints."""
    no_parameters: str
    """What a function without parameters has in their place."""
    first_line: str = ""
    """What the body of a function that the program calls begins with, or nothing."""
    inline: str = INLINE
    """How a function that the program calls is declared."""

    @property
    def always_inline(self) -> str:
        """The same, where it becomes a part of whatever calls it: what a program asks for, and what gets shared arrays.

        LLVM puts an array that a function gets at all its calls in place of the parameter, and some CPU drivers give
        each block its own array only where the kernel itself names it: blocks that run at the same time would share
        one.
        """
        return f"__attribute__((always_inline)) {self.inline}"

    @abstractmethod
    def space(self, space: Space) -> str:
        """The qualifier of an address space with a blank behind it; empty where the language has none."""

    @abstractmethod
    def bits_as(self, kind: str, text: str) -> str:
        """The bits of a value as another type of the same size."""

    def number_as(self, kind: str, source: str, text: str) -> str:
        """A cast of a number of the type ``source``, a unary expression, as is ``text``."""
        return f"({kind}){text}"

    @abstractmethod
    def converted(self, kind: str, text: str, *, rounding: Rounding | None = None) -> str:
        """A vector or number as another type, element by element, rounded as C does or in a direction."""

    @abstractmethod
    def vector(self, kind: str, items: Sequence[str]) -> str:
        """A vector of several items."""

    @abstractmethod
    def lane(self, text: str, lane: int) -> str:
        """An element of a vector."""

    @abstractmethod
    def part(self, text: str, is_real: bool) -> str:
        """The real or imaginary part of a complex number."""

    @abstractmethod
    def chosen(self, condition: str, yes: str, no: str, *, lanes: str) -> str:
        """A ternary expression; with ``lanes``, of a vector and element by element."""

    @abstractmethod
    def vector_load(self, kind: Vector, address: str) -> str:
        """A vector from memory that is aligned as its elements only."""

    @abstractmethod
    def vector_store(self, kind: Vector, value: str, address: str) -> str:
        """The statement that puts a vector to memory that is aligned as its elements only."""

    @abstractmethod
    def packed_load(self, kind: str, size: int, address: str) -> str:
        """A value of so many bytes from memory that is not aligned, to which ``address`` points as bytes."""

    @abstractmethod
    def packed_store(self, value: str, kind: str, size: int, address: str) -> str:
        """The statement that puts a value to memory that is not aligned."""

    @abstractmethod
    def local_id(self, axis: int) -> str:
        """A thread's place in its block, of an unsigned type."""

    @abstractmethod
    def local_size(self, axis: int) -> str:
        """Threads of the block."""

    @abstractmethod
    def group_id(self, axis: int) -> str:
        """The block's place in the grid."""

    @abstractmethod
    def group_count(self, axis: int) -> str:
        """Blocks of the grid."""

    @abstractmethod
    def global_id(self, axis: int) -> str:
        """A thread's place in the grid."""

    @abstractmethod
    def global_size(self, axis: int) -> str:
        """Threads of the grid."""

    @property
    def typedefs(self) -> tuple[str, ...]:
        """Declarations of types that the printed text names."""
        return ()

    def pointer(self, kind: str, space: Space, *, readonly: bool = False) -> str:
        """A pointer's type."""
        return f"{self.space(space)}{'const ' if readonly else ''}{kind}*"

    def type(self, kind: Type) -> str:
        """Name of a type; of a pointer with its address space and qualifiers."""
        if not isinstance(kind, Pointer):
            return c_type(kind)
        readonly = kind.readonly and kind.space is not Space.CONSTANT
        restrict = f" {self.restrict}" if kind.restrict else ""
        return f"{self.pointer(storage(kind.element), kind.space, readonly=readonly)}{restrict}"
