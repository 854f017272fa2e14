"""OpenCL: ``KERNEL.cl``, and ``KERNEL_host.c``, a program that launches it through the OpenCL API."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from portagpu import dtypes
from portagpu.backends.c_family.rendering import render
from portagpu.device.ideal_device import IDEAL
from portagpu.dtypes import DType, Kind
from portagpu.exporting.arguments import CArgument, HostArray, HostNumber, Passed
from portagpu.exporting.export import Export
from portagpu.exporting.host_text import blocks, counted, faults, meaning, value_of
from portagpu.ir.program import FAULT_VALUES, MAX_FAULT_VALUES
from portagpu.version import __version__

BACKEND = "opencl"
PORTABLE = dataclasses.replace(  # OpenCL 1.2, and what its extensions for float64 and 64-bit atomics add, if it is used
    IDEAL,
    opencl_c_version=(1, 2),
    fp16=False,
    fp16_functions=False,
    correctly_rounded_divide_sqrt=False,
    float_atomic_add_global=False,
    float_atomic_add_local=False,
    double_atomic_add_global=False,
    double_atomic_add_local=False,
    subgroups=False,
    subgroup_size=0,
    subgroup_shuffle=False,
    required_subgroup_size=False,
    subgroup_sizes=(),
    subgroup_block_io=False,
    single_barriers=False,
    conditional_barriers=False,
    takes_all_cases=False,
    sees_divergence=False,
    blends_values=False,
    skips_loads=False,
    extensions=frozenset({"cl_khr_fp64", "cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"}),
    cooperative_launch=False,
    device_fences=False,
    warp_instructions=False,
    inline_ptx=False,
    ptx_target=(0, 0),
    architecture_ptx=False,
    async_copies=False,
    cluster_size=1,
    nanosleep=False,
    register_aware_scheduling=False,
)
_TEMPLATES = "portagpu.exporting.templates"
_HOST_TYPES = {
    dtypes.BOOL: "cl_uchar",
    dtypes.INT8: "cl_char",
    dtypes.INT16: "cl_short",
    dtypes.INT32: "cl_int",
    dtypes.INT64: "cl_long",
    dtypes.UINT8: "cl_uchar",
    dtypes.UINT16: "cl_ushort",
    dtypes.UINT32: "cl_uint",
    dtypes.UINT64: "cl_ulong",
    dtypes.FLOAT16: "cl_ushort",
    dtypes.BFLOAT16: "cl_ushort",
    dtypes.FLOAT32: "cl_float",
    dtypes.FLOAT64: "cl_double",
}
_LEAST_SHARED = 16  # bytes: memory of no size is refused


@dataclass(frozen=True, slots=True)
class _Array:
    """An array in the host program: C text. Complex numbers are pairs of ``type``, records bytes."""

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
    arrays: tuple[_Array, ...]
    numbers: tuple[tuple[str, str], ...]  # names and values, which are text in C
    settings: tuple[str, ...]  # statements that set the arguments
    title: str
    meanings: tuple[str, ...]  # of the C parameters
    source: str
    blocks: tuple[str, ...]  # along each axis of the grid
    options: str
    shared: int
    faults: tuple[str, ...]
    fault_size: int


def texts(export: Export) -> dict[str, str]:
    """The files' texts by their names."""
    view = _View(
        version=__version__,
        export=export,
        arrays=tuple(map(_array, export.arrays)),
        numbers=tuple((n.name, _initial(n, export.size)) for n in export.numbers),
        settings=tuple(_setting(n, a) for n, a in enumerate(export.c_arguments)),
        title=export.signature.replace("*/", "* /"),
        meanings=tuple(map(meaning, export.c_arguments)),
        source=export.kernel_source.source.strip("\n"),
        blocks=blocks(export),
        options=" ".join(o for o in export.options if o != "-w"),
        shared=max(export.shared, _LEAST_SHARED),
        faults=faults(export),
        fault_size=FAULT_VALUES + MAX_FAULT_VALUES,
    )
    return {
        f"{export.name}.cl": render(_TEMPLATES, "opencl_kernel.mako", view),
        f"{export.name}_host.c": render(_TEMPLATES, "opencl_host.mako", view),
    }


def _array(array: HostArray) -> _Array:
    element = array.element
    if not isinstance(element, DType):
        return _Array(array.name, "cl_uchar", array.itemsize, array.ndim, "0", "{}")
    kind, parts = _HOST_TYPES[element.real], 2 if element.is_complex else 1
    if element.is_inexact:
        pattern = "0.25f * (float)(k % 7)"
    else:
        pattern = f"({kind})(k % {2 if element.kind is Kind.BOOL else 7})"
    read = "(double){}"
    if element in (dtypes.FLOAT16, dtypes.BFLOAT16):
        pattern, read = f"{element.name}_bits({pattern})", f"{element.name}_value({{}})"
    return _Array(array.name, kind, parts, array.ndim, pattern, read)


def _setting(number: int, argument: CArgument) -> str:
    of = argument.argument
    name = "" if of is None else of.name
    match argument.passed:
        case Passed.BUFFER:
            return f"clSetKernelArg(kernel, {number}, sizeof(cl_mem), &{name}_memory)"
        case Passed.SHARED:
            return f"clSetKernelArg(kernel, {number}, SHARED_BYTES, NULL)"
        case Passed.FAULT:
            return f"clSetKernelArg(kernel, {number}, sizeof(cl_mem), &raised_memory)"
        case Passed.NUMBER:
            assert argument.dtype is not None
            kind = _c_type(argument.dtype)
            return f"clSetKernelArg(kernel, {number}, sizeof({kind}), &({kind}){_literal(argument, name)})"
        case _:
            assert argument.dtype is not None
            kind = _c_type(argument.dtype)
            return f"clSetKernelArg(kernel, {number}, sizeof({kind}), &({kind}){{{_counted(argument)}}})"


def _literal(argument: CArgument, name: str) -> str:
    """A number as a compound literal."""
    assert argument.dtype is not None
    return f"{name}_value" if argument.dtype.is_complex else f"{{{name}_value}}"


def _initial(number: HostNumber, size: int) -> str:
    """A number's value in C."""
    value = value_of(number, "SIZE", size)
    return f"{{{{{', '.join(value)}}}}}" if number.dtype.is_complex else value[0]


def _counted(argument: CArgument) -> str:
    """A shape, stride, offset or size as an expression in C."""
    return "SHARED_BYTES" if argument.passed is Passed.SHARED_BYTES else counted(argument)


def _c_type(dtype: DType) -> str:
    return f"{_HOST_TYPES[dtype.real]}2" if dtype.is_complex else _HOST_TYPES[dtype]
