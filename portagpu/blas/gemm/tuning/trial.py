"""GEMM's trials: operands, launches and checks; they run in the tuner's child process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.blas.gemm.core.interface import Config
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.engine import gemm
from portagpu.blas.gemm.kernels.launch import MOST_TERMS
from portagpu.blas.gemm.selection.registry import from_json, is_legal
from portagpu.blas.gemm.tuning.verification import ProductCheck, rounding
from portagpu.device.capabilities import Capabilities
from portagpu.errors import TuningError
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution.context import current_context
from portagpu.tuning import Case
from portagpu.tuning.tunables.problems import Problem as Values
from portagpu.tuning.tunables.space import Point

Array = np.ndarray[Any, Any]
_WHOLE = ("", "tf32")  # precisions that do not split elements


def prepare(values: Values) -> Case:
    """Random operands in the problem's orders. Raises `TuningError` for what is not tuned apart."""
    problem = Problem(**values)  # type: ignore[arg-type]
    if problem.scaled or "" in (problem.a_order, problem.b_order, problem.c_order):
        raise TuningError("GEMM is tuned without alpha and beta, for rows or columns that are contiguous")
    generator = np.random.default_rng(0)
    a = operand(generator, problem, problem.m, problem.k, problem.a_order)
    b = operand(generator, problem, problem.k, problem.n, problem.b_order)
    batch = (problem.batch,) if problem.batch > 1 else ()
    c = unset((*batch, problem.m, problem.n), problem.out_dtype)
    facts = ProductCheck(a[0] if batch else a, b[0] if batch else b, rounding(problem))
    return Case(inputs={"a": a, "b": b, "precision": problem.precision}, outputs={"c": c}, facts=facts)


def prepare_to_compile(values: Values) -> Mapping[str, Any]:
    """Operands and result like those of `prepare`, without contents."""
    problem = Problem(**values)  # type: ignore[arg-type]
    batch = (problem.batch,) if problem.batch > 1 else ()
    return {
        "a": unfilled(problem, problem.m, problem.k, problem.a_order),
        "b": unfilled(problem, problem.k, problem.n, problem.b_order),
        "c": np.empty((*batch, problem.m, problem.n), numpy_dtype(problem.out_dtype)),
        "precision": problem.precision,
    }


def unfilled(problem: Problem, rows: int, columns: int, order: str) -> Array:
    """An uninitialised matrix, or a batch of them, that lies as `operand` makes it."""
    made: Array = np.empty(_stored(problem, rows, columns, order), numpy_dtype(problem.dtype))
    return made.swapaxes(-1, -2) if order == "F" else made


def _stored(problem: Problem, rows: int, columns: int, order: str) -> tuple[int, ...]:
    """Extents as they lie in memory."""
    matrix = (columns, rows) if order == "F" else (rows, columns)
    return (problem.batch, *matrix) if problem.batch > 1 else matrix


def operand(generator: np.random.Generator, problem: Problem, rows: int, columns: int, order: str) -> Array:
    """A random matrix, or a batch of them."""
    shape = _stored(problem, rows, columns, order)
    dtype = numpy_dtype(problem.dtype)
    made: Array
    if dtype.kind in "iu":
        made = generator.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)
    elif dtype.kind == "c":
        made = (generator.standard_normal(shape) + 1j * generator.standard_normal(shape)).astype(dtype)
    else:
        made = generator.standard_normal(shape, np.float64 if dtype.itemsize == 8 else np.float32).astype(dtype)
    return made.swapaxes(-1, -2) if order == "F" else made


def unset(shape: tuple[int, ...], dtype: str) -> Array:
    """What a result holds before it is written: NaN, or a number where there is none."""
    kind = numpy_dtype(dtype)
    return np.full(shape, 77 if kind.kind in "iu" else np.nan, kind)


def numpy_dtype(name: str) -> np.dtype[Any]:
    """NumPy's dtype. Raises `DTypeError` for bfloat16 where ml_dtypes is missing."""
    found = dtypes.parse(name)
    assert found is not None
    return found.numpy


def run(data: Mapping[str, Any], point: Point) -> None:
    """One product."""
    c = data["c"]
    gemm(data["a"], data["b"], c, c.context.default_stream, from_json(point), precision=data["precision"])


def check(case: Case, results: Mapping[str, Array]) -> str | None:
    """Freivalds' method and a sample of rows."""
    c = results["c"]
    wrong = case.facts.error(c[0] if c.ndim == 3 else c)
    return None if wrong <= 1 else f"error {wrong:.3g} times the tolerance"


def verify(values: Values, point: Point) -> str | None:
    """Odd shapes, transposes, strided results, NaN and infinity against NumPy in float64; None, or what is wrong."""
    problem, config = Problem(**values), from_json(point)  # type: ignore[arg-type]
    generator = np.random.default_rng(1)
    forms: tuple[tuple[bool, bool], ...] = (
        (True, False),
        (False, True),
    )  # the first shape is tried in all forms: each may be a kernel of its own
    for m, n, k in _odd_shapes(problem, config):
        for transpose, strided in ((False, False), *forms):
            one = Problem(m=m, n=n, k=k, dtype=problem.dtype, out=problem.out, precision=problem.precision)
            if not _is_right(one, config, generator, transpose, strided):
                return f"wrong result for m={m} n={n} k={k}{' transposed' * transpose}{' strided' * strided}"
        forms = ()
    return None


def _odd_shapes(problem: Problem, config: Config) -> list[tuple[int, int, int]]:
    """Shapes that a configuration can be asked to compute: odd ones, one that is a multiple of most tiles, one of 1."""
    caps = current_context().capabilities
    m, n, k = (min(limit, size) for limit, size in ((130, problem.m), (259, problem.n), (77, problem.k)))
    # sums that are split need terms for each part, and on CPUs long ones are
    deep = min(problem.k, 8207 if problem.k <= MOST_TERMS else MOST_TERMS + 823)
    wanted = [(m, n, k), (m, n, deep), (256, 256, 256), (1, 1, 1)]
    found = [shape for shape in wanted if _can(problem, config, shape, caps)]
    return list(dict.fromkeys(found)) or [(problem.m, problem.n, problem.k)]


def _can(problem: Problem, config: Config, shape: tuple[int, int, int], caps: Capabilities) -> bool:
    """Whether a configuration is legal for other sizes, once operands lie as the variant wants them."""
    m, n, k = shape
    return is_legal(config, replace(problem, m=m, n=n, k=k, batch=1, a_order="C", b_order="C"), caps)


def _is_right(problem: Problem, config: Config, generator: np.random.Generator, transpose: bool, strided: bool) -> bool:
    m, n, order = problem.m, problem.n, "F" if transpose else "C"
    context = current_context()
    if context.only_builds:
        a, b = unfilled(problem, m, problem.k, order), unfilled(problem, problem.k, n, order)
    else:
        a, b = operand(generator, problem, m, problem.k, order), operand(generator, problem, problem.k, n, order)
    # sums of pieces, as complex products, have rules of their own for infinity
    if m > 1 and a.dtype.kind not in "iuc" and problem.precision in _WHOLE:
        a[0, 0], b[-1, -1] = np.nan, np.inf
    # what is in c must not matter, whatever its layout, and nothing beside it may be written
    before = unset((m, n, 2) if strided else (2, m, n), problem.out_dtype)
    fill = not context.only_builds
    around = to_device(before, copy=fill, context=context)
    c = around[:, :, 0] if strided else around[0]
    left, right = to_device(a, copy=fill, context=context), to_device(b, copy=fill, context=context)
    gemm(left, right, c, context.default_stream, config, precision=problem.precision)
    if context.only_builds:  # nothing was computed
        return True
    whole = around.copy_to_host()
    found, beside = (whole[:, :, 0], whole[:, :, 1]) if strided else whole
    untouched = before[:, :, 1] if strided else before[1]
    return np.array_equal(beside, untouched, equal_nan=before.dtype.kind not in "iu") and _is_close(
        a, b, found, problem
    )


def _is_close(a: Array, b: Array, c: Array, problem: Problem) -> bool:
    """Within the rounding bound of a k-term sum, NaN and infinity where NumPy has them."""
    kind = np.complex128 if problem.is_complex else np.float64
    how = rounding(problem)
    with np.errstate(invalid="ignore"):
        wanted, found = a.astype(kind) @ b.astype(kind), c.astype(kind)
        size = np.abs(a.astype(kind)) @ np.abs(b.astype(kind))
        bound = ((problem.k + 2) * how.term + how.once) * size
        finite = np.isfinite(wanted)
        right_numbers = np.abs(found - wanted)[finite] <= bound[finite]
    same = np.array_equal(np.isnan(found), np.isnan(wanted)) and np.array_equal(np.isinf(found), np.isinf(wanted))
    return bool(same and right_numbers.all())
