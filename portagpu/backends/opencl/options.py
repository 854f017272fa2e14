"""Options of OpenCL's compilers for what `cuda.jit` was asked for."""

from __future__ import annotations

import re

from portagpu.backends.base import CompilerOptions
from portagpu.device.capabilities import Capabilities

SPILL_REMARKS = ("-cl-nv-verbose",)  # has a compiler say how many registers a kernel keeps in memory
# functions of OpenCL C 2.0 and later, which a driver has under its language option only
_NEEDS_LANGUAGE = re.compile(r"dot_4x8packed|sub_group|atomic_work_item_fence|atomic_fetch_add_explicit")


def options_for(asked: CompilerOptions, caps: Capabilities, source: str) -> tuple[str, ...]:
    """Options for the compiler of a device with these capabilities, for this OpenCL C."""
    options = ["-w"]
    may_rotate = "<<" in source and ">>" in source
    if not asked.opt or (may_rotate and not caps.optimised_rotations):
        options.append("-cl-opt-disable")
    if asked.max_registers is not None and caps.max_registers_option:
        options.append(f"-cl-nv-maxrregcount={asked.max_registers}")
    if _NEEDS_LANGUAGE.search(source) and caps.language_option:
        options.append(caps.language_option)
    if "fast" in asked.fastmath:
        return (*options, "-cl-fast-relaxed-math")
    if asked.fastmath >= {"reassoc", "arcp", "nsz"}:
        options.append("-cl-unsafe-math-optimizations")
    elif "nsz" in asked.fastmath:
        options.append("-cl-no-signed-zeros")
    if asked.fastmath >= {"nnan", "ninf"}:
        options.append("-cl-finite-math-only")
    if "arcp" not in asked.fastmath and caps.correctly_rounded_divide_sqrt:
        options.append("-cl-fp32-correctly-rounded-divide-sqrt")
    return tuple(options)
