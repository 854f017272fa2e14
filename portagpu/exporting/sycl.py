"""SYCL: ``KERNEL.hpp``, a header of SYCL 2020 alone, and ``KERNEL_main.cpp``, a program that launches its kernel."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from dataclasses import dataclass

from portagpu import dtypes
from portagpu.backends.c_family.rendering import render
from portagpu.backends.sycl.codegen.language import PlainSyclCpp
from portagpu.backends.sycl.codegen.prelude import plain_namespace
from portagpu.device.ideal_device import PORTABLE as IDEAL
from portagpu.dtypes import DType, Kind
from portagpu.exporting.arguments import CArgument, HostArray, HostNumber, Passed
from portagpu.exporting.export import Export
from portagpu.exporting.host_text import blocks, counted, faults, meaning, value_of
from portagpu.ir.program import FAULT_VALUES, MAX_FAULT_VALUES
from portagpu.ir.types import Pointer, Type
from portagpu.version import __version__

BACKEND = "sycl"
PORTABLE = dataclasses.replace(  # what SYCL 2020 has on every device, and its aspects fp16, fp64, atomic64, if used
    IDEAL,
    free_function_kernels=False,
    fp16=False,
    fp16_functions=False,
    correctly_rounded_divide_sqrt=False,
    subgroups=False,
    subgroup_size=0,
    subgroup_shuffle=False,
    required_subgroup_size=False,
    subgroup_sizes=(),
    subgroup_block_io=False,
    conditional_barriers=False,
    extensions=frozenset(),
    cooperative_launch=False,
    prefetch=False,
    cluster_size=1,
    register_aware_scheduling=False,
)
_TEMPLATES = "portagpu.exporting.templates"
_HOST_TYPES = {
    dtypes.BOOL: "unsigned char",
    dtypes.INT8: "signed char",
    dtypes.INT16: "short",
    dtypes.INT32: "int",
    dtypes.INT64: "long",
    dtypes.UINT8: "unsigned char",
    dtypes.UINT16: "unsigned short",
    dtypes.UINT32: "unsigned int",
    dtypes.UINT64: "unsigned long",
    dtypes.FLOAT16: "sycl::half",
    dtypes.BFLOAT16: "unsigned short",
    dtypes.FLOAT32: "float",
    dtypes.FLOAT64: "double",
}
_ASPECTS = {
    "fp16": re.compile(r"\bhalf\d*\b"),
    "fp64": re.compile(r"\bdouble\d*\b"),
    "atomic64": re.compile(r"\bpg_atomic_(global|local)<(u?long|double)>"),
}
_BUILT_IN = ("bool", "char", "short", "int", "long", "float", "double")
_COMMENT = re.compile(r"//[^\n]*")


@dataclass(frozen=True, slots=True)
class _Array:
    """An array in the host program: C++ text. Complex numbers are pairs of ``type``, records bytes."""

    name: str
    type: str
    parts: int  # values of ``type`` of an element
    ndim: int
    fill: str  # a value by its number ``k`` among those of ``type``
    read: str  # a value as a double


@dataclass(frozen=True, slots=True)
class _View:
    """What the templates see."""

    version: str
    export: Export
    namespace: str
    guard: str
    title: str
    meanings: tuple[str, ...]  # of the arguments of a launch behind its extents
    source: str
    arrays: tuple[_Array, ...]
    numbers: tuple[tuple[str, str, str], ...]  # types, names and values, which are text in C++
    passed: tuple[str, ...]  # to the function that launches
    extents: tuple[str, str, str]  # threads of the grid, by the axes of SYCL
    block: tuple[int, int, int]
    aspects: tuple[str, ...]
    has_dynamic: bool
    faults: tuple[str, ...]
    fault_size: int


def texts(export: Export) -> dict[str, str]:
    """The files' texts by their names."""
    source = export.kernel_source
    found = blocks(export)
    x, y, z = (found[axis] if axis < len(found) else "1" for axis in range(3))
    code = _COMMENT.sub("", source.source)
    namespace = plain_namespace(source.name)
    own = tuple(a for a in export.c_arguments if a.passed not in (Passed.SHARED, Passed.SHARED_BYTES))
    view = _View(
        version=__version__,
        export=export,
        namespace=namespace,
        guard=f"{namespace.upper()}_HPP",
        title=export.signature.replace("*/", "* /"),
        meanings=tuple(map(meaning, own)),
        source=source.source.strip("\n"),
        arrays=tuple(map(_array, export.arrays)),
        numbers=tuple(_number(n, export.size) for n in export.numbers),
        passed=tuple(_passed(export)),
        extents=(z, y, x),
        block=(export.block[2], export.block[1], export.block[0]),
        aspects=tuple(name for name, word in _ASPECTS.items() if word.search(code)),
        has_dynamic=len(own) < len(export.c_arguments),
        faults=faults(export),
        fault_size=FAULT_VALUES + MAX_FAULT_VALUES,
    )
    return {
        f"{export.name}.hpp": render(_TEMPLATES, "sycl_header.mako", view),
        f"{export.name}_main.cpp": render(_TEMPLATES, "sycl_main.mako", view),
    }


def _array(array: HostArray) -> _Array:
    element = array.element
    if not isinstance(element, DType):
        return _Array(array.name, "unsigned char", array.itemsize, array.ndim, "0", "{}")
    kind, parts = _HOST_TYPES[element.real], 2 if element.is_complex else 1
    if element.is_inexact:
        pattern = "0.25f * (float)(k % 7)"
    else:
        pattern = f"({kind})(k % {2 if element.kind is Kind.BOOL else 7})"
    read = "(double){}"
    if element is dtypes.BFLOAT16:
        pattern, read = f"bfloat16_bits({pattern})", "bfloat16_value({})"
    return _Array(array.name, kind, parts, array.ndim, pattern, read)


def _number(number: HostNumber, size: int) -> tuple[str, str, str]:
    """A number's type, name and value in C++."""
    value = value_of(number, "size", size)
    kind = "float" if number.dtype in (dtypes.FLOAT16, dtypes.BFLOAT16) else _HOST_TYPES[number.dtype.real]
    if number.dtype.is_complex:
        return kind, f"{number.name}_value[2]", f"{{({kind}){value[0]}, ({kind}){value[1]}}}"
    return kind, f"{number.name}_value", f"({kind}){value[0]}"


def _passed(export: Export) -> Iterator[str]:
    for argument, parameter in zip(export.c_arguments, export.kernel_source.parameters, strict=True):
        if argument.passed not in (Passed.SHARED, Passed.SHARED_BYTES):
            yield _argument(argument, _text(parameter.type))


def _argument(argument: CArgument, kind: str) -> str:
    """An argument of a launch."""
    of = argument.argument
    match argument.passed:
        case Passed.BUFFER:
            assert isinstance(of, HostArray)
            own = _array(of).type
            return f"{of.name}_memory" if kind == f"{own}*" else f"reinterpret_cast<{kind}>({of.name}_memory)"
        case Passed.FAULT:
            return "raised_memory"
        case Passed.NUMBER:
            assert isinstance(of, HostNumber) and argument.dtype is not None
            if argument.dtype.is_complex:
                return f"{kind}({of.name}_value[0], {of.name}_value[1])"
            return f"({kind}){of.name}_value"
        case _:
            return f"({kind})({counted(argument)})"


def _text(kind: Type) -> str:
    """A parameter's type as the program writes it: the header's own names lie in its namespace."""
    text = PlainSyclCpp().type(
        dataclasses.replace(kind, readonly=False, restrict=False) if isinstance(kind, Pointer) else kind
    )
    return text if text.rstrip("*") in _BUILT_IN else f"exported::{text}"
