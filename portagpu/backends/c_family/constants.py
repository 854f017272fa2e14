"""A program's constant arrays and structs: views of them for the template of the program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from portagpu.backends.c_family.c_types import c_type, storage
from portagpu.backends.c_family.helpers import HelperSet
from portagpu.backends.c_family.language import Language
from portagpu.backends.c_family.names import identifier
from portagpu.backends.c_family.numbers.literals import literal
from portagpu.backends.c_family.numbers.negations import has_hidden_constants
from portagpu.dtypes import BOOL
from portagpu.ir.nodes import Constant
from portagpu.ir.program import ConstantArray
from portagpu.ir.types import Scalar, Struct


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantView:
    """A program-scope constant array."""

    type: str
    bits: str  # unsigned type in which the values are written, where C has no constants for them
    name: str
    size: int  # of the type in which they are written
    values: str
    aligned: bool
    offset: str  # zero, where compilers must not see which element is loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class StructView:
    """The struct a device function returns."""

    name: str
    members: tuple[str, ...]


def struct_view(struct: Struct, language: Language) -> StructView:
    """The view of a struct."""
    return StructView(
        name=c_type(struct), members=tuple(f"{language.type(k)} item{n}" for n, k in enumerate(struct.items))
    )


def constant_view(array: ConstantArray, helpers: HelperSet, *, as_vectors: bool) -> ConstantView:
    """The view of a constant array. ``as_vectors``: complex elements are written as vectors, else as their bits."""
    dtype = array.element.dtype
    # no driver's INFINITY and NAN are constants to initialise memory with, once they are converted
    plain = not dtype.is_inexact or bool(np.isfinite(np.array(array.data, np.complex128)).all())
    plain = plain and (as_vectors or not dtype.is_complex)
    bits, values = ("", _values(array, helpers.language)) if plain else _words(array)
    hides = helpers.hides_negations and has_hidden_constants(array)
    return ConstantView(
        type=storage(array.element),
        bits=bits,
        name=identifier(array.name),
        size=max(1, len(values)),
        values=", ".join(values) or "0",
        aligned=array.aligned or not plain,
        offset=f"({helpers.language.launch_number} >> 3)" if hides else "",
    )


def _complex_literal(value: complex, array: ConstantArray, language: Language) -> str:
    lane = Scalar(array.element.dtype.real)
    parts = [literal(Constant(part, lane, span=array.span))[0] for part in (value.real, value.imag)]
    return language.vector(c_type(array.element), parts)


def _values(array: ConstantArray, language: Language) -> list[str]:
    values = []
    for value in array.data:
        if array.element.dtype is BOOL:
            values.append("1" if value else "0")
        elif array.element.dtype.is_complex:
            values.append(_complex_literal(value, array, language))
        else:
            values.append(literal(Constant(value, array.element, span=array.span))[0])
    return values


def _words(array: ConstantArray) -> tuple[str, list[str]]:
    """The bits of inexact numbers, and the type of a word of them."""
    dtype = array.element.dtype
    size = (dtype.real if dtype.is_complex else dtype).size
    with np.errstate(over="ignore"):
        bits = np.array(array.data, dtype.numpy).view(f"u{size}")
    return {2: "ushort", 4: "uint", 8: "ulong"}[size], [f"0x{int(word):0{2 * size}x}" for word in bits]
