"""Every module that registers C text for IR nodes: importing this one fills the tables of `registry`."""

from __future__ import annotations

from portagpu.backends.opencl.codegen import (
    arithmetic,
    atomics,
    bfloat16,
    builtins,
    dot_product,
    halves,
    subgroup_matrices,
    subgroups,
    warp,
    work_items,
)

REGISTERED = (
    *(arithmetic, atomics, bfloat16, builtins, dot_product, halves, subgroup_matrices, subgroups, warp, work_items),
)
