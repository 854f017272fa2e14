"""Arguments of an exported kernel: what a host program makes for each, and what it passes for each C parameter."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any

from portagpu.dtypes import DType
from portagpu.errors import ArgumentCountError, UnsupportedError, did_you_mean
from portagpu.exporting.numbers import as_held
from portagpu.ir.program import Parameter, ParameterRole
from portagpu.ir.types import ArgumentType, ArrayType, Layout, Pointer, Scalar, TupleType
from portagpu.types.record_layout import Record

Path = tuple[int, ...]
_OWN = ("raised", "float16", "bfloat16")  # beginnings of names that host programs have


@dataclass(frozen=True, slots=True, kw_only=True)
class HostArray:
    """An array argument, dense in memory. ``name`` is an identifier in C."""

    name: str
    path: Path
    element: DType | Record
    ndim: int
    is_fortran: bool

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.element.itemsize if isinstance(self.element, Record) else self.element.size


@dataclass(frozen=True, slots=True, kw_only=True)
class HostNumber:
    """A number, and its value: None is the size of the arrays."""

    name: str
    path: Path
    dtype: DType
    value: Any


class Passed(enum.Enum):
    """What a C parameter gets."""

    BUFFER = "an array's memory"
    SHAPE = "elements along an axis"
    STRIDE = "from one element to the next along an axis"
    OFFSET = "where an array starts in its memory"
    NUMBER = "a number"
    SHARED = "shared memory"
    SHARED_BYTES = "bytes of shared memory"
    FAULT = "the record of an exception"


@dataclass(frozen=True, slots=True, kw_only=True)
class CArgument:
    """What a C parameter gets. Strides are counted in ``unit`` bytes. ``dtype``: of a number's C type."""

    passed: Passed
    parameter: str
    argument: HostArray | HostNumber | None = None
    axis: int = 0
    unit: int = 1
    dtype: DType | None = None


def arguments_of(
    kernel: str, names: Sequence[str], types: Sequence[ArgumentType], values: Mapping[str, Any]
) -> tuple[HostArray | HostNumber, ...]:
    """Arrays and numbers among a kernel's arguments; a tuple's items are arguments of their own.

    ``values``: of numbers, by name. Raises `ArgumentCountError` for a name that is no number of the kernel,
    `ArgumentTypeError` for a value that is none.
    """
    found = tuple(_found(kernel, names, types, values))
    known = [name for name, argument in found if isinstance(argument, HostNumber)]
    for name in values:
        if name not in known:
            hint = f"{did_you_mean(name, known)}its numbers are {', '.join(known) or 'none'}"
            raise ArgumentCountError(f"`{kernel}` has no number called {name}", hint=hint)
    return tuple(_distinct(argument for _, argument in found))


def _found(
    kernel: str, names: Sequence[str], types: Sequence[ArgumentType], values: Mapping[str, Any], before: Path = ()
) -> Iterator[tuple[str, HostArray | HostNumber]]:
    """With the names by which users know them."""
    for index, (name, kind) in enumerate(zip(names, types, strict=True)):
        path = (*before, index)
        plain = name if name.isascii() else f"argument_{index}"
        if isinstance(kind, ArrayType):
            element = kind.element if isinstance(kind.element, Record) else kind.element.dtype
            is_fortran = kind.layout is Layout.F
            yield name, HostArray(name=plain, path=path, element=element, ndim=kind.ndim, is_fortran=is_fortran)
        elif isinstance(kind, Scalar):
            value = as_held(kernel, name, kind.dtype, values[name]) if name in values else None
            yield name, HostNumber(name=plain, path=path, dtype=kind.dtype, value=value)
        elif isinstance(kind, TupleType):
            fields = kind.fields or tuple(map(str, range(len(kind.items))))
            yield from _found(kernel, [f"{plain}_{field}" for field in fields], kind.items, values, path)


def _distinct(arguments: Iterable[HostArray | HostNumber]) -> Iterator[HostArray | HostNumber]:
    """With names of their own, which are not those of the host program either."""
    taken = set(_OWN)
    for argument in arguments:
        name = next(n for n in chain([argument.name], (f"{argument.name}_{k}" for k in count(2))) if n not in taken)
        taken.add(name)
        yield argument if name == argument.name else replace(argument, name=name)


def c_arguments_of(
    parameters: Sequence[Parameter], arguments: Mapping[Path, HostArray | HostNumber]
) -> tuple[CArgument, ...]:
    """What each C parameter gets. Raises `UnsupportedError` for what only PortaGPU's own runtime can pass."""
    return tuple(_passed(p, arguments.get(p.path)) for p in parameters)


def _passed(p: Parameter, argument: HostArray | HostNumber | None) -> CArgument:
    is_memory = isinstance(p.type, Pointer)
    passed = {
        ParameterRole.POINTER: Passed.BUFFER,
        ParameterRole.SHAPE: Passed.SHAPE,
        ParameterRole.STRIDE: Passed.STRIDE,
        ParameterRole.OFFSET: Passed.OFFSET,
        ParameterRole.SCALAR: Passed.NUMBER,
        ParameterRole.DYNAMIC_SHARED: Passed.SHARED if is_memory else Passed.SHARED_BYTES,
        ParameterRole.FAULT: Passed.FAULT,
    }.get(p.role)
    if passed is None:
        raise UnsupportedError(f"no host program can pass {p.role.value}", hint="launch the kernel from Python")
    itemsize = argument.itemsize if isinstance(argument, HostArray) else 1
    dtype = p.type.dtype if isinstance(p.type, Scalar) else None
    return CArgument(
        passed=passed, parameter=p.name, argument=argument, axis=p.axis, unit=p.unit or itemsize, dtype=dtype
    )
