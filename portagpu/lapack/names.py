"""`get_lapack_funcs`: LAPACK functions found by their names without the letter of the dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from portagpu.blas.names import functions_named

# SciPy knows the unitary ones by the names of the orthogonal ones, so that one name serves all dtypes
_ALIASES = {letter + "or" + name: letter + "un" + name for letter in "cz" for name in ("mqr", "gqr")}


def get_lapack_funcs(
    names: str | Sequence[str], arrays: Sequence[Any] = (), dtype: Any = None, ilp64: bool | str = False
) -> Any:
    """The function of LAPACK for a name without its letter ("potrf"), or a list of those for several.

    The letter is that of ``portagpu.blas.find_best_blas_type`` for ``arrays`` and ``dtype``. ``ilp64``: as of
    ``portagpu.blas.get_blas_funcs``. Raises `UnknownOptionError` for a name that there is not, `NoILP64Error`. As
    `scipy.linalg.lapack.get_lapack_funcs`.
    """
    return functions_named("LAPACK", "portagpu.lapack", names, arrays, dtype, ilp64, _ALIASES)
