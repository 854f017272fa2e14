"""`get_blas_funcs` and `find_best_blas_type`: BLAS functions found by their names without the letter of the dtype."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from portagpu.errors import NoILP64Error, UnknownOptionError, did_you_mean
from portagpu.runtime.arrays.array import DeviceNDArray

_PREFIXES = {"s": "f", "d": "d", "c": "F", "z": "D"}  # BLAS's letters, NumPy's characters
_SINGLE = "?bBhHef"  # dtypes whose numbers float32 holds, in the order of NumPy's characters
_COMPLEX = {"F": "c", "D": "z", "G": "z"}

# one routine for real numbers where there are two for complex ones, and names that have the letters of two dtypes
_ALIASES = {
    "cnrm2": "scnrm2",
    "znrm2": "dznrm2",
    "cdot": "cdotc",
    "zdot": "zdotc",
    "cger": "cgerc",
    "zger": "zgerc",
    "sdotc": "sdot",
    "sdotu": "sdot",
    "ddotc": "ddot",
    "ddotu": "ddot",
}


def find_best_blas_type(arrays: Sequence[Any] = (), dtype: Any = None) -> tuple[str, np.dtype[Any], bool]:
    """The letter of a dtype in BLAS's names, that dtype, and whether the first array of it is in Fortran order.

    arrays: NumPy arrays or device arrays; the dtype is the most general one of theirs (complex128 for complex64 and
    float64 together). ``dtype`` counts where there are none. What BLAS does not have is computed in float64. As
    `scipy.linalg.blas.find_best_blas_type`.
    """
    if not arrays:
        prefix = _prefix(np.dtype(dtype))
        return prefix, np.dtype(_PREFIXES[prefix]), False
    found = [_prefix(array.dtype) for array in arrays]
    best = max(found, key="sdcz".index)
    first = arrays[found.index(best)]
    if best == "c" and "d" in found:
        best = "z"
    return best, np.dtype(_PREFIXES[best]), _is_fortran(first)


def _prefix(dtype: np.dtype[Any]) -> str:
    return _COMPLEX.get(dtype.char, "s" if dtype.char in _SINGLE else "d")


def _is_fortran(array: Any) -> bool:
    if isinstance(array, DeviceNDArray):
        return array.is_f_contiguous()
    return bool(array.flags.f_contiguous)


def get_blas_funcs(
    names: str | Sequence[str], arrays: Sequence[Any] = (), dtype: Any = None, ilp64: bool | str = False
) -> Any:
    """The function of BLAS for a name without its letter ("gemm"), or a list of those for several.

    The letter is that of `find_best_blas_type` for ``arrays`` and ``dtype``. The functions have the attributes that
    SciPy gives to its own: ``typecode`` (the letter), ``dtype``, ``int_dtype``, ``prefix``, ``module_name``. ``ilp64``:
    "preferred" or False; True, an interface of its own with 64-bit integers, raises `NoILP64Error` as SciPy's builds
    without one do: sizes have 64 bits in any case. Raises `UnknownOptionError` for a name that BLAS does not have. As
    `scipy.linalg.blas.get_blas_funcs`.
    """
    return functions_named("BLAS", "portagpu.blas", names, arrays, dtype, ilp64, _ALIASES)


def functions_named(
    library: str,
    module: str,
    names: str | Sequence[str],
    arrays: Sequence[Any],
    dtype: Any,
    ilp64: bool | str,
    aliases: Mapping[str, str],
) -> Any:
    """The functions of a module's ``ROUTINES`` for names without their letters: see `get_blas_funcs`."""
    if isinstance(ilp64, str) and ilp64 != "preferred":
        raise UnknownOptionError(f"ilp64 is {ilp64!r}", hint="True, False or 'preferred'")
    if ilp64 and ilp64 != "preferred":
        raise NoILP64Error(
            f"{library} has no interface of 64-bit integers apart from this one (ilp64={ilp64!r})",
            hint="leave ilp64 out: sizes and indices have 64 bits where arrays need them",
        )
    prefix, _, _ = find_best_blas_type(arrays, dtype)
    found = importlib.import_module(module)

    def function(name: str) -> Callable[..., Any]:
        wanted = aliases.get(name, name)
        if wanted not in found.ROUTINES:
            near = did_you_mean(wanted, found.ROUTINES)
            raise UnknownOptionError(f"{library} has no function {name}", hint=f"{near}dir({module}) lists them")
        made: Callable[..., Any] = getattr(found, wanted)
        return made

    if isinstance(names, str):
        return function(prefix + names)
    return [function(prefix + name) for name in names]
