"""Options of OpenCL's compilers for what `cuda.jit` was asked for."""

from __future__ import annotations

import re

from portagpu.backends.compilers import NOT_OPTIMISED, UNOPTIMISED, CompilerOptions
from portagpu.device.capabilities import Capabilities

SPILL_REMARKS = ("-cl-nv-verbose",)  # has a compiler say how many registers a kernel keeps in memory
# functions of OpenCL C 2.0 and later, which a driver has under its language option only
_NEEDS_LANGUAGE = re.compile(r"dot_4x8packed|sub_group|atomic_work_item_fence|atomic_fetch_add_explicit")
_STRUCTS = re.compile(r"^static inline pg_tuple", re.MULTILINE)
_INLINE_STRUCTS = re.compile(r"always_inline\)\) static inline pg_tuple")
_ALL_BUT_SIGNS = frozenset({"nnan", "ninf", "arcp"})


def options_for(asked: CompilerOptions, caps: Capabilities, source: str) -> tuple[str, ...]:
    """Options for the compiler of a device with these capabilities, for this OpenCL C."""
    options = ["-w"]
    # that driver's optimiser makes wrong code of some functions that return structs, where they are not inlined
    is_at_risk = _STRUCTS.search(source) is not None and not _INLINE_STRUCTS.search(source)
    if not asked.opt or NOT_OPTIMISED in source or (is_at_risk and not caps.runs_optimised):
        options.append(UNOPTIMISED)
    if asked.max_registers is not None and caps.max_registers_option:
        options.append(f"-cl-nv-maxrregcount={asked.max_registers}")
    if _NEEDS_LANGUAGE.search(source) and caps.language_option:
        options.append(caps.language_option)
    allowed = asked.fastmath
    if not caps.keeps_negations and "barrier(" in source:  # `0 - x` must not become a negation
        allowed = (allowed | (_ALL_BUT_SIGNS if "fast" in allowed else frozenset())) - {"fast", "nsz", "reassoc"}
    if "fast" in allowed:
        return (*options, "-cl-fast-relaxed-math")
    if allowed >= {"reassoc", "arcp", "nsz"}:
        options.append("-cl-unsafe-math-optimizations")
    elif "nsz" in allowed:
        options.append("-cl-no-signed-zeros")
    if allowed >= {"nnan", "ninf"}:
        options.append("-cl-finite-math-only")
    if "arcp" not in allowed and caps.correctly_rounded_divide_sqrt:
        options.append("-cl-fp32-correctly-rounded-divide-sqrt")
    return tuple(options)
