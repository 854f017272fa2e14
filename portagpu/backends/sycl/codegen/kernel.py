"""The head of a free-function kernel, its properties, and its arrays in shared memory."""

from __future__ import annotations

from portagpu.backends.c_family.c_types import storage
from portagpu.backends.c_family.dialect import KernelParts, KernelText
from portagpu.backends.c_family.line import Line
from portagpu.backends.c_family.subgroup_sizes import required_size
from portagpu.backends.compilers import NOT_OPTIMISED
from portagpu.ir.program import Parameter, ParameterRole
from portagpu.ir.types import DYNAMIC_SHARED, Pointer, Space

NOT_VECTORISED = "// NOT_VECTORISED"
"""A line that tells the run time: the driver's compiler must not run the kernel's threads in lanes of vectors."""
_FREE_FUNCTION = "SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<3>))"


def kernel_text(parts: KernelParts) -> KernelText:
    """The kernel; shared arrays are variables of the work-group, dynamic shared memory is an accessor."""
    program, printer, language = parts.program, parts.printer, parts.printer.language
    span, helpers = program.kernel.span, parts.printer.helpers
    shared: list[str] = []
    for array in program.shared:
        kind, name = storage(array.element), printer.name(array.name, Pointer(array.element, Space.SHARED))
        alignment = max(128, array.alignment)
        shared.append(
            f"    alignas({alignment}) static syclexp::work_group_static<{kind}[{array.size}]> pg_memory_{name};"
        )
        shared.append(f"    {kind} (&{name})[{array.size}] = pg_memory_{name};")
    for parameter in filter(_is_dynamic, parts.parameters):
        name = printer.name(parameter.name, parameter.type)
        kind = language.type(DYNAMIC_SHARED)
        shared.append(f"    {kind} const {name} = ({kind})&pg_memory_{name}[0];")
    lines = [Line(f"// {span.line}: {span.text.strip()}", span)]
    if parts.is_unoptimised:
        lines.append(Line(NOT_OPTIMISED, span))
    if parts.is_unvectorised and program.block_dim != (1, 1, 1):  # a block of one thread fills no lanes
        lines.append(Line(NOT_VECTORISED, span))
    attributes = []
    if program.block_dim is not None:
        attributes.append(f"[[sycl::reqd_work_group_size({', '.join(map(str, reversed(program.block_dim)))})]]")
    size = required_size(program, helpers.caps, parts.subgroup_size)
    if size is not None:
        attributes.append(f"[[sycl::reqd_sub_group_size({size})]]")
    lines.append(Line(" ".join(('extern "C"', *attributes, _FREE_FUNCTION)), span))
    lines.append(Line(f"void {helpers.function_name(program.kernel.name)}(", span))
    texts = [_accessor(p, parts) if _is_dynamic(p) else parts.parameter_text(p) for p in parts.parameters]
    text = ",\n".join(f"    {text}" for text in texts)
    lines += [Line(part, span) for part in f"{text}) {{".split("\n")]
    lines += [Line(declaration, span) for declaration in shared]
    return KernelText(lines=[*lines, *parts.body, Line("}", span)], parameters=parts.parameters)


def _is_dynamic(parameter: Parameter) -> bool:
    return parameter.role is ParameterRole.DYNAMIC_SHARED and parameter.type == DYNAMIC_SHARED


def _accessor(parameter: Parameter, parts: KernelParts) -> str:
    name = parts.printer.name(parameter.name, parameter.type)
    return f"sycl::local_accessor<pg_line, 1> pg_memory_{name}"
