"""Linear algebra, typed: products, systems, factorisations and eigenvalues of NumPy and device arrays.

Leading axes are those of a batch. NumPy arrays give NumPy arrays; device arrays give device arrays, enqueued on
``stream``. float32, float64, complex64 and complex128; NumPy arrays of integers count as float64. Products of general
matrices and of vectors also take float16 and bfloat16. Arguments and results may be arrays of PyOpenCL.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from portagpu.errors import unknown_attribute

_MODULES = {
    "checking": "checks",
    "eigenvalues": "eig eigvals",
    "factors": "cholesky lu_factor lu_solve",
    "general": "matmul matvec vecmat",
    "least_squares": "lstsq qr",
    "lists": "gemm_batched gemv_batched syrk_batched trsm_batched",
    "products": "dgmm geam gemmt symm syrk transpose trmm",
    "systems": "det inv solve solve_triangular",
    "vector_updates": "axpy scal",
    "vectors": "norm vecdot",
}
_FUNCTIONS = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = [*_FUNCTIONS]

if TYPE_CHECKING:
    from portagpu.linalg.checking import checks as checks
    from portagpu.linalg.eigenvalues import eig as eig
    from portagpu.linalg.eigenvalues import eigvals as eigvals
    from portagpu.linalg.factors import cholesky as cholesky
    from portagpu.linalg.factors import lu_factor as lu_factor
    from portagpu.linalg.factors import lu_solve as lu_solve
    from portagpu.linalg.general import matmul as matmul
    from portagpu.linalg.general import matvec as matvec
    from portagpu.linalg.general import vecmat as vecmat
    from portagpu.linalg.least_squares import lstsq as lstsq
    from portagpu.linalg.least_squares import qr as qr
    from portagpu.linalg.lists import gemm_batched as gemm_batched
    from portagpu.linalg.lists import gemv_batched as gemv_batched
    from portagpu.linalg.lists import syrk_batched as syrk_batched
    from portagpu.linalg.lists import trsm_batched as trsm_batched
    from portagpu.linalg.products import dgmm as dgmm
    from portagpu.linalg.products import geam as geam
    from portagpu.linalg.products import gemmt as gemmt
    from portagpu.linalg.products import symm as symm
    from portagpu.linalg.products import syrk as syrk
    from portagpu.linalg.products import transpose as transpose
    from portagpu.linalg.products import trmm as trmm
    from portagpu.linalg.systems import det as det
    from portagpu.linalg.systems import inv as inv
    from portagpu.linalg.systems import solve as solve
    from portagpu.linalg.systems import solve_triangular as solve_triangular
    from portagpu.linalg.vector_updates import axpy as axpy
    from portagpu.linalg.vector_updates import scal as scal
    from portagpu.linalg.vectors import norm as norm
    from portagpu.linalg.vectors import vecdot as vecdot
else:

    def __getattr__(name: str) -> Any:
        """The functions: the kernels' sources are read at first use."""
        module = _FUNCTIONS.get(name)
        if module is not None:
            return getattr(importlib.import_module(f"portagpu.linalg.{module}"), name)
        raise unknown_attribute("portagpu.linalg", name, sys.modules[__name__], __dir__())


def __dir__() -> list[str]:
    return sorted({*globals(), *_FUNCTIONS})
