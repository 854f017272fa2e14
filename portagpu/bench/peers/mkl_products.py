"""oneMKL's own shared library through CBLAS's interface, where it is found: ``pip install mkl`` has it.

The interface is the documented one ("Developer Reference for oneMKL - C", BLAS routines), with 32-bit integers.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from portagpu.bench.method.turns import Call
from portagpu.blas.gemm.core.problem import Problem

_ROWS, _PLAIN = 101, 111
_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
_NAMES = ("libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so.1", "libmkl_rt.so", "mkl_rt.2.dll", "libmkl_rt.2.dylib")
_TRIAL = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
numbers = (ctypes.c_double * 1)(2.0)
one = ctypes.c_double(1.0)
library.cblas_dgemm(101, 111, 111, 1, 1, 1, one, numbers, 1, numbers, 1, ctypes.c_double(0.0), numbers, 1)
"""
Matrix = np.ndarray[Any, Any]


@cache
def opened() -> ctypes.CDLL | None:
    """The library, if it is found and works: where its parts are missing it ends the process, so a child tries it."""
    for path in _candidates():
        try:
            ctypes.CDLL(path)
            done = subprocess.run([sys.executable, "-c", _TRIAL, path], capture_output=True, timeout=60, check=False)
        except (OSError, subprocess.SubprocessError):
            continue
        if done.returncode == 0:
            return ctypes.CDLL(path)
    return None


def _candidates() -> Iterator[str]:
    yield from _NAMES
    folders = [Path(sys.prefix) / "lib", Path(sys.prefix) / "Library" / "bin"]
    try:
        files = importlib.metadata.files("mkl") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    paths = [Path(str(file.locate())) for file in files if file.name in _NAMES]
    yield from (str(path.resolve()) for path in paths)
    yield from (str(folder / name) for folder in folders for name in _NAMES if (folder / name).exists())


def label(library: ctypes.CDLL) -> str:
    """The implementation's name in tables."""
    text = ctypes.create_string_buffer(256)
    library.mkl_get_version_string(text, 256)
    version = re.search(r"Version ([\d.]+)", text.value.decode(errors="replace"))
    return f"oneMKL {version[1]}" if version else "oneMKL"


def prepare(library: ctypes.CDLL, problem: Problem, a: Matrix, b: Matrix) -> Call:
    """A product of the library, in a dtype of BLAS."""
    kind = np.dtype(problem.dtype)
    left, right = (np.ascontiguousarray(x.astype(kind, copy=False)) for x in (a, b))
    c = np.empty((*left.shape[:-1], right.shape[-1]), kind)
    m, n, k = problem.m, problem.n, problem.k
    one, zero = (_scalar(kind, value) for value in (1, 0))
    letter = _LETTERS[problem.dtype]
    sizes = map(ctypes.c_int, (m, n, k))
    operands: list[Any] = []
    for array, rows in ((left, k), (right, n)):
        operands += [_pointer(array), ctypes.c_int(rows)]
        operands += [ctypes.c_int(array[0].size)] if problem.batch > 1 else []
    result = [_pointer(c), ctypes.c_int(n)]
    name = f"cblas_{letter}gemm"
    if problem.batch > 1:
        name += "_batch_strided"
        result += [ctypes.c_int(m * n), ctypes.c_int(problem.batch)]
    function = getattr(library, name)
    function.restype = None
    options = [ctypes.c_int(value) for value in (_ROWS, _PLAIN, _PLAIN)]
    arguments = (*options, *sizes, one, *operands, zero, *result)

    def enqueue(keep: Any = (left, right)) -> None:
        function(*arguments)

    return Call(enqueue=enqueue, fetch=lambda: c)


def _pointer(array: Matrix) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _scalar(kind: np.dtype[Any], value: int) -> Any:
    """A factor as CBLAS takes it: real ones by value, complex ones by address."""
    if kind.kind == "c":
        made = (ctypes.c_float if kind.itemsize == 8 else ctypes.c_double) * 2
        return made(value, 0)
    return (ctypes.c_float if kind.itemsize == 4 else ctypes.c_double)(value)


__all__ = ["label", "opened", "prepare"]
