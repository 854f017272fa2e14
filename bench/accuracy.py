"""Errors of products against wider arithmetic: ``python -m portagpu.bench.accuracy`` prints a Markdown table.

Random normal operands (integers: uniform), a (256, 2048) and b (2048, 256), for every dtype, result and precision that
the device has. The reference is formed in extended precision for float64, in float64 for all others. Stated are the
largest error of an element as a share of its ``|a| |b|``, which is what error bounds are about, and the norm of all
errors as a share of that of the result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.blas import registry
from portagpu.blas.conversions import OUTPUTS
from portagpu.blas.matmul import matmul
from portagpu.blas.problem import DTYPES, Problem
from portagpu.errors import DTypeError
from portagpu.runtime.context import Context, current_context
from portagpu.runtime.creation import to_device

_ROWS, _TERMS = 256, 2048
Matrix = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Errors of one way to form products."""

    dtype: str
    out: str
    precision: str
    largest: float  # of an element, over its |a| |b|
    norm: float  # of all, over the norm of the result


def measure(context: Context) -> tuple[Accuracy, ...]:
    """Every dtype and mode of a device."""
    found = []
    for dtype in DTYPES:
        try:
            a, b = _operand(dtype, (_ROWS, _TERMS), 0), _operand(dtype, (_TERMS, _ROWS), 1)
        except DTypeError:  # bfloat16 without its package
            continue
        if dtype in ("float64", "complex128") and not context.capabilities.fp64:
            continue
        exact, size = _reference(a, b)
        for out in OUTPUTS[dtype]:
            for precision in _precisions(dtype, out, context):
                left, right = to_device(a, context=context), to_device(b, context=context)
                made = matmul(left, right, dtype=out, precision=precision).copy_to_host()
                wide = _widened(made)
                error = np.abs(wide - exact)
                found.append(
                    Accuracy(
                        dtype=dtype,
                        out=out,
                        precision=precision,
                        largest=float(np.max(error / size)),
                        norm=float(np.sqrt(np.sum(error**2) / np.sum(np.abs(exact) ** 2))),
                    )
                )
    return tuple(found)


def table(results: tuple[Accuracy, ...]) -> str:
    """The results as Markdown."""
    lines = [
        "| operands | result | precision | largest error / (abs a @ abs b) | norm of errors / norm of result |",
        "| --- | --- | --- | ---: | ---: |",
    ]
    for r in results:
        lines.append(f"| {r.dtype} | {r.out} | {r.precision or 'default'} | {r.largest:.1e} | {r.norm:.1e} |")
    return "\n".join(lines)


def _operand(dtype: str, shape: tuple[int, int], seed: int) -> Matrix:
    generator = np.random.default_rng(seed)
    row = dtypes.parse(dtype)
    assert row is not None
    kind = row.numpy
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        return generator.integers(limits.min, limits.max, shape, dtype=kind, endpoint=True)
    values = generator.standard_normal(shape)
    if kind.kind == "c":
        return (values + 1j * generator.standard_normal(shape)).astype(kind)
    return values.astype(kind)


def _widened(matrix: Matrix) -> Matrix:
    kinds: dict[str, Any] = {"float64": np.longdouble, "complex64": np.complex128, "complex128": np.clongdouble}
    return matrix.astype(kinds.get(matrix.dtype.name, np.float64))


def _reference(a: Matrix, b: Matrix) -> tuple[Matrix, Matrix]:
    left, right = _widened(a), _widened(b)
    return left @ right, np.abs(left) @ np.abs(right)


def _precisions(dtype: str, out: str, context: Context) -> tuple[str, ...]:
    real = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    problem = Problem(m=_ROWS, n=_ROWS, k=_TERMS, dtype=real, out=real if real != dtype else out)
    return registry.precisions(replace(problem, m=1024, n=1024), context.capabilities)


if __name__ == "__main__":
    print(table(measure(current_context())))
