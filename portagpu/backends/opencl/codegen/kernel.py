"""The head of a kernel in OpenCL C, its attributes, and its arrays in shared memory."""

from __future__ import annotations

from portagpu.backends.c_family.c_types import storage
from portagpu.backends.c_family.dialect import KernelParts, KernelText
from portagpu.backends.c_family.line import Line
from portagpu.backends.compilers import NOT_OPTIMISED
from portagpu.backends.opencl.codegen.subgroups import subgroup_attribute
from portagpu.backends.opencl.ptx.architecture import cluster_line
from portagpu.ir.names import DYNAMIC_SHARED_ARRAY
from portagpu.ir.program import ParameterRole
from portagpu.ir.types import DYNAMIC_SHARED, Pointer, Space


def kernel_text(parts: KernelParts) -> KernelText:
    """The kernel; shared arrays are its variables."""
    program, printer, static_dynamic = parts.program, parts.printer, parts.static_dynamic_shared
    span, helpers = program.kernel.span, parts.printer.helpers
    shared = [
        f"    __local {storage(a.element)} {printer.name(a.name, Pointer(a.element, Space.SHARED))}[{a.size}]"
        f" __attribute__((aligned({max(128, a.alignment)})));"
        for a in program.shared
    ]
    parameters = tuple(
        p
        for p in parts.parameters
        if not (static_dynamic and p.role is ParameterRole.DYNAMIC_SHARED and p.type == DYNAMIC_SHARED)
    )
    if static_dynamic:
        name = printer.name(DYNAMIC_SHARED_ARRAY, DYNAMIC_SHARED)
        shared.append(f"    __local ulong16 {name}[{-(-static_dynamic // 128)}] __attribute__((aligned(128)));")
    lines = [Line(f"// {span.line}: {span.text.strip()}", span)]
    if program.cluster is not None:
        lines.append(Line(cluster_line(program.cluster), span))
    if program.block_dim is not None:
        size = ", ".join(map(str, program.block_dim))
        lines.append(Line(f"__attribute__((reqd_work_group_size({size})))", span))
    lines += [Line(text, span) for text in subgroup_attribute(program, helpers.caps, parts.subgroup_size)]
    if parts.is_unoptimised:
        lines.append(Line(NOT_OPTIMISED, span))
    if parts.is_unvectorised:
        # says that the kernel is vectorised by hand: compilers for CPUs then leave threads out of the lanes of vectors
        lines.append(Line("__attribute__((vec_type_hint(float4)))", span))
    lines.append(Line(f"__kernel void {helpers.function_name(program.kernel.name)}(", span))
    text = ",\n".join(f"    {parts.parameter_text(p)}" for p in parameters)
    lines += [Line(part, span) for part in f"{text}) {{".split("\n")]
    lines += [Line(declaration, span) for declaration in shared]
    return KernelText(lines=[*lines, *parts.body, Line("}", span)], parameters=parameters)
