"""OpenCL C's text of values and memory."""

from __future__ import annotations

from collections.abc import Sequence

from portagpu.backends.c_family.c_types import SPACE_WORDS
from portagpu.backends.c_family.language import Language, Rounding
from portagpu.ir.types import Space, Vector

_LANES = "0123456789abcdef"


def qualifier(space: Space) -> str:
    """The qualifier of an address space: that of a cluster has addresses of shared memory."""
    return f"__{SPACE_WORDS[Space.SHARED if space is Space.CLUSTER else space]}"


class OpenCLC(Language):
    """OpenCL C 1.2."""

    restrict = "restrict"
    launch_number = "get_work_dim()"
    no_contraction = "#pragma OPENCL FP_CONTRACT OFF"
    empty_struct = "{ 0 }"
    no_parameters = "void"
    printf = "printf"

    def space(self, space: Space) -> str:
        """The qualifier with a blank."""
        return f"{qualifier(space)} "

    def bits_as(self, kind: str, text: str) -> str:
        """A call of ``as_`` and the type's name."""
        return f"as_{kind}({text})"

    def converted(self, kind: str, text: str, *, rounding: Rounding | None = None) -> str:
        """A call of ``convert_`` and the type's name."""
        return f"convert_{kind}{'' if rounding is None else f'_{rounding}'}({text})"

    def vector(self, kind: str, items: Sequence[str]) -> str:
        """A vector literal."""
        return f"({kind})({', '.join(items)})"

    def lane(self, text: str, lane: int) -> str:
        """A component by its number."""
        return f"{text}.s{_LANES[lane]}"

    def part(self, text: str, is_real: bool) -> str:
        """The first or second component."""
        return f"{text}.{'x' if is_real else 'y'}"

    def chosen(self, condition: str, yes: str, no: str, *, lanes: str) -> str:
        """A ternary expression, which in OpenCL C is one of vectors, too."""
        return f"{condition} ? {yes} : {no}"

    def vector_load(self, kind: Vector, address: str) -> str:
        """A call of vload."""
        return f"vload{kind.lanes}(0, {address})"

    def vector_store(self, kind: Vector, value: str, address: str) -> str:
        """A call of vstore."""
        return f"vstore{kind.lanes}({value}, 0, {address});"

    def packed_load(self, kind: str, size: int, address: str) -> str:
        """The bits of as many bytes."""
        return f"as_{kind}(vload{size}(0, {address}))"

    def packed_store(self, value: str, kind: str, size: int, address: str) -> str:
        """As many bytes."""
        return f"vstore{size}(as_uchar{size}({value}), 0, {address});"

    def local_id(self, axis: int) -> str:
        """A thread's place in its work-group."""
        return f"get_local_id({axis})"

    def local_size(self, axis: int) -> str:
        """Work-items of the work-group."""
        return f"get_local_size({axis})"

    def group_id(self, axis: int) -> str:
        """The work-group's place."""
        return f"get_group_id({axis})"

    def group_count(self, axis: int) -> str:
        """Work-groups."""
        return f"get_num_groups({axis})"

    def global_id(self, axis: int) -> str:
        """A work-item's place."""
        return f"get_global_id({axis})"

    def global_size(self, axis: int) -> str:
        """Work-items."""
        return f"get_global_size({axis})"


class UntypedMemory(OpenCLC):
    """OpenCL C of one program that accesses memory under several types: its pointers are to types that may alias."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    @property
    def typedefs(self) -> tuple[str, ...]:
        """One for each type that a pointer leads to."""
        return tuple(f"typedef {kind} {name} __attribute__((may_alias));" for kind, name in self._names.items())

    def pointer(self, kind: str, space: Space, *, readonly: bool = False) -> str:
        """A pointer to the type's typedef, which compilers take for one that may lead to any element."""
        if kind in ("char", "uchar"):  # bytes may be part of anything
            return super().pointer(kind, space, readonly=readonly)
        name = self._names.setdefault(kind, f"pg_any_{kind}")
        return super().pointer(name, space, readonly=readonly)
