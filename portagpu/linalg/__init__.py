"""Linear algebra, typed: products, systems, factorisations of NumPy and device arrays, with batches.

Leading axes are those of a batch. NumPy arrays give NumPy arrays; device arrays give device arrays, enqueued on
``stream``. float32, float64, complex64 and complex128; NumPy arrays of integers count as float64.
"""

# ruff: noqa: F401  (names for type checkers, which `__all__` has, too)

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from portagpu.errors import unknown_attribute

_MODULES = {
    "least_squares": "lstsq qr",
    "lists": "gemm_batched gemv_batched syrk_batched trsm_batched",
    "products": "dgmm geam gemmt symm syrk transpose trmm",
    "systems": "cholesky det inv lu_factor lu_solve solve solve_triangular",
}
_FUNCTIONS = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = [*_FUNCTIONS]

if TYPE_CHECKING:
    from portagpu.linalg.least_squares import lstsq, qr
    from portagpu.linalg.lists import gemm_batched, gemv_batched, syrk_batched, trsm_batched
    from portagpu.linalg.products import dgmm, geam, gemmt, symm, syrk, transpose, trmm
    from portagpu.linalg.systems import cholesky, det, inv, lu_factor, lu_solve, solve, solve_triangular
else:

    def __getattr__(name: str) -> Any:
        """The functions: the kernels' sources are read at first use."""
        module = _FUNCTIONS.get(name)
        if module is not None:
            return getattr(importlib.import_module(f"portagpu.linalg.{module}"), name)
        raise unknown_attribute("portagpu.linalg", name, sys.modules[__name__], __dir__())


def __dir__() -> list[str]:
    return sorted({*globals(), *_FUNCTIONS})
