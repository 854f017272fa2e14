"""`get_lapack_funcs`: LAPACK functions found by their names without the letter of the dtype."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from portagpu.blas.names import find_best_blas_type
from portagpu.errors import UnknownOptionError, did_you_mean


def get_lapack_funcs(
    names: str | Sequence[str], arrays: Sequence[Any] = (), dtype: Any = None, ilp64: bool | str = False
) -> Any:
    """The function of LAPACK for a name without its letter ("potrf"), or a list of those for several.

    The letter is that of ``portagpu.blas.find_best_blas_type`` for ``arrays`` and ``dtype``. ``ilp64``: taken as SciPy
    takes it; sizes have 64 bits in any case. Raises `UnknownOptionError` for a name that there is not. As
    `scipy.linalg.lapack.get_lapack_funcs`.
    """
    if isinstance(ilp64, str) and ilp64 != "preferred":
        raise UnknownOptionError(f"ilp64 is {ilp64!r}", hint="True, False or 'preferred'")
    prefix, _, _ = find_best_blas_type(arrays, dtype)
    if isinstance(names, str):
        return _function(prefix + names)
    return [_function(prefix + name) for name in names]


def _function(name: str) -> Callable[..., Any]:
    lapack = importlib.import_module("portagpu.lapack")
    known = lapack.ROUTINES
    if name not in known:
        near = did_you_mean(name, known)
        raise UnknownOptionError(f"there is no function {name}", hint=f"{near}dir(portagpu.lapack) lists them")
    found: Callable[..., Any] = getattr(lapack, name)
    return found
