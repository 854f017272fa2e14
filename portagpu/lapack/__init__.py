"""LAPACK's factorisations and solvers: functions of `scipy.linalg.lapack` under their names.

``import portagpu.lapack as lapack`` replaces ``from scipy.linalg import lapack`` for them: NumPy arrays give NumPy
arrays, device arrays give device arrays, enqueued on ``stream``.
"""

# ruff: noqa: F401  (names for type checkers, which `__all__` has, too)

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from portagpu.errors import unknown_attribute

_MODULES = {
    "cholesky": "cposv cpotrf cpotri cpotrs dposv dpotrf dpotri dpotrs "
    "sposv spotrf spotri spotrs zposv zpotrf zpotri zpotrs",
    "lu": "cgesv cgetrf cgetri cgetrs dgesv dgetrf dgetri dgetrs sgesv sgetrf sgetri sgetrs zgesv zgetrf zgetri zgetrs",
    "qr": "cgeqrf cungqr cunmqr dgeqrf dorgqr dormqr sgeqrf sorgqr sormqr zgeqrf zungqr zunmqr",
    "triangular": "ctrtri ctrtrs dtrtri dtrtrs strtri strtrs ztrtri ztrtrs",
}
ROUTINES = {name: module for module, names in _MODULES.items() for name in names.split()}
"""The names of LAPACK functions, and the module of each."""

_FINDERS = dict.fromkeys(("get_lapack_funcs",), "names")

__all__ = [*ROUTINES, *_FINDERS]

if TYPE_CHECKING:
    from portagpu.lapack.cholesky import (
        cposv,
        cpotrf,
        cpotri,
        cpotrs,
        dposv,
        dpotrf,
        dpotri,
        dpotrs,
        sposv,
        spotrf,
        spotri,
        spotrs,
        zposv,
        zpotrf,
        zpotri,
        zpotrs,
    )
    from portagpu.lapack.lu import (
        cgesv,
        cgetrf,
        cgetri,
        cgetrs,
        dgesv,
        dgetrf,
        dgetri,
        dgetrs,
        sgesv,
        sgetrf,
        sgetri,
        sgetrs,
        zgesv,
        zgetrf,
        zgetri,
        zgetrs,
    )
    from portagpu.lapack.names import get_lapack_funcs
    from portagpu.lapack.qr import (
        cgeqrf,
        cungqr,
        cunmqr,
        dgeqrf,
        dorgqr,
        dormqr,
        sgeqrf,
        sorgqr,
        sormqr,
        zgeqrf,
        zungqr,
        zunmqr,
    )
    from portagpu.lapack.triangular import ctrtri, ctrtrs, dtrtri, dtrtrs, strtri, strtrs, ztrtri, ztrtrs
else:

    def __getattr__(name: str) -> Any:
        """The functions of LAPACK: the kernels' sources are read at first use."""
        module = ROUTINES.get(name) or _FINDERS.get(name)
        if module is not None:
            return getattr(importlib.import_module(f"portagpu.lapack.{module}"), name)
        raise unknown_attribute("portagpu.lapack", name, sys.modules[__name__], __dir__())


def __dir__() -> list[str]:
    return sorted({*globals(), *ROUTINES, *_FINDERS})
