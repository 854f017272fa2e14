"""Trials of subgroups: the sizes that a kernel can ask for, loads and stores of blocks, and matrix units."""

from __future__ import annotations

import numpy as np

from portagpu.backends.opencl.probing.workbench import DRIVER_ERRORS, Workbench

_ITEMS = 64
_SIZES = (8, 16, 32, 64)
_WAVE_UNITS = (
    *("mfma", "mfma_bfloat16", "mfma_float64", "mfma_int8", "mfma_int8_wide", "mfma_tfloat32"),
    *("wmma", "wmma_halves"),
)
_DEPTHS = {
    "mfma": 8,
    "mfma_bfloat16": 8,
    "mfma_float64": 4,
    "mfma_int8": 8,
    "mfma_int8_wide": 16,
    "mfma_tfloat32": 4,
    "wmma": 16,
    "wmma_halves": 16,
    "subgroup": 16,
    "subgroup_tfloat32": 8,
}


def sizes(bench: Workbench, language: str) -> str:
    """The sizes that a kernel gets where it asks for them, as text."""
    if "cl_intel_required_subgroup_size" not in bench.extensions:
        return ""
    found = []
    for size in _SIZES:
        try:
            kernel = bench.build("subgroup_size", f"-DREQUIRED_SIZE={size}", *_options(language))
            seen = np.zeros(_ITEMS, np.int32)
            bench.run(kernel, _ITEMS, _ITEMS, seen)
        except DRIVER_ERRORS:
            bench.check_alive()
            continue
        if np.all(seen == size):
            found.append(str(size))
    return " ".join(found)


def _options(language: str) -> list[str]:
    return [language] if language else []


def block_io(bench: Workbench, language: str) -> bool:
    """Whether a subgroup's loads and stores of two elements a lane give the right ones."""
    if "cl_intel_subgroups" not in bench.extensions:
        return False
    source = np.arange(2 * _ITEMS, dtype=np.uint32) * np.uint32(2654435761)
    target = np.zeros_like(source)
    kernel = bench.build("subgroup_blocks", *_options(language))
    bench.run(kernel, _ITEMS, _ITEMS, source, target)
    return bool(np.array_equal(target, source + 1))


def units(bench: Workbench) -> tuple[str, ...]:
    """The matrix units that are worth a trial."""
    if bench.hints.may_have_wave_matrices:
        return _WAVE_UNITS
    extension = "cl_intel_subgroup_matrix_multiply_accumulate"
    found = ("subgroup",) if extension in bench.extensions else ()
    return (*found, "subgroup_tfloat32") if f"{extension}_tensor_float32" in bench.extensions else found


def unit(bench: Workbench, name: str, smallest: int) -> bool:
    """Whether matrices of ones multiply to their depth, whatever the layout; ``smallest``: threads of a subgroup."""
    size = smallest if name.startswith("subgroup") else 0
    items = size or _ITEMS
    target = np.zeros(items, np.float32)
    bench.run(bench.build("matrix_units", f"-DUNIT_{name.upper()}", f"-DSIZE={size}"), items, items, target)
    return bool(np.all(target == _DEPTHS[name]))
