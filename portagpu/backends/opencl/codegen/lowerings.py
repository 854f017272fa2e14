"""Every module that registers C text for IR nodes: importing this one fills the tables of `registry`."""

from __future__ import annotations

from portagpu.backends.opencl.codegen import bfloat16, builtins, dot_product, halves, subgroup_matrices, subgroups, warp

REGISTERED = (bfloat16, builtins, dot_product, halves, subgroup_matrices, subgroups, warp)
