"""Runs cases in batches: one kernel for all functions of operands of the same dtypes, since compiling takes longest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from cases import Case
from comparison import wrong
from differences import excused
from operands import NAMES, Array, combinations, ends, rows, supported

from portagpu import cuda
from portagpu.device import DeviceRecord

NUMBERS = {name: np.dtype(name).num for name in NAMES}


def one_result(functions: tuple[Any, ...], typed: tuple[bool, ...], count: int) -> Any:
    """A kernel that stores ``f(*operands)`` of each function, by kind, and the dtypes' numbers."""

    @cuda.jit
    def kernel(operands, ints, floats, complexes, codes):
        i = cuda.grid(1)
        if i < operands[0].shape[0]:
            for n, f in enumerate(functions):
                if count == 1:
                    r = f(operands[0][i])
                elif count == 2:
                    r = f(operands[0][i], operands[1][i])
                elif count == 3:
                    r = f(operands[0][i], operands[1][i], operands[2][i])
                else:
                    r = f(operands[0][i], operands[1][i], operands[2][i], operands[3][i])
                if not typed[n]:
                    ints[n, i] = r
                else:
                    codes[n] = r.dtype.num
                    if r.dtype.kind == "c":
                        complexes[n, i] = r
                    elif r.dtype.kind == "f":
                        floats[n, i] = r
                    else:
                        ints[n, i] = r

    return kernel


def two_results(functions: tuple[Any, ...], count: int) -> Any:
    """The same for functions with two results, which lie behind each other."""

    @cuda.jit
    def kernel(operands, ints, floats, complexes, codes):
        i = cuda.grid(1)
        if i < operands[0].shape[0]:
            for n, f in enumerate(functions):
                if count == 1:
                    pair = f(operands[0][i])
                else:
                    pair = f(operands[0][i], operands[1][i])
                for k, r in enumerate(pair):
                    codes[2 * n + k] = r.dtype.num
                    if r.dtype.kind == "f":
                        floats[2 * n + k, i] = r
                    else:
                        ints[2 * n + k, i] = r

    return kernel


def results_of_constants(functions: Any, kinds: tuple[str, ...], constants: Any, usable: Any) -> Any:
    """The kernel of `one_result` for operands that are constants of the text; Python's numbers may come of them.

    `usable`: for each function and its operands, whether there is a result.
    """

    @cuda.jit
    def kernel(ints, floats, complexes):
        for n, f in enumerate(functions):
            for i, operands in enumerate(constants):
                if usable[n][i]:
                    if kinds[n] == "c":
                        complexes[n, i] = f(*operands)
                    elif kinds[n] == "f":
                        floats[n, i] = f(*operands)
                    else:
                        ints[n, i] = np.int64(f(*operands))

    return kernel


def _is_refused(case: Case, operands: tuple[Any, ...]) -> bool:
    """Whether an operator or builtin raises in Python, as kernels then do of constants: ``1 / 0``, ``int(nan)``.

    Also of NaN, where C and Python differ in other parts (`cmath`) or bits.
    """
    python = getattr(case.function, "py_func", case.function)
    module = getattr(python, "__module__", None)
    inexact = any(o.dtype.kind in "fc" for o in operands)
    if inexact and np.isnan(operands).any() and (module == "cmath" or case.name.startswith("cuda.libdevice.")):
        return True
    if module in ("math", "cmath"):  # NaN or infinity
        return False
    try:
        with np.errstate(all="ignore", divide="raise", invalid="ignore" if inexact else "raise"):
            python(*(o.item() for o in operands) if inexact else operands)
    except (ValueError, ArithmeticError):
        return True
    except Exception:  # of functions that only kernels can call
        return False
    return False


def _chunks(cases: Sequence[Case], size: int) -> list[tuple[Case, ...]]:
    return [tuple(cases[k : k + size]) for k in range(0, len(cases), size)]


@cache
def _kernel(cases: tuple[Case, ...], count: int) -> Any:
    functions = tuple(case.function for case in cases)
    if cases[0].results == 2:
        return two_results(functions, count)
    return one_result(functions, tuple(not case.constant for case in cases), count)


def run(device: DeviceRecord, cases: Sequence[Case], names: tuple[str, ...]) -> list[str]:
    """What is wrong with these functions of operands of these dtypes: a text for each."""
    can = supported(device)
    if not can.issuperset(names):
        return []
    ready = [c for c in cases if names in c.operands and can.issuperset(set(c.dtypes(names)) - {"int"})]
    problems: list[str] = []
    for arrays in (False, True):
        for results in (1, 2):
            group = [c for c in ready if c.results == results and c.arrays is arrays]
            operands = rows(*names) if arrays and group else combinations(*names)
            for chunk in _chunks(group, 60):
                problems += _run(device, chunk, names, operands)
    return problems


def _numbers(dtype: str) -> set[int]:
    """The codes of a dtype; a Python integer has 32 bits where it is known to fit."""
    return {NUMBERS["int32"], NUMBERS["int64"]} if dtype == "int" else {NUMBERS[dtype]}


def run_constants(device: DeviceRecord, cases: Sequence[Case], names: tuple[str, ...]) -> list[str]:
    """Differences of these functions of constants at the ends of these dtypes."""
    can = supported(device)
    ready = [
        c for c in cases if c.results == 1 and not c.arrays and can.issuperset({*names, *c.dtypes(names)} - {"int"})
    ]
    problems: list[str] = []
    for chunk in _chunks(ready, 20):
        problems += _run(device, chunk, names, ends(*names), as_constants=True)
    return problems


def _run(
    device: DeviceRecord,
    cases: tuple[Case, ...],
    names: tuple[str, ...],
    operands: tuple[Array, ...],
    *,
    as_constants: bool = False,
) -> list[str]:
    caps = device.capabilities
    assert caps is not None
    slots, size = len(cases) * cases[0].results, len(operands[0])
    ints = np.zeros((slots, size), np.int64)
    floats = np.zeros((slots, size), np.float64 if caps.fp64 else np.float32)
    complexes = np.zeros((slots, size), np.complex128 if caps.fp64 else np.complex64)
    codes = np.full(slots, -1, np.int64)
    if as_constants:
        dtypes = ["int64" if c.constant else c.dtypes(names)[0] for c in cases]
        kinds = tuple(np.dtype("int64" if d == "int" else d).kind for d in dtypes)
        constants = tuple(zip(*operands, strict=True))
        usable = np.array([[not _is_refused(c, o) for o in constants] for c in cases])
        functions = tuple(c.function for c in cases)
        kernel = results_of_constants(functions, kinds, constants, tuple(map(tuple, usable.tolist())))
        kernel[1, 1](ints, floats, complexes)
    else:
        _kernel(cases, len(operands)).forall(size)(operands, ints, floats, complexes, codes)
        usable = np.ones((len(cases), size), bool)
    problems: list[str] = []
    for n, case in enumerate(cases):
        with np.errstate(all="ignore"):
            expected = case.reference(*operands)
        wanted = expected if case.results == 2 else (expected,)
        for k, (dtype, exact) in enumerate(zip(case.dtypes(names), wanted, strict=True)):
            slot = n * case.results + k
            label = f"{case.name}({', '.join(names)})" + (f"[{k}]" if case.results == 2 else "")
            if not case.constant and not as_constants and codes[slot] not in _numbers(dtype):
                found = next((name for name, number in NUMBERS.items() if number == codes[slot]), "nothing")
                problems.append(f"{label} is {found}, not {dtype}")
                continue
            dtype = "int64" if dtype == "int" else dtype
            kind = np.dtype(dtype).kind
            store = complexes if kind == "c" else floats if kind == "f" else ints
            with np.errstate(all="ignore"):
                values = store[slot].astype(dtype)
            kept = tuple(o[usable[n]] for o in operands)
            problems += judge(device, case, label, dtype, kept, values[usable[n]], np.asarray(exact)[usable[n]])
    return problems


def judge(
    device: DeviceRecord, case: Case, label: str, dtype: str, operands: tuple[Array, ...], values: Array, exact: Array
) -> list[str]:
    """At most one text: how many results are wrong, and the first ones. Listed differences are none."""
    bad = wrong(values, exact, case.ulps(dtype), zero_signs=case.zero_signs)
    if case.fair is not None:
        with np.errstate(all="ignore"):
            bad &= np.asarray(case.fair(*operands), bool)
    bad &= ~excused(device, case.name, operands, bad)
    if not bad.any():
        return []
    shown = [
        f"({', '.join(str(o[i]) for o in operands)}): {values[i]}, not {exact[i]}" for i in np.flatnonzero(bad)[:4]
    ]
    return [f"{label} is wrong {int(bad.sum())} of {bad.size} times: " + "; ".join(shown)]


Check = Callable[[DeviceRecord, Sequence[Case], tuple[str, ...]], list[str]]
