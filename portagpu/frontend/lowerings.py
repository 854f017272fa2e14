"""Every module that registers lowerings: importing this one fills the tables of what kernels may call.

A new module of lowerings is imported here, and nowhere else for that purpose.
"""

from __future__ import annotations

from portagpu.frontend.intrinsics import (
    async_copies,
    bulk_copies,
    cache_hints,
    cooperative,
    dot_product,
    indices_atomics,
    matrix_units,
    memory,
    prefetch,
    subgroup_matrix,
    subgroups,
    vector_memory,
    warp,
)
from portagpu.frontend.library import (
    array_methods,
    array_ufuncs,
    builtins,
    elementwise,
    integer_functions,
    printing,
    type_tests,
)
from portagpu.frontend.library.libdevice import compound, fp16, native
from portagpu.frontend.operations import number_methods
from portagpu.frontend.syntax import device_functions

REGISTERED = (
    *(async_copies, bulk_copies, cache_hints, cooperative, dot_product, indices_atomics, matrix_units, memory),
    *(prefetch, subgroup_matrix, subgroups, vector_memory, warp),
    *(array_methods, array_ufuncs, builtins, elementwise, integer_functions, printing, type_tests),
    *(compound, fp16, native),
    *(number_methods, device_functions),
)
