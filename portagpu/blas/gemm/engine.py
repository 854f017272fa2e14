"""The GEMM engine: operands in a form that a variant takes, choice of variant and parameters, launch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from portagpu.blas.gemm.complex_products import multiply_complex
from portagpu.blas.gemm.core.alignment import aligned_copy, begins_aligned, new_aligned_rows, swapped
from portagpu.blas.gemm.core.fusion import Fusion
from portagpu.blas.gemm.core.interface import ALIGNMENT, Config, Product, clock_mhz, ends_aligned, order_of
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.core.workspace import with_own_scratch
from portagpu.blas.gemm.scaling import finish, scale
from portagpu.blas.gemm.selection.choice import choose, generation
from portagpu.blas.gemm.selection.registry import precisions, predicted_time, variant_of
from portagpu.device.capabilities import Capabilities
from portagpu.errors import MissingCapabilityError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.copies import copy_strided
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.stream import Stream

_BYTES_A_CYCLE = 6.0  # that a compute unit copies
_COPY_SECONDS = 5e-6  # of a launch
_REMEMBERED = 4096  # choices
_ready: dict[Any, tuple[int, Config, str, bool]] = {}  # generation, choice, precision, of the transposes


@dataclass(frozen=True, slots=True)
class Plan:
    """How a problem is brought before a variant."""

    config: Config
    copied: bool  # operands, and the result, into aligned rows
    walked: bool  # the batch, one product after the other
    problem: Problem  # as the variant gets it


def gemm(
    a: DeviceNDArray,
    b: DeviceNDArray,
    c: DeviceNDArray,
    stream: Stream,
    config: Config | None = None,
    *,
    alpha: complex = 1.0,
    beta: complex = 0.0,
    precision: str = "",
    fusion: Fusion | None = None,
) -> None:
    """``c = alpha * a @ b + beta * c``, or what ``fusion`` makes of these sums; enqueued.

    a, b, c: matrices (m, k), (k, n), (m, n), or batches (batch, m, k) and so on, of any strides; a and b of one dtype,
    c of one that `core.accumulation.OUTPUTS` lists. An operand that a batch shares has batch stride 0. ``c`` must not
    overlap ``a`` or ``b``. With ``beta`` 0, c is not read, with ``alpha`` 0 neither are a and b.

    ``config`` overrides the tuned or default parameters. Raises `MissingCapabilityError` where no variant can do it.
    """
    key: Any = None
    known = -1
    if config is None:
        # what was found out for arrays like these, as long as no tuning adds to it
        key = (
            *_facts(a),
            *_facts(b),
            *_facts(c),
            alpha == 1 and beta == 0,
            fusion is None,
            precision,
            c.context.key,
            c.context.settings,
        )
        known = generation(c.context)
        ready = _ready.get(key)
        if ready is not None and alpha != 0 and ready[0] == known:
            if ready[3]:
                a, b, c = _transposes(a, b, c)
                fusion = None if fusion is None else fusion.of_transposes()
            product = Product(a=a, b=b, c=c, stream=stream, alpha=alpha, beta=beta, precision=ready[2], fusion=fusion)
            with_own_scratch(variant_of(ready[1]).run, ready[1], product)
            return
    if c.size == 0:
        return
    if alpha == 0 or a.shape[-1] == 0:
        scale(c, beta, stream) if fusion is None else finish(c, beta, fusion, stream)
        return
    is_one = c.ndim == 3 and c.shape[0] == 1
    if is_one:
        a, b, c = a[0], b[0], c[0]
    is_turned = order_of(c) == "F"
    if is_turned:
        a, b, c = _transposes(a, b, c)
        fusion = None if fusion is None else fusion.of_transposes()
    product = Product(a=a, b=b, c=c, stream=stream, alpha=alpha, beta=beta, precision=precision, fusion=fusion)
    if a.dtype.kind == "c":
        multiply_complex(replace(product, fusion=None), gemm)  # in parts, which are joined first
        if fusion is not None:
            finish(c, 1, fusion, stream)
        return
    problem = product.problem
    if config is None:
        plan = plan_of(problem, c.context)
        if not (is_one or plan.copied or plan.walked):
            if len(_ready) >= _REMEMBERED:
                _ready.clear()
            _ready[key] = known, plan.config, plan.problem.precision, is_turned
    else:
        usable = variant_of(config).supports(problem, c.context.capabilities)
        plan = Plan(config, not usable, False, problem)
    with_own_scratch(_run, plan, replace(product, precision=plan.problem.precision))


def _transposes(
    a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray
) -> tuple[DeviceNDArray, DeviceNDArray, DeviceNDArray]:
    """The operands and the result of the transposed product."""
    return swapped(b), swapped(a), swapped(c)


def _facts(x: DeviceNDArray) -> tuple[Any, ...]:
    return x.type_key, x.shape, x.strides, x.offset % ALIGNMENT


def _run(plan: Plan, product: Product) -> None:
    if plan.walked:
        for i in range(product.batch):
            fusion = None if product.fusion is None else product.fusion.from_matrix(i)
            one = replace(product, a=product.a[i], b=product.b[i], c=product.c[i], fusion=fusion)
            _run(replace(plan, walked=False), one)
        return
    result, stream = product.c, product.stream
    if plan.copied:
        fits = order_of(result) == "C" and begins_aligned(result) and ends_aligned(result)
        target = result if fits else new_aligned_rows(result, stream, copied=product.beta != 0, role="c")
        a, b = aligned_copy(product.a, stream, "a"), aligned_copy(product.b, stream, "b")
        product = replace(product, a=a, b=b, c=target)
    variant_of(plan.config).run(plan.config, product)
    if product.c is not result:
        copy_strided(product.c, result, stream)


# plans ---------------------------------------------------------------------------------------------------------------


def plan_of(problem: Problem, context: Context) -> Plan:
    """The cheapest way to have a variant compute a problem.

    A precision is a leave, not an order: where the dtypes' own products are expected to be as fast, they are formed.
    """
    caps = context.capabilities
    options = _options(problem, context)
    if problem.precision:
        options += _options(replace(problem, precision=""), context)
    if not options:
        raise MissingCapabilityError(
            f"{context.device.name} cannot compute products of {problem.arithmetic}",
            hint=_instead(problem, caps),
        )
    return min(options, key=lambda option: option[0])[1]


def _options(problem: Problem, context: Context) -> list[tuple[float, Plan]]:
    """The plans for a problem as it is, and the seconds that each is expected to take."""
    caps = context.capabilities
    aligned = replace(
        problem,
        a_order=problem.a_order or "C",
        b_order=problem.b_order or "C",
        c_order="C",
        aligned=True,
    )
    options: list[tuple[float, Plan]] = []
    for copied, whole in ((False, problem), (True, aligned)):
        if copied and whole == problem:
            continue
        for walked in (False, True) if problem.batch > 1 else (False,):
            one = replace(whole, batch=1) if walked else whole
            config = choose(one, context)
            if config is not None:
                seconds = predicted_time(config, one, caps) * (problem.batch if walked else 1)
                seconds += _copy_seconds(problem, caps) if copied else 0.0
                options.append((seconds, Plan(config, copied, walked, one)))
    return options


def _instead(problem: Problem, caps: Capabilities) -> str:
    """The precisions that a device has for the dtypes of a problem."""
    found = [repr(p) if p else "the dtypes' own" for p in precisions(problem, caps)]
    return f"its precisions for them: {', '.join(found) or 'none'}"


def _copy_seconds(problem: Problem, caps: Capabilities) -> float:
    bandwidth = max(1, caps.compute_units) * clock_mhz(caps) * 1e6 * _BYTES_A_CYCLE
    return 2 * problem.nbytes / bandwidth + 2 * _COPY_SECONDS
