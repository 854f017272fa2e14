"""The tables of docs/blas.md: every routine, its dtypes, what chooses its parameters; shipped results by device.

Names and dtypes are those of the package's functions; `tests/packaging/test_routines_table.py` calls each and looks
which tunables it used.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from portagpu import blas, lapack, linalg
from portagpu.tuning.choice import shipped_folder
from tools.docstrings import table
from tools.page_blocks import with_block

PAGE = Path(__file__).parents[1] / "docs/blas.md"
_DTYPES = ("float32", "float64", "complex64", "complex128")
_MIXED = ("is", "id", "ic", "iz", "sc", "dz", "cs", "zd")  # letters of names such as isamax, dznrm2, csscal
_MIXED_STEMS = ("amax", "nrm2", "asum", "scal", "rot")

HALVES = {"axpy": "axpy", "scal": "scal", "dot": "vecdot", "nrm2": "norm", "gemv": "matvec", "gemm": "matmul"}
"""Functions of `portagpu.linalg` that take float16 and bfloat16, too, by routine."""

TUNABLES = {
    name: tunable
    for tunable, names in {
        "vector_map": "axpy scal copy swap rot rotm",
        "vector_sum": "dot dotu dotc nrm2 asum amax",
        "matrix_vector": "symv hemv spmv hpmv trmv tpmv",
        "banded_vector": "gbmv sbmv hbmv tbmv",
        "gemm": "gemv gemm gemmt symm hemm syrk herk syr2k her2k trmm trsm",
    }.items()
    for name in names.split()
}
"""What has a routine's parameters chosen; others have kernels of which each device gets one form."""

COMPLEX_TUNABLES = TUNABLES | {"gemv": "matrix_vector"}


def stem(name: str) -> str:
    """A routine's name without the letters of the dtype: "axpy" of "saxpy", "nrm2" of "dznrm2"."""
    return name[2:] if name.startswith(_MIXED) and name[2:] in _MIXED_STEMS else name[1:]


def tunable(function: Any) -> str:
    """The tunable of a function of `portagpu.blas`, or ""."""
    known = COMPLEX_TUNABLES if function.typecode in "cz" else TUNABLES
    return known.get(stem(function.__name__), "")


def families(library: Any, module: str = "") -> dict[str, list[Any]]:
    """The functions of a library, in modules whose name begins so, by routine."""
    found: dict[str, list[Any]] = {}
    for name, place in library.ROUTINES.items():
        if place.startswith(module):
            found.setdefault(stem(name), []).append(getattr(library, name))
    return found


def _by_dtype(functions: Iterable[Any]) -> Iterator[str]:
    known = list(functions)
    for dtype in _DTYPES:
        yield " ".join(f"`{one.__name__}`" for one in known if one.dtype == dtype) or "-"


def _chosen(functions: Iterable[Any]) -> str:
    """The tunables, where complex functions have another one with their dtypes."""
    real, other = ({tunable(one) for one in functions if one.typecode in letters} for letters in ("sd", "cz"))
    named = [f"`{name}`" for name in sorted(real) if name]
    named += [f"`{name}` (complex)" if real else f"`{name}`" for name in sorted(other - real) if name]
    return ", ".join(named) or "-"


def _rows(level: str) -> Iterator[tuple[str, ...]]:
    for name, functions in sorted(families(blas, level).items()):
        half = HALVES.get(name)
        if half is not None and half not in linalg.__all__:
            raise ValueError(f"portagpu.linalg has no {half}")
        yield name, *_by_dtype(functions), f"`linalg.{half}`" if half else "-", _chosen(functions)


def routines() -> str:
    """A table for each level."""
    header = " | ".join(("Routine", *_DTYPES, "float16, bfloat16", "Tunable"))
    parts = [f"\n### Level {level}\n\n{table(header, list(_rows(f'level{level}.')))}" for level in (1, 2, 3)]
    return "".join(parts)


def solvers() -> str:
    """The table of `portagpu.lapack`."""
    rows = [(name, *_by_dtype(functions)) for name, functions in sorted(families(lapack).items())]
    return f"\n{table(' | '.join(('Routine', *_DTYPES)), rows)}"


def shipped() -> str:
    """A row for each class of devices and tunable that results come with the package for."""
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for path in sorted(shipped_folder().glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            task = json.loads(line).get("task")
            if task is not None:
                dtypes = counts.setdefault((task["device"], task["kernel"]), {})
                dtypes[task["dtype"]] = dtypes.get(task["dtype"], 0) + 1
    rows = [
        (device, f"`{kernel}`", ", ".join(f"{dtype} ({n})" for dtype, n in sorted(dtypes.items())))
        for (device, kernel), dtypes in sorted(counts.items())
    ]
    return f"\n{table('Class of devices | Tunable | Dtypes (problems that were measured)', rows)}"


def text() -> str:
    """The page with the tables as the package is now."""
    page = PAGE.read_text(encoding="utf-8")
    for name, body in (("routines", routines()), ("solvers", solvers()), ("shipped", shipped())):
        page = with_block(PAGE, name, body, page)
    return page
