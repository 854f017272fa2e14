"""SYCL C++'s text of values, memory and places of threads."""

from __future__ import annotations

from collections.abc import Sequence

from portagpu.backends.c_family.language import Language, Rounding
from portagpu.ir.types import Space, Vector

_DIGITS = "0123456789"
_FLOATS = ("half", "float", "double")
_SIGNED = ("char", "short", "int", "long")


class SyclCpp(Language):
    """SYCL 2020. Names of the library without a namespace are brought in by the program's `prelude`.

    Grids and blocks have three axes; the fastest one, which is the first in Python, is SYCL's last.
    """

    restrict = "__restrict"
    launch_number = "pg_launch_number()"
    no_contraction = ""  # a pragma of the whole text keeps products and sums apart
    empty_struct = "{}"
    no_parameters = ""
    printf = "syclexp::printf"

    def space(self, space: Space) -> str:
        """Nothing: pointers are generic, and compilers find out where they lead to."""
        return ""

    def bits_as(self, kind: str, text: str) -> str:
        """A bit cast."""
        return f"sycl::bit_cast<{kind}>({text})"

    def number_as(self, kind: str, source: str, text: str) -> str:
        """A cast; of doubles to halves by the compiler's own type, since SYCL's would round twice.

        Of a signed integer that the compiler finds to be a negated bool, DPC++ makes 1.0 where it is -1
        (docs/driver-quirks.md): integers get a zero of which it does not know.
        """
        if kind == "half" and source == "double":
            return f"sycl::bit_cast<half>((_Float16){text})"
        if kind in _FLOATS and source in _SIGNED:
            return f"({kind})({text} ^ ({source})({self.launch_number} >> 3))"
        return super().number_as(kind, source, text)

    def converted(self, kind: str, text: str, *, rounding: Rounding | None = None) -> str:
        """A call of `convert`, which vectors have, or a cast."""
        element = kind.rstrip(_DIGITS)
        if rounding is not None:
            return f"pg_rounded<{element}, sycl::rounding_mode::{rounding}>({text})"
        if element == kind:
            return f"{kind}({text})"
        # unless told, `convert` rounds floats to the nearest integers, which C does not
        mode = "" if element in _FLOATS else ", sycl::rounding_mode::rtz"
        return f"({text}).convert<{element}{mode}>()"

    def vector(self, kind: str, items: Sequence[str]) -> str:
        """A call of the constructor."""
        return f"{kind}({', '.join(items)})"

    def lane(self, text: str, lane: int) -> str:
        """A subscript."""
        return f"{text}[{lane}]"

    def part(self, text: str, is_real: bool) -> str:
        """The first or second element."""
        return f"{text}[{0 if is_real else 1}]"

    def chosen(self, condition: str, yes: str, no: str, *, lanes: str) -> str:
        """A ternary expression, or a call of select."""
        return f"select({no}, {yes}, {condition})" if lanes else f"{condition} ? {yes} : {no}"

    def vector_load(self, kind: Vector, address: str) -> str:
        """A call of the prelude's."""
        return f"pg_load<{self.type(kind)}>({address})" if kind.lanes > 1 else f"*({address})"

    def vector_store(self, kind: Vector, value: str, address: str) -> str:
        """A call of the prelude's."""
        return f"pg_store({value}, {address});" if kind.lanes > 1 else f"*({address}) = {value};"

    def packed_load(self, kind: str, size: int, address: str) -> str:
        """A call of the prelude's."""
        return f"pg_unpack<{kind}>({address})"

    def packed_store(self, value: str, kind: str, size: int, address: str) -> str:
        """A call of the prelude's."""
        return f"pg_pack<{kind}>({value}, {address});"

    def pointer(self, kind: str, space: Space, *, readonly: bool = False) -> str:
        """A pointer's type; to constant memory it is one to what is const."""
        return super().pointer(kind, space, readonly=readonly or space is Space.CONSTANT)

    def local_id(self, axis: int) -> str:
        """A work-item's place in its work-group."""
        return f"pg_item().get_local_id({2 - axis})"

    def local_size(self, axis: int) -> str:
        """Work-items of the work-group."""
        return f"pg_item().get_local_range({2 - axis})"

    def group_id(self, axis: int) -> str:
        """The work-group's place."""
        return f"pg_item().get_group({2 - axis})"

    def group_count(self, axis: int) -> str:
        """Work-groups."""
        return f"pg_item().get_group_range({2 - axis})"

    def global_id(self, axis: int) -> str:
        """A work-item's place."""
        return f"pg_item().get_global_id({2 - axis})"

    def global_size(self, axis: int) -> str:
        """Work-items."""
        return f"pg_item().get_global_range({2 - axis})"


class PlainSyclCpp(SyclCpp):
    """SYCL 2020 without extensions. Functions are members of a thread, which has its place: `plain_kernel.mako`.

    Where a header ends, no pragma makes arithmetic again what it was before; so each function has its own.
    """

    inline = "inline"
    first_line = "PG_EXACT"
