"""What the registries hold that has no operands of every dtype, and the file of its tests."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from portagpu.dialect.reference import clusters, matrix_hardware

_KERNELS = "tests/kernels/"
_HERE = "tests/generated/"
_MEMORY = _KERNELS + "arrays/test_memory_spaces.py"
_SETS = "tests/cuda_names/test_cuda_type_sets.py"
_ASSIGNED = _KERNELS + "syntax/test_assigned_parameters.py"
_LANGUAGE = _KERNELS + "syntax/test_language.py"
_THREADS = _HERE + "test_between_threads.py"
_SUBGROUPS = _KERNELS + "intrinsics/test_subgroups.py"
_REST = _HERE + "test_the_rest.py"

BESSEL = tuple(f"{name}{end}" for name in ("j0", "j1", "jn", "y0", "y1", "yn") for end in ("", "f"))

INTRINSICS: dict[str, str] = {
    **dict.fromkeys(("shared.array", "local.array", "grid", "gridsize", "const.array_like", "unroll"), _MEMORY),
    **dict.fromkeys(("vload", "vstore"), _MEMORY),
    **dict.fromkeys(("carray", "farray"), "tests/cuda_names/test_cuda_memory_names.py"),
    **dict.fromkeys(("ldca", "ldcg", "ldcs", "ldlu", "ldcv", "stcg", "stcs", "stwb", "stwt"), _MEMORY),
    **dict.fromkeys(("syncthreads", "syncthreads_count", "syncthreads_and", "syncthreads_or", "nanosleep"), _THREADS),
    **dict.fromkeys(("threadfence", "threadfence_block", "threadfence_system"), _THREADS),
    **dict.fromkeys(("shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync", "syncwarp"), _THREADS),
    **dict.fromkeys(("all_sync", "any_sync", "eq_sync", "ballot_sync", "activemask", "lanemask_lt"), _THREADS),
    **dict.fromkeys(("match_any_sync", "match_all_sync"), _THREADS),
    **dict.fromkeys((f"libdevice.{name}" for name in BESSEL), _KERNELS + "library/test_bessel.py"),
    **dict.fromkeys(
        ("subgroup_size", "subgroup_lane", "subgroup_id", "subgroup_broadcast", "subgroup_shuffle"), _SUBGROUPS
    ),
    **dict.fromkeys(("subgroup_block_read", "subgroup_block_write"), _SUBGROUPS),
    **dict.fromkeys(("mfma", "wmma", "subgroup_matrix_mad"), "tests/offline/test_wave_matrix_builds.py"),
    **dict.fromkeys(matrix_hardware.ENTRIES, _KERNELS + "intrinsics/test_matrix_units.py"),
    **dict.fromkeys(
        ("pipeline_memcpy_async", "pipeline_commit", "pipeline_wait_prior"),
        _KERNELS + "intrinsics/test_async_copies_in_kernels.py",
    ),
    **dict.fromkeys(("dp4a", "prefetch"), _KERNELS + "intrinsics/test_dot_products.py"),
    "literal_unroll": _KERNELS + "arrays/test_records.py",
    "cg.this_grid": _KERNELS + "intrinsics/test_cooperative.py",
    "cg.this_grid().sync": _KERNELS + "intrinsics/test_cooperative.py",
    **dict.fromkeys(clusters.ENTRIES, _KERNELS + "intrinsics/test_clusters.py"),
}
FUNCTIONS: dict[Any, str] = {
    print: _KERNELS + "syntax/test_print.py",
    **dict.fromkeys((len, range, enumerate, zip), _KERNELS + "syntax/test_control_flow.py"),
    tuple: _LANGUAGE,
    np.isnat: "tests/dispatch/test_date_arguments.py",
    **dict.fromkeys((isinstance, type), _KERNELS + "syntax/test_type_tests.py"),
    slice: _KERNELS + "arrays/test_slice_objects.py",
    **dict.fromkeys((np.ndindex, np.ndenumerate), _KERNELS + "arrays/test_loops_over_elements.py"),
    **dict.fromkeys((np.iinfo, np.finfo), _KERNELS + "library/test_elementwise_functions.py"),
    **dict.fromkeys((operator.getitem, np.size, np.shape, np.reshape, np.ravel, np.transpose), _REST),
    **dict.fromkeys((np.iscomplexobj, np.isrealobj), _REST),
    **dict.fromkeys((np.nansum, np.nanprod, np.nanmin, np.nanmax, np.nanmean, np.count_nonzero), _SETS),
    np.dtype: _ASSIGNED,
}
METHODS: dict[str, str] = {
    **dict.fromkeys(("ravel", "flatten", "reshape", "transpose", "view"), _LANGUAGE),
    "item": _REST,
    "copy": _MEMORY,
    "fill": _KERNELS + "arrays/test_loops_over_elements.py",
}
NUMBER_METHODS: dict[str, str] = {"view": _KERNELS + "numbers/test_number_views.py", "bit_count": _ASSIGNED}
