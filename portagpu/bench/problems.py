"""Problems of benchmarks: shapes as text, the command line's words for them, and what a device cannot compute."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.selection import registry
from portagpu.device.capabilities import Capabilities

Shape = tuple[int, int, int, int]
"""batch, m, n, k"""


def square(size: int) -> Shape:
    """The shape of a product of square matrices."""
    return 1, size, size, size


def parse_shape(text: str, *, batch: bool = False) -> Shape | None:
    """A shape from ``MxNxK``, or ``BATCHxMxNxK``; None for another text."""
    found = re.fullmatch(rf"[1-9]\d*(x[1-9]\d*){{{3 if batch else 2}}}", text.strip().lower())
    if found is None:
        return None
    numbers = [int(number) for number in found.group().split("x")]
    b, m, n, k = numbers if batch else [1, *numbers]
    return b, m, n, k


def shape_text(problem: Problem) -> str:
    """4096 for square matrices, 4096 x 4096 x 128 (m x n x k) for others, 512 of 64 for batches."""
    m, n, k = problem.m, problem.n, problem.k
    one = str(m) if m == n == k else f"{m} x {n} x {k}"
    return one if problem.batch == 1 else f"{problem.batch} of {one}"


def words(problem: Problem) -> tuple[str, ...]:
    """The command line's words for a problem alone."""
    m, n, k = problem.m, problem.n, problem.k
    shape = ("--size", f"{m}") if m == n == k else ("--shape", f"{m}x{n}x{k}")
    if problem.batch != 1:
        shape = ("--batch", f"{problem.batch}x{m}x{n}x{k}")
    told = {"--dtype": problem.dtype, "--precision": problem.precision, "--out": problem.out}
    return (*shape, *(word for name, value in told.items() if value for word in (name, value)))


def combined(shapes: Iterable[Shape], kinds: Iterable[tuple[str, str]], out: str = "") -> list[Problem]:
    """Every shape in every dtype and precision, those of one dtype side by side."""
    shapes = tuple(shapes)
    return [
        Problem(m=m, n=n, k=k, batch=batch, dtype=dtype, precision=precision, out=out)
        for dtype, precision in kinds
        for batch, m, n, k in shapes
    ]


def missing(problem: Problem, caps: Capabilities) -> str | None:
    """Why a device cannot compute a problem; None if it can."""
    real = {"complex64": "float32", "complex128": "float64"}.get(problem.dtype, problem.dtype)
    if real == "float64" and not caps.fp64:
        return "the device has no float64"
    one = replace(problem, dtype=real, out="" if problem.is_complex else problem.out, batch=1)
    if not registry.variants_for(one, caps):
        return f"the device has no products of {problem.arithmetic}"
    return None
