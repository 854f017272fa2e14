"""Portable BLAS, written in the dialect: the functions of `scipy.linalg.blas` under their names.

``import portagpu.blas as blas`` replaces ``from scipy.linalg import blas``: NumPy arrays give NumPy arrays, device
arrays give device arrays, enqueued on ``stream``.
"""

# ruff: noqa: F401  (names for type checkers, which `__all__` has, too)

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from portagpu.errors import PortaGPUError, unknown_attribute

_MODULES = {
    "level2.banded": "cgbmv chbmv ctbmv ctbsv dgbmv dsbmv dtbmv dtbsv sgbmv ssbmv stbmv stbsv zgbmv zhbmv ztbmv ztbsv",
    "level2.packed": "chpmv cspmv ctpmv ctpsv dspmv dtpmv dtpsv sspmv stpmv stpsv zhpmv zspmv ztpmv ztpsv",
    "level2.packed_updates": "chpr chpr2 cspr dspr dspr2 sspr sspr2 zhpr zhpr2 zspr",
    "level1.axpy": "saxpy daxpy caxpy zaxpy sscal dscal cscal zscal csscal zdscal"
    " scopy dcopy ccopy zcopy sswap dswap cswap zswap",
    "level1.dot": "sdot ddot cdotu zdotu cdotc zdotc snrm2 dnrm2 scnrm2 dznrm2 sasum dasum scasum dzasum"
    " isamax idamax icamax izamax",
    "level1.rotations": "srot drot csrot zdrot srotm drotm srotg drotg crotg zrotg srotmg drotmg",
    "level2.ger": "cgerc cgeru dger sger zgerc zgeru",
    "level2.gemv": "cgemv dgemv sgemv zgemv",
    "level2.symv": "chemv dsymv ssymv zhemv",
    "level2.syr": "cher cher2 csyr dsyr dsyr2 ssyr ssyr2 zher zher2 zsyr",
    "level2.trmv": "ctrmv dtrmv strmv ztrmv",
    "level2.trsv": "ctrsv dtrsv strsv ztrsv",
    "level3.gemm": "cgemm dgemm sgemm zgemm",
    "level3.symm": "ssymm dsymm csymm zsymm chemm zhemm",
    "level3.syrk": "ssyrk dsyrk csyrk zsyrk cherk zherk ssyr2k dsyr2k csyr2k zsyr2k cher2k zher2k",
    "level3.trmm": "strmm dtrmm ctrmm ztrmm strsm dtrsm ctrsm ztrsm",
}
ROUTINES = {name: module for module, names in _MODULES.items() for name in names.split()}
"""The names of BLAS functions, and the module of each."""

_FINDERS = dict.fromkeys(("find_best_blas_type", "get_blas_funcs"), "names")
_F2PY_ERROR = "__fblas_error"  # the name that SciPy's module has for what its functions raise

HAS_ILP64 = True  # sizes and indices have 64 bits where arrays need them

__all__ = [
    "HAS_ILP64",
    *ROUTINES,
    *_FINDERS,
]


if TYPE_CHECKING:
    from portagpu.blas.level1.axpy import (
        caxpy,
        ccopy,
        cscal,
        csscal,
        cswap,
        daxpy,
        dcopy,
        dscal,
        dswap,
        saxpy,
        scopy,
        sscal,
        sswap,
        zaxpy,
        zcopy,
        zdscal,
        zscal,
        zswap,
    )
    from portagpu.blas.level1.dot import (
        cdotc,
        cdotu,
        dasum,
        ddot,
        dnrm2,
        dzasum,
        dznrm2,
        icamax,
        idamax,
        isamax,
        izamax,
        sasum,
        scasum,
        scnrm2,
        sdot,
        snrm2,
        zdotc,
        zdotu,
    )
    from portagpu.blas.level1.rotations import (
        crotg,
        csrot,
        drot,
        drotg,
        drotm,
        drotmg,
        srot,
        srotg,
        srotm,
        srotmg,
        zdrot,
        zrotg,
    )
    from portagpu.blas.level2.banded import (
        cgbmv,
        chbmv,
        ctbmv,
        ctbsv,
        dgbmv,
        dsbmv,
        dtbmv,
        dtbsv,
        sgbmv,
        ssbmv,
        stbmv,
        stbsv,
        zgbmv,
        zhbmv,
        ztbmv,
        ztbsv,
    )
    from portagpu.blas.level2.gemv import cgemv, dgemv, sgemv, zgemv
    from portagpu.blas.level2.ger import cgerc, cgeru, dger, sger, zgerc, zgeru
    from portagpu.blas.level2.packed import (
        chpmv,
        cspmv,
        ctpmv,
        ctpsv,
        dspmv,
        dtpmv,
        dtpsv,
        sspmv,
        stpmv,
        stpsv,
        zhpmv,
        zspmv,
        ztpmv,
        ztpsv,
    )
    from portagpu.blas.level2.packed_updates import chpr, chpr2, cspr, dspr, dspr2, sspr, sspr2, zhpr, zhpr2, zspr
    from portagpu.blas.level2.symv import chemv, dsymv, ssymv, zhemv
    from portagpu.blas.level2.syr import cher, cher2, csyr, dsyr, dsyr2, ssyr, ssyr2, zher, zher2, zsyr
    from portagpu.blas.level2.trmv import ctrmv, dtrmv, strmv, ztrmv
    from portagpu.blas.level2.trsv import ctrsv, dtrsv, strsv, ztrsv
    from portagpu.blas.level3.gemm import cgemm, dgemm, sgemm, zgemm
    from portagpu.blas.level3.symm import chemm, csymm, dsymm, ssymm, zhemm, zsymm
    from portagpu.blas.level3.syrk import (
        cher2k,
        cherk,
        csyr2k,
        csyrk,
        dsyr2k,
        dsyrk,
        ssyr2k,
        ssyrk,
        zher2k,
        zherk,
        zsyr2k,
        zsyrk,
    )
    from portagpu.blas.level3.trmm import ctrmm, ctrsm, dtrmm, dtrsm, strmm, strsm, ztrmm, ztrsm
    from portagpu.blas.names import find_best_blas_type, get_blas_funcs
else:

    def __getattr__(name: str) -> Any:
        """The functions of BLAS: the kernels' sources are read at first use."""
        module = ROUTINES.get(name) or _FINDERS.get(name)
        if module is not None:
            return getattr(importlib.import_module(f"portagpu.blas.{module}"), name)
        if name == _F2PY_ERROR:
            return PortaGPUError
        raise unknown_attribute("portagpu.blas", name, sys.modules[__name__], __dir__())


def __dir__() -> list[str]:
    return sorted({*globals(), *ROUTINES, *_FINDERS})
