"""Portable BLAS, written in the dialect: the functions of `scipy.linalg.blas` under their names.

``import portagpu.blas as blas`` replaces ``from scipy.linalg import blas``: NumPy arrays give NumPy arrays, device
arrays give device arrays, enqueued on ``stream``.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from portagpu.errors import PortaGPUError, unknown_attribute

_MODULES = {
    "level1.axpy": "saxpy daxpy caxpy zaxpy sscal dscal cscal zscal csscal zdscal scopy dcopy ccopy zcopy sswap dswap "
    "cswap zswap",
    "level1.dot": "sdot ddot cdotu zdotu cdotc zdotc snrm2 dnrm2 scnrm2 dznrm2 sasum dasum scasum dzasum isamax idamax "
    "icamax izamax",
    "level1.rotations": "srot drot csrot zdrot srotm drotm srotg drotg crotg zrotg srotmg drotmg",
    "level2.banded": "cgbmv chbmv ctbmv ctbsv dgbmv dsbmv dtbmv dtbsv sgbmv ssbmv stbmv stbsv zgbmv zhbmv ztbmv ztbsv",
    "level2.gemv": "cgemv dgemv sgemv zgemv",
    "level2.ger": "cgerc cgeru dger sger zgerc zgeru",
    "level2.packed": "chpmv cspmv ctpmv ctpsv dspmv dtpmv dtpsv sspmv stpmv stpsv zhpmv zspmv ztpmv ztpsv",
    "level2.packed_updates": "chpr chpr2 cspr dspr dspr2 sspr sspr2 zhpr zhpr2 zspr",
    "level2.symv": "chemv dsymv ssymv zhemv",
    "level2.syr": "cher cher2 csyr dsyr dsyr2 ssyr ssyr2 zher zher2 zsyr",
    "level2.trmv": "ctrmv dtrmv strmv ztrmv",
    "level2.trsv": "ctrsv dtrsv strsv ztrsv",
    "level3.geam": "cdgmm ddgmm sdgmm zdgmm cgeam dgeam sgeam zgeam comatcopy domatcopy somatcopy zomatcopy",
    "level3.gemmt": "cgemmt dgemmt sgemmt zgemmt",
    "level3.gemm": "cgemm dgemm sgemm zgemm",
    "level3.symm": "ssymm dsymm csymm zsymm chemm zhemm",
    "level3.syrk": "ssyrk dsyrk csyrk zsyrk cherk zherk ssyr2k dsyr2k csyr2k zsyr2k cher2k zher2k",
    "level3.trmm": "strmm dtrmm ctrmm ztrmm strsm dtrsm ctrsm ztrsm",
}
ROUTINES = {name: module for module, names in _MODULES.items() for name in names.split()}
"""The names of BLAS functions, and the module of each."""

_FINDERS = dict.fromkeys(("find_best_blas_type", "get_blas_funcs"), "names")
_F2PY_ERROR = "__fblas_error"  # the name that SciPy's module has for what its functions raise

HAS_ILP64 = False  # one interface: its sizes and indices have 64 bits where arrays need them

__all__ = [
    "HAS_ILP64",
    *ROUTINES,
    *_FINDERS,
]


if TYPE_CHECKING:
    from portagpu.blas.level1.axpy import caxpy as caxpy
    from portagpu.blas.level1.axpy import ccopy as ccopy
    from portagpu.blas.level1.axpy import cscal as cscal
    from portagpu.blas.level1.axpy import csscal as csscal
    from portagpu.blas.level1.axpy import cswap as cswap
    from portagpu.blas.level1.axpy import daxpy as daxpy
    from portagpu.blas.level1.axpy import dcopy as dcopy
    from portagpu.blas.level1.axpy import dscal as dscal
    from portagpu.blas.level1.axpy import dswap as dswap
    from portagpu.blas.level1.axpy import saxpy as saxpy
    from portagpu.blas.level1.axpy import scopy as scopy
    from portagpu.blas.level1.axpy import sscal as sscal
    from portagpu.blas.level1.axpy import sswap as sswap
    from portagpu.blas.level1.axpy import zaxpy as zaxpy
    from portagpu.blas.level1.axpy import zcopy as zcopy
    from portagpu.blas.level1.axpy import zdscal as zdscal
    from portagpu.blas.level1.axpy import zscal as zscal
    from portagpu.blas.level1.axpy import zswap as zswap
    from portagpu.blas.level1.dot import cdotc as cdotc
    from portagpu.blas.level1.dot import cdotu as cdotu
    from portagpu.blas.level1.dot import dasum as dasum
    from portagpu.blas.level1.dot import ddot as ddot
    from portagpu.blas.level1.dot import dnrm2 as dnrm2
    from portagpu.blas.level1.dot import dzasum as dzasum
    from portagpu.blas.level1.dot import dznrm2 as dznrm2
    from portagpu.blas.level1.dot import icamax as icamax
    from portagpu.blas.level1.dot import idamax as idamax
    from portagpu.blas.level1.dot import isamax as isamax
    from portagpu.blas.level1.dot import izamax as izamax
    from portagpu.blas.level1.dot import sasum as sasum
    from portagpu.blas.level1.dot import scasum as scasum
    from portagpu.blas.level1.dot import scnrm2 as scnrm2
    from portagpu.blas.level1.dot import sdot as sdot
    from portagpu.blas.level1.dot import snrm2 as snrm2
    from portagpu.blas.level1.dot import zdotc as zdotc
    from portagpu.blas.level1.dot import zdotu as zdotu
    from portagpu.blas.level1.rotations import crotg as crotg
    from portagpu.blas.level1.rotations import csrot as csrot
    from portagpu.blas.level1.rotations import drot as drot
    from portagpu.blas.level1.rotations import drotg as drotg
    from portagpu.blas.level1.rotations import drotm as drotm
    from portagpu.blas.level1.rotations import drotmg as drotmg
    from portagpu.blas.level1.rotations import srot as srot
    from portagpu.blas.level1.rotations import srotg as srotg
    from portagpu.blas.level1.rotations import srotm as srotm
    from portagpu.blas.level1.rotations import srotmg as srotmg
    from portagpu.blas.level1.rotations import zdrot as zdrot
    from portagpu.blas.level1.rotations import zrotg as zrotg
    from portagpu.blas.level2.banded import cgbmv as cgbmv
    from portagpu.blas.level2.banded import chbmv as chbmv
    from portagpu.blas.level2.banded import ctbmv as ctbmv
    from portagpu.blas.level2.banded import ctbsv as ctbsv
    from portagpu.blas.level2.banded import dgbmv as dgbmv
    from portagpu.blas.level2.banded import dsbmv as dsbmv
    from portagpu.blas.level2.banded import dtbmv as dtbmv
    from portagpu.blas.level2.banded import dtbsv as dtbsv
    from portagpu.blas.level2.banded import sgbmv as sgbmv
    from portagpu.blas.level2.banded import ssbmv as ssbmv
    from portagpu.blas.level2.banded import stbmv as stbmv
    from portagpu.blas.level2.banded import stbsv as stbsv
    from portagpu.blas.level2.banded import zgbmv as zgbmv
    from portagpu.blas.level2.banded import zhbmv as zhbmv
    from portagpu.blas.level2.banded import ztbmv as ztbmv
    from portagpu.blas.level2.banded import ztbsv as ztbsv
    from portagpu.blas.level2.gemv import cgemv as cgemv
    from portagpu.blas.level2.gemv import dgemv as dgemv
    from portagpu.blas.level2.gemv import sgemv as sgemv
    from portagpu.blas.level2.gemv import zgemv as zgemv
    from portagpu.blas.level2.ger import cgerc as cgerc
    from portagpu.blas.level2.ger import cgeru as cgeru
    from portagpu.blas.level2.ger import dger as dger
    from portagpu.blas.level2.ger import sger as sger
    from portagpu.blas.level2.ger import zgerc as zgerc
    from portagpu.blas.level2.ger import zgeru as zgeru
    from portagpu.blas.level2.packed import chpmv as chpmv
    from portagpu.blas.level2.packed import cspmv as cspmv
    from portagpu.blas.level2.packed import ctpmv as ctpmv
    from portagpu.blas.level2.packed import ctpsv as ctpsv
    from portagpu.blas.level2.packed import dspmv as dspmv
    from portagpu.blas.level2.packed import dtpmv as dtpmv
    from portagpu.blas.level2.packed import dtpsv as dtpsv
    from portagpu.blas.level2.packed import sspmv as sspmv
    from portagpu.blas.level2.packed import stpmv as stpmv
    from portagpu.blas.level2.packed import stpsv as stpsv
    from portagpu.blas.level2.packed import zhpmv as zhpmv
    from portagpu.blas.level2.packed import zspmv as zspmv
    from portagpu.blas.level2.packed import ztpmv as ztpmv
    from portagpu.blas.level2.packed import ztpsv as ztpsv
    from portagpu.blas.level2.packed_updates import chpr as chpr
    from portagpu.blas.level2.packed_updates import chpr2 as chpr2
    from portagpu.blas.level2.packed_updates import cspr as cspr
    from portagpu.blas.level2.packed_updates import dspr as dspr
    from portagpu.blas.level2.packed_updates import dspr2 as dspr2
    from portagpu.blas.level2.packed_updates import sspr as sspr
    from portagpu.blas.level2.packed_updates import sspr2 as sspr2
    from portagpu.blas.level2.packed_updates import zhpr as zhpr
    from portagpu.blas.level2.packed_updates import zhpr2 as zhpr2
    from portagpu.blas.level2.packed_updates import zspr as zspr
    from portagpu.blas.level2.symv import chemv as chemv
    from portagpu.blas.level2.symv import dsymv as dsymv
    from portagpu.blas.level2.symv import ssymv as ssymv
    from portagpu.blas.level2.symv import zhemv as zhemv
    from portagpu.blas.level2.syr import cher as cher
    from portagpu.blas.level2.syr import cher2 as cher2
    from portagpu.blas.level2.syr import csyr as csyr
    from portagpu.blas.level2.syr import dsyr as dsyr
    from portagpu.blas.level2.syr import dsyr2 as dsyr2
    from portagpu.blas.level2.syr import ssyr as ssyr
    from portagpu.blas.level2.syr import ssyr2 as ssyr2
    from portagpu.blas.level2.syr import zher as zher
    from portagpu.blas.level2.syr import zher2 as zher2
    from portagpu.blas.level2.syr import zsyr as zsyr
    from portagpu.blas.level2.trmv import ctrmv as ctrmv
    from portagpu.blas.level2.trmv import dtrmv as dtrmv
    from portagpu.blas.level2.trmv import strmv as strmv
    from portagpu.blas.level2.trmv import ztrmv as ztrmv
    from portagpu.blas.level2.trsv import ctrsv as ctrsv
    from portagpu.blas.level2.trsv import dtrsv as dtrsv
    from portagpu.blas.level2.trsv import strsv as strsv
    from portagpu.blas.level2.trsv import ztrsv as ztrsv
    from portagpu.blas.level3.geam import cdgmm as cdgmm
    from portagpu.blas.level3.geam import cgeam as cgeam
    from portagpu.blas.level3.geam import comatcopy as comatcopy
    from portagpu.blas.level3.geam import ddgmm as ddgmm
    from portagpu.blas.level3.geam import dgeam as dgeam
    from portagpu.blas.level3.geam import domatcopy as domatcopy
    from portagpu.blas.level3.geam import sdgmm as sdgmm
    from portagpu.blas.level3.geam import sgeam as sgeam
    from portagpu.blas.level3.geam import somatcopy as somatcopy
    from portagpu.blas.level3.geam import zdgmm as zdgmm
    from portagpu.blas.level3.geam import zgeam as zgeam
    from portagpu.blas.level3.geam import zomatcopy as zomatcopy
    from portagpu.blas.level3.gemm import cgemm as cgemm
    from portagpu.blas.level3.gemm import dgemm as dgemm
    from portagpu.blas.level3.gemm import sgemm as sgemm
    from portagpu.blas.level3.gemm import zgemm as zgemm
    from portagpu.blas.level3.gemmt import cgemmt as cgemmt
    from portagpu.blas.level3.gemmt import dgemmt as dgemmt
    from portagpu.blas.level3.gemmt import sgemmt as sgemmt
    from portagpu.blas.level3.gemmt import zgemmt as zgemmt
    from portagpu.blas.level3.symm import chemm as chemm
    from portagpu.blas.level3.symm import csymm as csymm
    from portagpu.blas.level3.symm import dsymm as dsymm
    from portagpu.blas.level3.symm import ssymm as ssymm
    from portagpu.blas.level3.symm import zhemm as zhemm
    from portagpu.blas.level3.symm import zsymm as zsymm
    from portagpu.blas.level3.syrk import cher2k as cher2k
    from portagpu.blas.level3.syrk import cherk as cherk
    from portagpu.blas.level3.syrk import csyr2k as csyr2k
    from portagpu.blas.level3.syrk import csyrk as csyrk
    from portagpu.blas.level3.syrk import dsyr2k as dsyr2k
    from portagpu.blas.level3.syrk import dsyrk as dsyrk
    from portagpu.blas.level3.syrk import ssyr2k as ssyr2k
    from portagpu.blas.level3.syrk import ssyrk as ssyrk
    from portagpu.blas.level3.syrk import zher2k as zher2k
    from portagpu.blas.level3.syrk import zherk as zherk
    from portagpu.blas.level3.syrk import zsyr2k as zsyr2k
    from portagpu.blas.level3.syrk import zsyrk as zsyrk
    from portagpu.blas.level3.trmm import ctrmm as ctrmm
    from portagpu.blas.level3.trmm import ctrsm as ctrsm
    from portagpu.blas.level3.trmm import dtrmm as dtrmm
    from portagpu.blas.level3.trmm import dtrsm as dtrsm
    from portagpu.blas.level3.trmm import strmm as strmm
    from portagpu.blas.level3.trmm import strsm as strsm
    from portagpu.blas.level3.trmm import ztrmm as ztrmm
    from portagpu.blas.level3.trmm import ztrsm as ztrsm
    from portagpu.blas.names import find_best_blas_type as find_best_blas_type
    from portagpu.blas.names import get_blas_funcs as get_blas_funcs
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
