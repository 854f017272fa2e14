"""Helper functions that a program needs: each is a template definition rendered for its types."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from portagpu.backends.c_family.c_types import SPACE_WORDS
from portagpu.backends.c_family.language import Language
from portagpu.device.capabilities import Capabilities
from portagpu.dtypes import DType
from portagpu.ir.types import Pointer, Scalar, Space, Struct, Type, Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class HelperView:
    """What a helper's template sees: its C name and types. A language may add to it."""

    language: Language
    file: str  # of templates
    template: str  # the definition in it
    variant: str  # what the definition may be asked for
    name: str
    inline: str  # how it is declared, where it may take a pointer to shared memory
    type: str  # C type it works on
    lanes: str  # how many, of a vector
    part: str  # type of the real and imaginary parts of a complex one
    space: str  # address space qualifier, or empty
    space_word: str  # the address space in names, or empty
    bits: str  # signed integer type of the same size
    unsigned: str  # unsigned integer type of the same size
    width: int  # bits of the type
    is_signed: bool
    is_float: bool
    contract: str  # pragma at the start of a function of floats, or empty
    fuses: bool  # whether products and sums may be rounded once
    local: str  # qualifier of shared memory with a blank behind it, or empty
    barrier: str  # statement: a barrier of the block for all memory
    local_barrier: str  # the same for shared memory alone


_UNSIGNED = {
    "char": "uchar",
    "short": "ushort",
    "int": "uint",
    "long": "ulong",
    "float": "uint",
    "double": "ulong",
    "half": "ushort",
}
_BITS = {
    "char": "char",
    "short": "short",
    "int": "int",
    "long": "long",
    "float": "int",
    "double": "long",
    "half": "short",
}
_WIDTH = {"char": 8, "short": 16, "half": 16, "int": 32, "float": 32, "long": 64, "double": 64}


class HelperSet(ABC):
    """Collects the helpers, extensions and device functions that printed code refers to."""

    def __init__(
        self,
        language: Language,
        caps: Capabilities,
        function_names: dict[str, str],
        *,
        has_barriers: bool = False,
        fuses: bool = True,
    ) -> None:
        self.language = language
        self.caps = caps
        self.has_barriers = has_barriers
        self.fuses = fuses
        self.hides_negations = has_barriers and not caps.keeps_negations
        self.hides_cases = has_barriers and not caps.takes_all_cases
        self._function_names = function_names
        self._views: dict[str, HelperView] = {}
        self.dtypes: set[DType] = set()
        self.extensions: dict[str, None] = {}
        self.declarations: dict[str, None] = {}  # of functions that a compiler has, and perhaps no header of it

    @abstractmethod
    def barrier(self) -> str:
        """A barrier of the block for all memory, without the semicolon."""

    @abstractmethod
    def local_barrier(self) -> str:
        """A barrier of the block for shared memory, without the semicolon."""

    @abstractmethod
    def view(self, common: HelperView) -> HelperView:
        """What the language's templates see of a helper."""

    def note_extensions_of_types(self) -> None:
        """Require the extensions that the types of the program need, where the language has such."""
        return

    def function_name(self, function: str) -> str:
        """C name of a device function."""
        return self._function_names[function]

    def use(self, file: str, template: str, c_type: str, space: Space | None = None, *, variant: str = "") -> str:
        """Require the helper of a definition in a file of templates, and return its C name."""
        word = "" if space is None else SPACE_WORDS[space]
        name = "_".join(p for p in ("pg", template, variant, c_type, word) if p)
        if name not in self._views:
            part = c_type.rstrip("0123456789")
            signed = part.removeprefix("u")
            common = HelperView(
                language=self.language,
                file=file,
                template=template,
                variant=variant,
                name=name,
                inline=self.language.always_inline if space in (None, Space.SHARED) else self.language.inline,
                type=c_type,
                lanes=c_type[len(part) :],
                part=part,
                space="" if space is None else self.language.space(space).rstrip(),
                space_word=word,
                bits=_BITS[signed],
                unsigned=_UNSIGNED[signed],
                width=_WIDTH[signed],
                is_signed=not c_type.startswith("u"),
                is_float=c_type in ("float", "double", "half"),
                contract=self.language.no_contraction if self.hides_negations else "",
                fuses=self.fuses,
                local=self.language.space(Space.SHARED),
                barrier=f"{self.barrier()};",
                local_barrier=f"{self.local_barrier()};",
            )
            self._views[name] = self.view(common)
        return name

    def hidden_case(self, text: str) -> str:
        """An integer for which another is tested: known at the launch alone where the driver needs that.

        A compiler that knows it may make a switch of tests for all values, which a driver takes for ways out of the
        kernel (docs/driver-quirks.md).
        """
        return f"({text} ^ (int)({self.language.launch_number} >> 3))" if self.hides_cases else text

    def note(self, kind: Type) -> None:
        """Note that a type occurs in the program."""
        if isinstance(kind, Pointer):
            kind = kind.element
        if isinstance(kind, Struct):
            for item in kind.items:
                self.note(item)
        elif isinstance(kind, Scalar | Vector):
            self.dtypes.add(kind.dtype)

    def extension(self, name: str) -> None:
        """Require an extension of the language, where the device has it."""
        if name in self.caps.extensions:
            self.extensions.setdefault(name)

    def declare(self, text: str) -> None:
        """Require a declaration."""
        self.declarations.setdefault(text)

    @property
    def views(self) -> tuple[HelperView, ...]:
        """The helpers in order of first use."""
        return tuple(self._views.values())
