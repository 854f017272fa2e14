"""Cases of matrix products: what `portagpu.matmul` chooses, and what each variant would choose for itself."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from portagpu import cuda
from portagpu.blas.gemm.core.interface import Product, Variant
from portagpu.blas.gemm.core.problem import DTYPES, Problem, default_output
from portagpu.blas.gemm.selection.registry import VARIANTS, all_precisions
from portagpu.blas.matmul import matmul
from portagpu.checking.shipped.launches import Case
from portagpu.device.capabilities import Capabilities

_SQUARE = (128, 512, 1024, 2048, 8192)
_SHAPES = ((1, 4096, 4096), (8, 4096, 4096), (4096, 4096, 64), (64, 64, 65536), (500, 700, 300))
GROUP = "gemm"


def cases(caps: Capabilities) -> Iterator[Case]:
    """All of them for a device."""
    for dtype in DTYPES:
        if dtype in ("float64", "complex128") and not caps.fp64:
            continue
        for m, n, k in (*((n, n, n) for n in _SQUARE), *_SHAPES):
            yield Case(GROUP, f"matmul {dtype} {m} x {n} x {k}", partial(_product, m, n, k, dtype))
        for n in _SQUARE[:3]:
            yield Case(GROUP, f"matmul {dtype} {n} x {n} x {n}, a.T", partial(_product, n, n, n, dtype, turned=True))
        for precision in all_precisions():
            for variant in VARIANTS:
                yield from _own(variant, dtype, precision, caps)


def _array(shape: tuple[int, ...], dtype: str) -> Any:
    return cuda.device_array(shape, dtype)


def _product(m: int, n: int, k: int, dtype: str, *, turned: bool = False) -> None:
    a = _array((k, m), dtype).T if turned else _array((m, k), dtype)
    matmul(a, _array((k, n), dtype), out=_array((m, n), default_output(dtype)))


def _own(variant: Variant, dtype: str, precision: str, caps: Capabilities) -> Iterator[Case]:
    """What a variant chooses among its own configurations: another one may be faster, and be chosen after tuning."""
    made: dict[Any, None] = {}
    for n in _SQUARE:
        problem = Problem(m=n, n=n, k=n, dtype=dtype, precision=precision)
        if not variant.supports(problem, caps):
            continue
        configs = [c for c in variant.shortlist(problem, caps) if variant.is_legal(c, problem, caps)]
        if not configs:
            continue
        config = min(configs, key=lambda c, p=problem: variant.predict(c, p, caps))  # type: ignore[misc]
        if config in made:
            continue
        made[config] = None
        name = f"{variant.name} {dtype} {n} x {n} x {n}" + (f" {precision}" if precision else "")
        yield Case(GROUP, name, partial(_run, variant, config, problem))


def _run(variant: Variant, config: Any, problem: Problem) -> None:
    a, b = _array((problem.m, problem.k), problem.dtype), _array((problem.k, problem.n), problem.dtype)
    c = _array((problem.m, problem.n), problem.out or default_output(problem.dtype))
    product = Product(a=a, b=b, c=c, stream=cuda.default_stream(), precision=problem.precision)
    variant.run(config, product)
