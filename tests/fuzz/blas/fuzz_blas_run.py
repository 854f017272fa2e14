"""Execution of a generated BLAS or solver call on the device and by SciPy or NumPy, and the comparison.

A program prepares operands and ends with one call. Operands are views of memory that is NaN elsewhere (`framed`).
Entries are small whole numbers, so that products are exact in any order of additions. Solvers get dominant diagonals,
and solutions are judged by their residuals (`System`). The annotation of the call has the allowed error of factors and
norms, "within N", in units of the result's eps times its largest element, and names of operands that are overwritten,
"writes c". Calls that SciPy refuses are `Invalid`.
The call is made twice more in the same thread and in two threads at a time, each with new operands: all bits agree.
"""

from __future__ import annotations

import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import fuzz_blas_reference as reference
import numpy as np
import scipy.linalg
from fuzz_blas_systems import SYSTEMS, System
from fuzz_lines import Program, annotation
from fuzz_subject import Invalid

from portagpu import blas, cuda, lapack, linalg
from portagpu.errors import ArgumentTypeError
from portagpu.runtime.arrays.array import DeviceNDArray

# SciPy passes leading dimensions of 0 for matrices without rows, which its library refuses by a message on the
# terminal. Rows of some results are columns of transposed operands
_HAS_ROWS_OF_TRANSPOSE = re.compile(r"= blas\.[sdcz](?:syr|her)2?k\(.*\btrans=")
_TAKES_ROWS_ALONE = re.compile(r"= (?:blas|lapack)\.[sdcz](?!gemm\(|gemmt|omatcopy|geam|dgmm)")


def framed(
    kind: str, shape: Any, inner: Any, seed: int, form: str = "", order: str = "C", *, transposed: bool = False
) -> np.ndarray[Any, Any]:
    """Memory of NaN with small whole numbers at ``inner``, of whose transpose ``form`` is the form if ``transposed``.

    ``form``: words. upper, lower: only that triangle has numbers; unit: the diagonal has none; dominant, positive: a
    diagonal that is larger than all else, whose matrix is Hermitian for positive; turned: rows in another order;
    blank: no number at all.
    """
    dtype = np.dtype(kind)
    random = np.random.default_rng(seed)
    nan = complex(np.nan, np.nan) if dtype.kind == "c" else np.nan if dtype.kind == "f" else 99
    memory = np.full(shape, nan, dtype, order=order)  # type: ignore[call-overload]
    target = memory[inner].T if transposed else memory[inner]
    numbers = random.integers(-3, 4, target.shape).astype("c16" if dtype.kind == "c" else "f8")
    if dtype.kind == "c":
        numbers = numbers + 1j * random.integers(-3, 4, target.shape)
    words = form.split()
    if target.ndim > 1:
        numbers = _formed(random, numbers, words, dtype)
    if "blank" not in words:
        target[...] = numbers if dtype.kind == "c" or numbers.dtype.kind != "c" else numbers.real
    return memory


def _formed(random: np.random.Generator, numbers: Any, words: list[str], dtype: np.dtype[Any]) -> Any:
    n = numbers.shape[-1]
    square = numbers.shape[-2] == n
    if "dominant" in words or "positive" in words:
        numbers = numbers / (16 * max(numbers.shape[-2:], default=1))
        if "positive" in words:
            numbers = (numbers + numbers.swapaxes(-1, -2).conj()) / 2
        rows, columns = np.diag_indices(min(numbers.shape[-2:]))
        numbers[..., rows, columns] = 1 + random.integers(0, 4, len(rows)) / 4
        if "turned" in words:
            numbers = numbers[..., random.permutation(numbers.shape[-2]), :]
    if square and ("upper" in words or "lower" in words):
        other = np.tri(n, n, -1, bool)
        numbers[..., other if "upper" in words else other.T] = np.nan
    if square and "unit" in words:
        numbers[..., np.arange(n), np.arange(n)] = np.nan
    return numbers


def packed(a: np.ndarray[Any, Any], lower: int) -> np.ndarray[Any, Any]:
    """The columns of a triangle, one after the other."""
    n = a.shape[0]
    columns = [a[j:, j] if lower else a[: j + 1, j] for j in range(n)]
    return np.concatenate([*columns, a[:0, 0] if n else np.empty(0, a.dtype)])


def banded(a: np.ndarray[Any, Any], k: int, lower: int) -> np.ndarray[Any, Any]:
    """The main diagonal and ``k`` others of a triangle as rows, NaN in the corners."""
    n = a.shape[0]
    result = np.full((k + 1, n), np.nan, a.dtype)
    for d in range(k + 1):
        if lower:
            result[d, : n - d] = np.diagonal(a, -d)
        else:
            result[k - d, d:] = np.diagonal(a, d)
    return result


def scope(device: bool) -> dict[str, Any]:
    """Names of a program on the device, or of SciPy and the references."""
    helpers = {"np": np, "framed": framed, "packed": packed, "banded": banded}
    if device:
        return {**helpers, "cuda": cuda, "blas": blas, "lapack": lapack, "linalg": linalg}
    host_cuda = SimpleNamespace(to_device=lambda x: np.array(x, order="K"))
    extended = SimpleNamespace(**{n: getattr(scipy.linalg.blas, n) for n in dir(scipy.linalg.blas) if n[0] != "_"})
    vars(extended).update(reference.beyond_scipy())
    return {
        **helpers,
        "cuda": host_cuda,
        "blas": extended,
        "lapack": scipy.linalg.lapack,
        "linalg": reference.Linalg,
    }


def run(program: Program, names: dict[str, Any], *, call: bool = True) -> list[Any]:
    """Results of the call, in whose scope operands stay."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for statement in program.statements[:-1]:
            exec(statement, names)
        if not call:
            return []
        exec(program.statements[-1], names)
    value = names["r"]
    return list(value) if isinstance(value, tuple | list) else [value]


def difference(program: Program) -> str:
    """The first difference between device and reference, or an empty text."""
    require_taken_by_scipy(program)
    try:
        expected = run(program, scope(False))
    except AttributeError as error:
        return f"the reference fails: {error!r}"
    except Exception as error:  # NameError: a program that lost statements while it was made smaller
        raise Invalid(str(error)) from error
    if any(isinstance(x, int) and x < 0 for x in expected):
        raise Invalid("LAPACK refuses an argument")
    system = system_of(program)
    device = scope(True)
    try:
        actual = run(program, device)
        results = [np.array(x) for x in actual]
    except Exception as error:
        if not may_be_refused(error, device):
            return f"raises {type(error).__name__}: {error}"
        return memory_differs(program, device, [], refused=True)
    if len(results) != len(expected):
        return f"{len(results)} results, of SciPy {len(expected)}"
    for n, (mine, theirs) in enumerate(zip(results, expected, strict=True)):
        solved = system if system is not None and n == system.result else None
        if problem := results_differ(mine, np.asarray(theirs), program.statements[-1], solved):
            return f"result {n}: {problem}"
    return memory_differs(program, device, results) or bits_differ(program, results)


def require_taken_by_scipy(program: Program) -> None:
    """Raise `Invalid` for matrices without rows, unless the reference takes them."""
    call = program.statements[-1]
    if not _TAKES_ROWS_ALONE.search(call):
        return
    names = scope(False)
    with suppress(NameError):
        run(program, names, call=False)
    matrices = [x for x in operands_of(names) if x.ndim > 1]
    if any(0 in (x.shape if _HAS_ROWS_OF_TRANSPOSE.search(call) else x.shape[:1]) for x in matrices):
        raise Invalid("a matrix has no rows")


def operands_of(names: dict[str, Any]) -> list[Any]:
    """Arrays that the program's call may take."""
    return [x for name, x in names.items() if isinstance(x, np.ndarray | DeviceNDArray) and name[-1] != "_"]


def may_be_refused(error: Exception, names: dict[str, Any]) -> bool:
    """Whether operands are on the host and on the device, or a result is over an operand."""
    of_both = len({isinstance(x, np.ndarray) for x in operands_of(names)}) > 1
    return isinstance(error, ArgumentTypeError) and (of_both or "shares memory" in str(error))


def system_of(program: Program) -> System | None:
    """The system that the program's call solves, None for other calls."""
    if (call := re.search(r"= (\w+)\.(\w+)\(", program.statements[-1])) and hasattr(SYSTEMS[call[1]], call[2]):
        system: System = run(program, scope(False) | SYSTEMS)[0]
        return system
    return None


def results_differ(mine: Any, theirs: Any, call: str, system: System | None = None) -> str:
    """A text about the first element that differs; elements that are NaN in the reference are open.

    The solution of a system is not compared.
    """
    if mine.shape != theirs.shape and not (mine.size == theirs.size == 0):
        return f"shape {mine.shape}, of the reference {theirs.shape}"
    if mine.size == 0:
        return ""
    if system is not None:
        return system.residual_differs(mine)
    allowed = 0.0
    if within := re.search(r"within (\d+)", annotation(call)):
        eps = np.finfo(mine.dtype).eps if mine.dtype.kind in "fc" else 0.0
        allowed = float(within[1]) * eps * max(1.0, float(np.nanmax(np.abs(theirs), initial=0)))
    with np.errstate(all="ignore"):
        right = (mine == theirs) | np.isnan(theirs) | (np.abs(mine - theirs) <= allowed)
    if np.all(right):
        return ""
    at = tuple(int(n[0]) for n in np.nonzero(~np.atleast_1d(right)))
    return (
        f"{np.count_nonzero(~right)} of {right.size} elements differ, at {at} "
        f"{np.atleast_1d(mine)[at]!r}, of the reference {np.atleast_1d(theirs)[at]!r}"
    )


def memory_differs(program: Program, device: dict[str, Any], results: list[Any], *, refused: bool = False) -> str:
    """Nothing is written but operands that the call may overwrite, which keep their elements or get a result's.

    ``refused``: the call has raised, and nothing is written.
    """
    written = [] if refused else annotation(program.statements[-1]).partition("writes ")[2].split()
    pristine = scope(False)
    run(program, pristine, call=False)
    for name in [n for n in pristine if n.endswith("_") and isinstance(pristine[n], np.ndarray)]:
        memory = np.asarray(device[name])
        if _same(memory, pristine[name]):
            continue
        if name[:-1] not in written:
            return f"{name[:-1]} is changed"
        kept = pristine[name].copy()
        for result in results:
            if result.shape == pristine[name[:-1]].shape:
                pristine[name[:-1]][...] = result
                if _same(memory, pristine[name]):
                    break
                pristine[name][...] = kept
        else:
            inner = pristine[name[:-1]]
            inner[...] = 0  # elements of the view are open, what is around it is not
            marks = pristine[name] == 0
            if not _same(np.where(marks, 0, memory), pristine[name]):
                return f"memory around {name[:-1]} is changed"
            return f"{name[:-1]} is overwritten by something that is no result"
    return ""


def _same(one: Any, other: Any) -> bool:
    if one.dtype.kind == "c":
        return np.array_equal(one.real, other.real, equal_nan=True) and np.array_equal(
            one.imag, other.imag, equal_nan=True
        )
    return np.array_equal(one, other, equal_nan=True)


def bits_differ(program: Program, results: list[Any]) -> str:
    """Repeated calls, and calls in threads, give the same bits."""
    for _ in range(2):
        if _bytes([np.array(x) for x in run(program, scope(True))]) != _bytes(results):
            return "a repeated call gives other bits"

    device = cuda.current_context().device

    def again() -> list[bytes]:
        with cuda.select_device(device):
            return _bytes([np.array(x) for x in run(program, scope(True))])

    with ThreadPoolExecutor(2) as pool:
        for other in pool.map(lambda _: again(), range(2)):
            if other != _bytes(results):
                return "a call in a thread gives other bits"
    return ""


def _bytes(results: list[Any]) -> list[bytes]:
    return [np.where(x != x, 0, x).tobytes() for x in results]  # bits of NaN are open
