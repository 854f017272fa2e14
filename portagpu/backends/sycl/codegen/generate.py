"""From a typed program to SYCL C++."""

from __future__ import annotations

from typing import NoReturn

from portagpu.backends.c_family import generate as c_family
from portagpu.backends.c_family import rendering
from portagpu.backends.c_family.dialect import Dialect
from portagpu.backends.c_family.registry import Printing
from portagpu.backends.source import KernelSource
from portagpu.backends.sycl.codegen.helpers import SyclHelpers
from portagpu.backends.sycl.codegen.kernel import kernel_text
from portagpu.backends.sycl.codegen.language import SyclCpp
from portagpu.backends.sycl.codegen.lowerings import LOWERINGS
from portagpu.backends.sycl.codegen.prelude import TEMPLATES, prelude
from portagpu.device.capabilities import Capabilities
from portagpu.ir.nodes import Instruction
from portagpu.ir.operations import not_rendered
from portagpu.ir.program import Program


def _instruction(printer: Printing, statement: Instruction) -> NoReturn:
    raise not_rendered(statement, "sycl")


def _render(template: str, view: object) -> str:
    text = rendering.render(TEMPLATES, template, view)
    return f"{prelude(text)}{text}"


DIALECT = Dialect(
    language=SyclCpp(),
    lowerings=LOWERINGS,
    helpers=SyclHelpers,
    instruction=_instruction,
    kernel=kernel_text,
    render=_render,
    has_vector_constants=False,
)


def generate(
    program: Program, caps: Capabilities, *, static_dynamic_shared: int = 0, subgroup_size: int | None = None
) -> KernelSource:
    """Print a program as SYCL C++ for a device; see `portagpu.backends.c_family.generate.generate`.

    Dynamic shared memory is an argument, whatever ``static_dynamic_shared`` is.
    """
    return c_family.generate(DIALECT, program, caps, subgroup_size=subgroup_size)
