"""Text that host programs in C and C++ have in common: sizes and numbers as expressions, and what arguments mean."""

from __future__ import annotations

import math
from typing import Any

from portagpu.dtypes import Kind
from portagpu.exporting.arguments import CArgument, HostArray, HostNumber, Passed
from portagpu.exporting.export import Export


def value_of(number: HostNumber, size: str, count: int) -> tuple[str, ...]:
    """A number's value, of a complex one both parts; ``size`` is the arrays' size, as text, and ``count``.

    Integers that nobody says are the size, as far as they hold it, others a half.
    """
    value: Any = number.value
    if number.dtype.is_complex:
        pair = complex(0.5 if value is None else value)
        return _real(pair.real), _real(pair.imag)
    if number.dtype.is_inexact:
        return (_real(float(0.5 if value is None else value)),)
    if number.dtype.kind is Kind.BOOL:
        return (str(int(value is not False)),)
    if value is None and count <= number.dtype.limits[1]:
        return (size,)
    return (_whole(number.dtype.limits[1] if value is None else value),)


def _whole(value: int) -> str:
    """A literal in C, where the least number of 64 bits is no literal."""
    if value == -(2**63):
        return f"({value + 1} - 1)"
    return f"{value}{'u' if value >= 2**63 else ''}"


def _real(value: float) -> str:
    """A literal in C."""
    if math.isnan(value):
        return "NAN"
    return repr(value) if math.isfinite(value) else "INFINITY" if value > 0 else "-INFINITY"


def blocks(export: Export) -> tuple[str, ...]:
    """Threads of the grid by axis: those that cover the first array, the last axis by x."""
    first = export.arrays[0] if export.arrays else None
    found = []
    for axis in range(export.axes):
        extent = f"{first.name}_shape[{first.ndim - 1 - axis}]" if first is not None and axis < first.ndim else "1"
        if first is not None and axis == export.axes - 1:  # what has no axis of its own goes along the last one
            extent = " * ".join(f"{first.name}_shape[{n}]" for n in range(first.ndim - axis)) or "1"
        found.append(extent)
    return tuple(found)


def counted(argument: CArgument) -> str:
    """A shape, stride or offset as an expression."""
    if argument.passed is Passed.OFFSET:
        return "0"
    array = argument.argument
    assert isinstance(array, HostArray)
    if argument.passed is Passed.SHAPE:
        return f"{array.name}_shape[{argument.axis}]"
    inner = range(argument.axis) if array.is_fortran else range(argument.axis + 1, array.ndim)
    factors = [f"{array.name}_shape[{n}]" for n in inner]
    if array.itemsize != argument.unit:
        factors.append(str(array.itemsize // argument.unit))
    return " * ".join(factors) or "1"


def meaning(argument: CArgument) -> str:
    """A sentence about a parameter."""
    name = "" if argument.argument is None else argument.argument.name
    match argument.passed:
        case Passed.BUFFER:
            return f"memory of {name}"
        case Passed.SHAPE:
            return f"elements of {name} along axis {argument.axis}"
        case Passed.STRIDE:
            return f"stride of {name} along axis {argument.axis}, in units of {_bytes(argument.unit)}"
        case Passed.OFFSET:
            return f"where {name} starts in its memory, in units of {_bytes(argument.unit)}"
        case Passed.NUMBER:
            return name
        case _:
            words: str = argument.passed.value
            return words


def faults(export: Export) -> tuple[str, ...]:
    """What a program says of the kernel's exceptions, by number."""
    return tuple(f"{f.kind.__name__} in {f.function}, line {f.span.line}" for f in export.kernel_source.faults)


def _bytes(count: int) -> str:
    return "1 byte" if count == 1 else f"{count} bytes"
