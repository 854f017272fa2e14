"""One specialisation of a kernel: types, generated code, the driver's statistics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from portagpu.backends.source import KernelSource
from portagpu.dispatch.arguments.type_names import public_type
from portagpu.errors import unknown_attribute
from portagpu.ir.types import ArgumentType, ArrayType
from portagpu.runtime.arrays.checks import count
from portagpu.runtime.programs.kernel_statistics import Figures, figures_of
from portagpu.runtime.programs.launch import CompiledKernel
from portagpu.runtime.programs.launch_shape import extent
from portagpu.types import Type

Key = tuple[Any, ...]


class SourcesBySignature(dict[Key, str]):
    """Generated text of a kernel by signature; printing shows the text."""

    def __str__(self) -> str:
        return "\n".join(f"// ---- {shown(key)}\n{text}" for key, text in self.items())


def shown(key: Key) -> str:
    """A signature as text."""
    return f"({', '.join(map(str, key))})"


@dataclass(frozen=True, kw_only=True, eq=False)
class Overload:
    """One specialisation."""

    signature: tuple[ArgumentType, ...]
    kernel_source: KernelSource
    compiled: CompiledKernel
    build_options: tuple[str, ...]
    wide: bool  # 64-bit subscripts
    shared: int  # bytes of dynamic shared memory that made it a specialisation of its own

    @cached_property
    def types(self) -> tuple[Type, ...]:
        """The types of the arguments."""
        return tuple(public_type(t) for t in self.signature)

    @cached_property
    def figures(self) -> Figures:
        """What the driver tells about it."""
        return figures_of(self.compiled, self.build_options)

    def __getattr__(self, name: str) -> Any:
        """What the driver tells, under its own name: ``regs_per_thread``, ``shared_mem_per_block``, ..."""
        if name in Figures.__dataclass_fields__:
            return getattr(self.figures, name)
        known = (*dir(type(self)), *self.__dict__, *Figures.__dataclass_fields__)
        raise unknown_attribute("a specialisation", name, self, known)

    @property
    def argument_types(self) -> tuple[Type, ...]:
        """The types of the arguments."""
        return self.types

    @property
    def variant(self) -> str:
        """What tells it from specialisations for the same types."""
        arrays = [t for t in self.signature if isinstance(t, ArrayType)]
        facts = {
            "64-bit subscripts": self.wide,
            f"{self.shared} bytes of dynamic shared memory": self.shared > 0,
            "arrays that overlap": any(a.alias for a in arrays),
            "arrays that start inside a buffer": any(a.offset for a in arrays),
        }
        return ", ".join([f"on {self.compiled.context.device.name}", *(text for text, holds in facts.items() if holds)])

    @property
    def cooperative(self) -> bool:
        """Whether the kernel's blocks wait for each other (``cuda.cg.this_grid()``)."""
        return self.kernel_source.cooperative

    def max_cooperative_grid_blocks(self, blockdim: int | tuple[int, ...], dynsmemsize: int = 0) -> int:
        """Blocks of the given size that a launch may have whose threads all wait for each other."""
        x, y, z = extent(blockdim, "blockdim")
        return self.compiled.cooperative_blocks(
            x * y * z, count(dynsmemsize, "dynamic shared memory is a number of bytes")
        )

    def __str__(self) -> str:
        return shown(self.types)


def keyed(overloads: Iterable[Overload]) -> dict[Key, Overload]:
    """Specialisations by their types; those for types that are taken have what tells them apart as a last item."""
    found: dict[Key, Overload] = {}
    for overload in overloads:
        key: Key = overload.types
        count = 1
        while key in found:
            count += 1
            key = (*overload.types, overload.variant if count == 2 else f"{overload.variant} ({count})")
        found[key] = overload
    return found
