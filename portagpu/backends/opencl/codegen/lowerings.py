"""Every module that registers C text for operations of the IR: importing this one fills the table of `registry`."""

from __future__ import annotations

from portagpu.backends.opencl.codegen import (
    arithmetic,
    assembly,
    atomics,
    bfloat16,
    builtins,
    complex_numbers,
    dot_product,
    halves,
    subgroup_matrices,
    subgroups,
    warp,
    work_items,
)
from portagpu.backends.opencl.codegen.ptx import INSTRUCTIONS
from portagpu.backends.opencl.codegen.registry import LOWERINGS

REGISTERED = (
    *(arithmetic, assembly, atomics, bfloat16, builtins, complex_numbers, dot_product, halves, subgroup_matrices),
    *(subgroups, warp, work_items),
)
RENDERED = frozenset({*LOWERINGS, *INSTRUCTIONS})
"""The operations and instructions of the IR that have text."""
