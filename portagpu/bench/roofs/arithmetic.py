"""The roof of scalar and vector arithmetic as a case: how much work, which forms, what is right."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.bench.records.cell import Memory
from portagpu.bench.records.workload import Unit, Workload
from portagpu.bench.roofs import chains
from portagpu.bench.roofs.chains import UNROLLED, Form, Numbers
from portagpu.bench.roofs.probe import Candidate, contender
from portagpu.bench.running.case import Case, Options
from portagpu.device import Capabilities, DeviceType
from portagpu.runtime.execution.context import Context

DTYPES = ("float32", "float64", "float16", "int32")
_SECONDS = 2e-3  # that a launch is to take where a device reaches what it was probed with
_LEAST_TURNS = 4
_MOST_STEPS = 8192


def obstacle(dtype: str, caps: Capabilities) -> str:
    """Why a device has no such arithmetic; "" if it has."""
    has = {"float64": caps.fp64, "float16": caps.fp16}.get(dtype, True)
    return "" if has else f"the device has no arithmetic in {dtype}"


def workload(dtype: str, flops: float = 1.0) -> Workload:
    """Operations of multiply-adds, two each; of int32 they are no floating-point ones, but counted alike."""
    return Workload(suite="roofs", name="flops", arithmetic=dtype, size="peak", unit=Unit.GFLOPS, flops=flops)


def steps_of(forms: list[Form], caps: Capabilities, *, small: bool = False) -> dict[Form, int]:
    """How many steps each form makes, so that all do the same number of multiply-adds."""
    most, least = max(form.elements for form in forms), min(form.elements for form in forms)
    floor = most * UNROLLED * _LEAST_TURNS
    wanted = 0 if small else _SECONDS * caps.measured_gflops * 1e9 / 2 / caps.compute_units
    work = floor
    while work < wanted and 2 * work <= least * _MOST_STEPS:
        work *= 2
    return {form: work // form.elements for form in forms}


def case(dtype: str, options: Options, context: Context) -> Case:
    """Multiply-adds in a dtype."""
    caps = context.device.capabilities
    assert caps is not None
    forms = chains.forms(dtype, caps)
    steps = steps_of(forms, caps, small=options.small)
    wanted = {n: chains.numbers(dtype, n, options.seed) for n in set(steps.values())}
    work = steps[forms[0]] * forms[0].elements * caps.compute_units
    return Case(
        workload=workload(dtype, 2.0 * work),
        memory=Memory.DEVICE,
        contenders=(contender(context, partial(_candidates, forms, steps, wanted, context)),),
        check=lambda found: chains.error(found[1], chains.expected(wanted[found[0]], found[0])),
    )


def _candidates(
    forms: list[Form], steps: dict[Form, int], given: dict[int, Numbers], context: Context
) -> Iterator[Candidate]:
    for form in forms:
        yield candidate(form, steps[form], given[steps[form]], context)


def candidate(form: Form, steps: int, given: Numbers, context: Context) -> Candidate:
    """A form's launch; what it fetches are the steps and where all chains ended."""
    caps = context.device.capabilities
    assert caps is not None
    dtype = given.start.dtype
    out = cuda.device_array(form.elements * caps.compute_units, dtype)
    start = cuda.to_device(given.start)
    turns = np.int32(steps // UNROLLED)
    # a multiply-add is an instruction of every GPU; a CPU may have to compute it in software
    fused = dtype.kind == "f" and caps.device_type is not DeviceType.CPU
    grid = caps.compute_units * form.blocks
    vectors = () if form.lanes == 1 else (getattr(cuda, f"{dtype.name}x{form.lanes}"),)
    kernel: Any = chains.chains if vectors else chains.scalar_chains
    launch = kernel[grid, form.threads]
    run = partial(launch, out, start, given.factor, given.addend, turns, *vectors, form.chains, fused)
    return Candidate(text=form.text, run=run, fetch=lambda: (steps, out.copy_to_host()))


__all__ = ["DTYPES", "candidate", "case", "obstacle", "steps_of", "workload"]
