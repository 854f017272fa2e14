"""Every module that registers lowerings: importing this one fills the tables of what kernels may call.

A new module of lowerings is imported here, and nowhere else for that purpose. `tests/test_lowerings.py` names modules
that are missing, and names of the dialect that nothing lowers.
"""

from __future__ import annotations

from portagpu.frontend.arrays import slice_objects
from portagpu.frontend.intrinsics import (
    arithmetic,
    async_copies,
    atomics,
    barriers,
    bulk_copies,
    cache_hints,
    clusters,
    cooperative,
    dot_product,
    indices,
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
    cmath,
    floats,
    integers,
    number_tests,
    operators,
    printing,
    rounding,
    selection,
    type_tests,
)
from portagpu.frontend.library.libdevice import compound, fp16, native
from portagpu.frontend.operations import complex_numbers, number_methods

REGISTERED = (
    *(arithmetic, async_copies, atomics, barriers, bulk_copies, cache_hints, clusters, cooperative),
    *(dot_product, indices, matrix_units, memory, prefetch, subgroup_matrix, subgroups, vector_memory, warp),
    *(array_methods, array_ufuncs, builtins, cmath, floats, integers, number_tests, operators, printing, rounding),
    *(selection, type_tests, compound, fp16, native),
    *(slice_objects, complex_numbers, number_methods),
)
