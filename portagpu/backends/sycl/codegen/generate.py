"""From a typed program to SYCL C++."""

from __future__ import annotations

import dataclasses
from typing import NoReturn

from portagpu.backends.c_family import generate as c_family
from portagpu.backends.c_family import rendering
from portagpu.backends.c_family.dialect import Dialect
from portagpu.backends.c_family.registry import Printing
from portagpu.backends.source import KernelSource
from portagpu.backends.sycl.codegen.helpers import SyclHelpers
from portagpu.backends.sycl.codegen.kernel import kernel_text
from portagpu.backends.sycl.codegen.language import PlainSyclCpp, SyclCpp
from portagpu.backends.sycl.codegen.lowerings import LOWERINGS
from portagpu.backends.sycl.codegen.plain import plain_kernel_text
from portagpu.backends.sycl.codegen.prelude import TEMPLATES, plain_prelude, prelude
from portagpu.device.capabilities import Capabilities
from portagpu.ir.nodes import Instruction
from portagpu.ir.operations import not_rendered
from portagpu.ir.program import Program


def _instruction(printer: Printing, statement: Instruction) -> NoReturn:
    raise not_rendered(statement, "sycl")


def _render(template: str, view: object) -> str:
    assert isinstance(view, c_family.ProgramView)
    text = rendering.render(TEMPLATES, template, view)
    return f"{prelude(text, view.declarations)}{text}"


DIALECT = Dialect(
    language=SyclCpp(),
    lowerings=LOWERINGS,
    helpers=SyclHelpers,
    instruction=_instruction,
    kernel=kernel_text,
    render=_render,
    has_vector_constants=False,
)


def _render_plain(template: str, view: object) -> str:
    assert isinstance(view, c_family.ProgramView)
    text = rendering.render(TEMPLATES, f"plain_{template}", view)
    return f"{plain_prelude(text, view.kernel)}{text}"


PLAIN_DIALECT = dataclasses.replace(DIALECT, language=PlainSyclCpp(), kernel=plain_kernel_text, render=_render_plain)
"""For compilers of files: a header of SYCL 2020 with a function that launches the kernel."""


def generate(
    program: Program, caps: Capabilities, *, static_dynamic_shared: int = 0, subgroup_size: int | None = None
) -> KernelSource:
    """Print a program as SYCL C++ for a device; see `portagpu.backends.c_family.generate.generate`.

    Dynamic shared memory is an argument, whatever ``static_dynamic_shared`` is. Without the extension that makes
    kernels of functions it is a header for compilers of files.
    """
    return c_family.generate(
        DIALECT if caps.free_function_kernels else PLAIN_DIALECT, program, caps, subgroup_size=subgroup_size
    )
