"""From a typed program to OpenCL C."""

from __future__ import annotations

from dataclasses import replace

from portagpu.backends.c_family import generate as c_family
from portagpu.backends.c_family.dialect import Dialect
from portagpu.backends.opencl.codegen.assembly import assembly
from portagpu.backends.opencl.codegen.helpers import OpenCLHelpers
from portagpu.backends.opencl.codegen.kernel import kernel_text
from portagpu.backends.opencl.codegen.language import OpenCLC, UntypedMemory
from portagpu.backends.opencl.codegen.lowerings import LOWERINGS
from portagpu.backends.opencl.codegen.rendering import render
from portagpu.backends.source import KernelSource
from portagpu.device.capabilities import Capabilities
from portagpu.ir.analysis.mixed_types import mixes_types
from portagpu.ir.program import Program

DIALECT = Dialect(
    language=OpenCLC(),
    lowerings=LOWERINGS,
    helpers=OpenCLHelpers,
    instruction=assembly,
    kernel=kernel_text,
    render=render,
    has_vector_constants=True,
)


def generate(
    program: Program, caps: Capabilities, *, static_dynamic_shared: int = 0, subgroup_size: int | None = None
) -> KernelSource:
    """Print a program as OpenCL C for a device; see `portagpu.backends.c_family.generate.generate`."""
    dialect = replace(DIALECT, language=UntypedMemory()) if mixes_types(program) else DIALECT
    return c_family.generate(
        dialect, program, caps, static_dynamic_shared=static_dynamic_shared, subgroup_size=subgroup_size
    )
