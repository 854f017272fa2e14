"""Lockstep execution of an array program on NumPy arrays and on device arrays.

Each statement runs first with NumPy alone, where ``cuda`` is `HostCuda`, then on the
device. Kinds of exceptions, dtypes, shapes and strides are compared after each statement, values when a statement reads
them and at the end, so that the device's deferred work stays deferred. The annotation ``"within EXPRESSION"`` gives the
absolute tolerance of the name that the statement assigns; all other values are exact.
"""

from __future__ import annotations

import ast
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache, lru_cache
from typing import Any

import numpy as np
from fuzz_array_data import data, ulp
from fuzz_lines import Program, annotation
from fuzz_subject import Invalid

from portagpu import cuda
from portagpu.errors import NotContiguousError


class HostCuda:
    """NumPy's side of the names of `portagpu.cuda` that programs use."""

    @staticmethod
    def to_device(x: Any) -> Any:
        return np.array(x, order="K")

    @staticmethod
    def mapped_array(shape: Any, dtype: Any) -> Any:
        return np.zeros(shape, dtype)

    @staticmethod
    def stream() -> Any:
        return nullcontext()


def in_threads(*functions: Callable[[], None]) -> None:
    """Run functions in threads of their own at the same time; the first exception is raised here."""
    errors: list[Exception] = []

    def guarded(function: Callable[[], None]) -> None:
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                function()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(f,)) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def _in_turn(*functions: Callable[[], None]) -> None:
    for function in functions:
        function()


def _host_step(x: Any) -> None:
    x += 1


@cache
def _step_kernel() -> Any:
    @cuda.jit
    def step(x):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        if i < x.size:
            x[i] += 1

    return step


def step(x: Any) -> None:
    """Add 1 to each element of a 1-D device array by a kernel."""
    if x.size:
        _step_kernel()[-(-x.size // 64), 64](x)


def host_scope() -> dict[str, Any]:
    """Names of a program that runs with NumPy alone."""
    return {"np": np, "cuda": HostCuda, "data": data, "ulp": ulp, "in_threads": _in_turn, "step": _host_step}


def device_scope() -> dict[str, Any]:
    """Names of a program that runs on the current device."""
    return {"np": np, "cuda": cuda, "data": data, "ulp": ulp, "in_threads": in_threads, "step": step}


@lru_cache(4096)
def _code(statement: str) -> tuple[Any, bool]:
    try:
        return compile(statement, "<program>", "eval"), True
    except SyntaxError:
        return compile(statement, "<program>", "exec"), False


def execute(statement: str, scope: dict[str, Any]) -> tuple[Any, Exception | None]:
    """The value of a statement that is an expression, and the exception that it ends with."""
    code, expression = _code(statement)
    with quiet():
        try:
            if expression:
                return eval(code, scope), None
            exec(code, scope)
        except Exception as error:
            return None, error
    return None, None


@contextmanager
def quiet() -> Iterator[None]:
    """NumPy's warnings of overflow, division by zero and the like are not shown."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def assigned(statement: str) -> list[str]:
    """Names that a statement assigns."""
    tree = ast.parse(statement)
    return [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def difference(program: Program, *, strides: bool = True) -> str:
    """The first difference between device and NumPy, or an empty text."""
    host, device = host_scope(), device_scope()
    tolerances: dict[str, Any] = {}
    for number, statement in enumerate(program.statements, 1):
        at = f"statement {number}, {statement.strip()}"
        expected, host_error = execute(statement, host)
        if isinstance(host_error, NameError):  # a program that lost statements while it was made smaller
            raise Invalid(str(host_error))
        actual, device_error = execute(statement, device)
        if problem := _errors_differ(host_error, device_error):
            return f"{at}: {problem}"
        if host_error is not None:
            continue
        if expected is not None and (problem := _values_differ(actual, expected, None)):
            return f"{at}: {problem}"
        for name in assigned(statement):
            tolerances.pop(name, None)
            if note := annotation(statement):
                tolerances[name], _ = execute(note.removeprefix("within "), host)
            if name in host and (problem := _descriptions_differ(device[name], host[name], strides)):
                return f"{at}: {name}: {problem}"
    for name, value in host.items():
        if not isinstance(value, np.ndarray | np.generic):
            continue
        try:
            problem = _values_differ(device[name], value, tolerances.get(name))
        except Exception as error:
            problem = f"reading it raises {type(error).__name__}: {error}"
        if problem:
            return f"{name}: {problem}"
    return ""


def _errors_differ(host: Exception | None, device: Exception | None) -> str:
    if host is None and device is None:
        return ""
    if host is None:
        if isinstance(device, NotContiguousError):  # x.reshape of a view whose elements have gaps: never a copy here
            return ""
        return f"raises {type(device).__name__}: {device}, but not in NumPy"
    kind = next(k for k in type(host).__mro__ if k.__module__ == "builtins")
    if device is None:
        return f"NumPy raises {type(host).__name__}: {host}"
    if not isinstance(device, kind):
        return f"raises {type(device).__name__}: {device}; NumPy: {type(host).__name__}: {host}"
    return ""


def _descriptions_differ(actual: Any, expected: Any, strides: bool) -> str:
    if not isinstance(expected, np.ndarray | np.generic):
        return ""
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return f"{actual.dtype}{actual.shape}, in NumPy {expected.dtype}{expected.shape}"
    if strides and expected.size > 1:
        mine, theirs = (tuple(s for s, n in zip(x.strides, x.shape, strict=True) if n > 1) for x in (actual, expected))
        if mine != theirs:
            return f"strides {actual.strides}, in NumPy {expected.strides}"
    return ""


def _values_differ(actual: Any, expected: Any, tolerance: Any) -> str:
    if isinstance(expected, tuple | list):
        pairs = zip(actual, expected, strict=True)
        return next((p for p in (_values_differ(a, e, tolerance) for a, e in pairs) if p), "")
    actual, expected = np.asarray(actual), np.asarray(expected)
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return f"{actual.dtype}{actual.shape}, in NumPy {expected.dtype}{expected.shape}"
    right = _alike(actual, expected, tolerance)
    if right.all():
        return ""
    where = tuple(int(n[0]) for n in np.nonzero(~np.atleast_1d(right)))
    mine, theirs = (np.atleast_1d(x)[where] for x in (actual, expected))
    return f"{np.count_nonzero(~right)} of {right.size} elements differ, at {where} {mine!r}, in NumPy {theirs!r}"


def _alike(actual: Any, expected: Any, tolerance: Any) -> Any:
    """Element by element: the same bits but for those of NaN, or within the tolerance."""
    if expected.dtype.kind == "c":
        return _alike(actual.real, expected.real, tolerance) & _alike(actual.imag, expected.imag, tolerance)
    if expected.dtype.kind != "f":
        return np.asarray(actual == expected)
    with quiet():
        same = (actual == expected) & (np.signbit(actual) == np.signbit(expected))
        same |= np.isnan(actual) & np.isnan(expected)
        if tolerance is not None:
            wide = np.longdouble
            same |= (actual == expected) | (np.abs(actual.astype(wide) - expected.astype(wide)) <= tolerance)
            largest = np.finfo(expected.dtype).max  # results at the edge of what the dtype holds
            beyond = (np.abs(actual) >= largest * 0.99) & (np.abs(expected) >= largest * 0.99)
            same |= beyond & (np.sign(actual) == np.sign(expected))
    return np.asarray(same)
