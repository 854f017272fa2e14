"""A language of the family as a whole: what the printer, the emitter and the program's text ask of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from portagpu.backends.c_family.analysis import Facts
from portagpu.backends.c_family.helpers import HelperSet
from portagpu.backends.c_family.language import Language
from portagpu.backends.c_family.line import Line
from portagpu.backends.c_family.registry import Lowering, Printing
from portagpu.device.capabilities import Capabilities
from portagpu.ir.nodes import Instruction
from portagpu.ir.program import Parameter, Program
from portagpu.ir.types import Type


class KernelPrinting(Printing, Protocol):
    """What the text of a kernel's head sees of its printer."""

    used: set[str]

    def name(self, name: str, kind: Type) -> str:
        """The identifier of a variable or array."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelParts:
    """What a kernel is made of: its printer, its parameters with their text, and its printed body.

    ``parameters`` are those that it uses. ``subgroup_size`` is what its subgroups must have; with
    ``static_dynamic_shared`` bytes, dynamic shared memory becomes a static array.
    """

    program: Program
    printer: KernelPrinting
    facts: Facts
    parameters: tuple[Parameter, ...]
    parameter_text: Callable[[Parameter], str]
    body: list[Line]
    is_unoptimised: bool  # threads choose between arrays, which the compiler's optimiser gets wrong
    is_unvectorised: bool  # compilers for CPUs must not run its threads in lanes of vectors
    static_dynamic_shared: int
    subgroup_size: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelText:
    """The lines of a kernel, and the parameters that remain."""

    lines: list[Line]
    parameters: tuple[Parameter, ...]


class HelperMaker(Protocol):
    """Makes the collection of a program's helpers; ``functions``: C names of its functions."""

    def __call__(self, caps: Capabilities, functions: dict[str, str], *, has_barriers: bool, fuses: bool) -> HelperSet:
        """A new collection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """A language of the family.

    ``lowerings`` says operations, ``instruction`` the instructions of one kind of hardware; ``kernel`` makes a kernel's
    head and shared memory, and ``render`` the text of a template.
    """

    language: Language
    lowerings: Mapping[str, Lowering]
    helpers: HelperMaker
    instruction: Callable[[Printing, Instruction], str]
    kernel: Callable[[KernelParts], KernelText]
    render: Callable[[str, object], str]
    has_vector_constants: bool  # a program's arrays may be initialised by vectors
