"""LAPACK's factorisations and solvers: functions of `scipy.linalg.lapack` under their names.

``import portagpu.lapack as lapack`` replaces ``from scipy.linalg import lapack`` for them: NumPy arrays give NumPy
arrays, device arrays give device arrays, enqueued on ``stream``.

Beyond SciPy, matrices may have leading axes, which are those of a batch, the same for all arguments: many matrices are
factored in one launch. Right sides of a batch are matrices (..., n, m) or vectors (..., n). info is then an int32 array
with a number for each matrix, pivots and tau have the leading axes, too; results are in C order, and overwritten are
arrays that are in it.
"""

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
    from portagpu.lapack.cholesky import cposv as cposv
    from portagpu.lapack.cholesky import cpotrf as cpotrf
    from portagpu.lapack.cholesky import cpotri as cpotri
    from portagpu.lapack.cholesky import cpotrs as cpotrs
    from portagpu.lapack.cholesky import dposv as dposv
    from portagpu.lapack.cholesky import dpotrf as dpotrf
    from portagpu.lapack.cholesky import dpotri as dpotri
    from portagpu.lapack.cholesky import dpotrs as dpotrs
    from portagpu.lapack.cholesky import sposv as sposv
    from portagpu.lapack.cholesky import spotrf as spotrf
    from portagpu.lapack.cholesky import spotri as spotri
    from portagpu.lapack.cholesky import spotrs as spotrs
    from portagpu.lapack.cholesky import zposv as zposv
    from portagpu.lapack.cholesky import zpotrf as zpotrf
    from portagpu.lapack.cholesky import zpotri as zpotri
    from portagpu.lapack.cholesky import zpotrs as zpotrs
    from portagpu.lapack.lu import cgesv as cgesv
    from portagpu.lapack.lu import cgetrf as cgetrf
    from portagpu.lapack.lu import cgetri as cgetri
    from portagpu.lapack.lu import cgetrs as cgetrs
    from portagpu.lapack.lu import dgesv as dgesv
    from portagpu.lapack.lu import dgetrf as dgetrf
    from portagpu.lapack.lu import dgetri as dgetri
    from portagpu.lapack.lu import dgetrs as dgetrs
    from portagpu.lapack.lu import sgesv as sgesv
    from portagpu.lapack.lu import sgetrf as sgetrf
    from portagpu.lapack.lu import sgetri as sgetri
    from portagpu.lapack.lu import sgetrs as sgetrs
    from portagpu.lapack.lu import zgesv as zgesv
    from portagpu.lapack.lu import zgetrf as zgetrf
    from portagpu.lapack.lu import zgetri as zgetri
    from portagpu.lapack.lu import zgetrs as zgetrs
    from portagpu.lapack.names import get_lapack_funcs as get_lapack_funcs
    from portagpu.lapack.qr import cgeqrf as cgeqrf
    from portagpu.lapack.qr import cungqr as cungqr
    from portagpu.lapack.qr import cunmqr as cunmqr
    from portagpu.lapack.qr import dgeqrf as dgeqrf
    from portagpu.lapack.qr import dorgqr as dorgqr
    from portagpu.lapack.qr import dormqr as dormqr
    from portagpu.lapack.qr import sgeqrf as sgeqrf
    from portagpu.lapack.qr import sorgqr as sorgqr
    from portagpu.lapack.qr import sormqr as sormqr
    from portagpu.lapack.qr import zgeqrf as zgeqrf
    from portagpu.lapack.qr import zungqr as zungqr
    from portagpu.lapack.qr import zunmqr as zunmqr
    from portagpu.lapack.triangular import ctrtri as ctrtri
    from portagpu.lapack.triangular import ctrtrs as ctrtrs
    from portagpu.lapack.triangular import dtrtri as dtrtri
    from portagpu.lapack.triangular import dtrtrs as dtrtrs
    from portagpu.lapack.triangular import strtri as strtri
    from portagpu.lapack.triangular import strtrs as strtrs
    from portagpu.lapack.triangular import ztrtri as ztrtri
    from portagpu.lapack.triangular import ztrtrs as ztrtrs
else:

    def __getattr__(name: str) -> Any:
        """The functions of LAPACK: the kernels' sources are read at first use."""
        module = ROUTINES.get(name) or _FINDERS.get(name)
        if module is not None:
            return getattr(importlib.import_module(f"portagpu.lapack.{module}"), name)
        raise unknown_attribute("portagpu.lapack", name, sys.modules[__name__], __dir__())


def __dir__() -> list[str]:
    return sorted({*globals(), *ROUTINES, *_FINDERS})
