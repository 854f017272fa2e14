"""Every module that registers C text for operations of the IR: importing this one fills the table of OpenCL C."""

from __future__ import annotations

from portagpu.backends.c_family import shared
from portagpu.backends.opencl.codegen import (
    assembly,
    atomics,
    clusters,
    dot_product,
    fences,
    halves,
    ptx_functions,
    subgroup_matrices,
    subgroups,
    warp,
)
from portagpu.backends.opencl.codegen.ptx import INSTRUCTIONS
from portagpu.backends.opencl.codegen.table import OPENCL

REGISTERED = (
    *(assembly, atomics, clusters, dot_product, fences, halves, ptx_functions, subgroup_matrices, subgroups, warp),
    *shared.REGISTERED,
)
LOWERINGS = {**shared.LOWERINGS, **OPENCL}
RENDERED = frozenset({*LOWERINGS, *INSTRUCTIONS})
"""The operations and instructions of the IR that have text."""
