"""Every module that registers text for operations of the IR: importing this one fills the table of SYCL C++."""

from __future__ import annotations

from portagpu.backends.c_family import shared
from portagpu.backends.sycl.codegen import atomics, byte_operations, fences, halves, subgroup_products, subgroups
from portagpu.backends.sycl.codegen.table import SYCL

REGISTERED = (atomics, byte_operations, fences, halves, subgroup_products, subgroups, *shared.REGISTERED)
LOWERINGS = {**shared.LOWERINGS, **SYCL}
RENDERED = frozenset(LOWERINGS)
"""The operations of the IR that have text; instructions have none, which are some hardware's own."""
