"""Search space, model and roof of GEMM, for the tuner."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

from portagpu.blas.gemm.core.interface import ALIGNMENT, Config
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.selection import registry
from portagpu.device import DeviceRecord
from portagpu.device.capabilities import Capabilities
from portagpu.errors import TuningError
from portagpu.settings import Settings
from portagpu.tuning import (
    DeviceFigures,
    Parameters,
    Prediction,
    Resources,
    UnionSpace,
    figures_of,
    predict,
    rates_generation,
)
from portagpu.tuning.tunables.problems import Problem as Values
from portagpu.tuning.tunables.space import Point

# a result for another layout or alignment serves, if nothing nearer is known
SOFT = {"a_order": 0.5, "b_order": 0.5, "c_order": 0.5, "aligned": 0.5, "scaled": 0.25}


def problem_from(values: Values) -> Problem:
    """GEMM's problem from the tuner's. Raises `TuningError`."""
    try:
        return Problem(**values)  # type: ignore[arg-type]
    except TypeError as error:
        raise TuningError(f"{dict(values)!r} is no GEMM problem", hint="it has m, n, k and dtype") from error


def dense(problem: Problem) -> Problem:
    """The problem with arrays without gaps: whether their rows (columns) begin at multiples of 16 bytes follows."""
    a = problem.m if problem.a_order == "F" else problem.k
    b = problem.k if problem.b_order == "F" else problem.n
    steps = (a * problem.itemsize, b * problem.itemsize, problem.n * problem.out_itemsize)
    return replace(problem, aligned=all(step % ALIGNMENT == 0 for step in steps))


def search_space(problem: Problem, caps: Capabilities) -> UnionSpace:
    """The legal configurations of every variant that can compute the problem on such a device."""
    return UnionSpace(tuple(variant.space(problem, caps) for variant in registry.variants_for(problem, caps)))


def _capabilities(device: DeviceRecord) -> Capabilities:
    if device.capabilities is None:
        raise TuningError(f"{device.name} does not work: {device.problem}", hint=device.remedy)
    return device.capabilities


def _space(values: Values, device: DeviceRecord) -> UnionSpace:
    return search_space(problem_from(values), _capabilities(device))


def _default(values: Values, device: DeviceRecord) -> Point:
    problem = problem_from(values)
    found = registry.default_config(problem, _capabilities(device))
    if found is None:
        raise TuningError(f"no GEMM variant computes {problem.dtype} on {device.name}")
    return registry.to_json(found)


@lru_cache(maxsize=16)
def _figures(device: DeviceRecord, generation: int) -> DeviceFigures:
    return figures_of(device, Settings.from_environment())


def _model(values: Values, point: Point, device: DeviceRecord) -> Prediction | float:
    """The variant's time; what limits it by the roofline model."""
    problem, config = problem_from(values), registry.from_json(point)
    seconds = registry.predicted_time(config, problem, _capabilities(device))
    found = predict(_resources(config, problem), _figures(device, rates_generation()))
    return seconds if found is None else replace(found, seconds=seconds)


def _resources(config: Config, problem: Problem) -> Resources:
    """What a tiled product needs, by the names that the variants' parameters have in common."""
    m, n = problem.m, problem.n
    tile_m, tile_n = getattr(config, "tile_m", 1), getattr(config, "tile_n", 1)
    rows, columns = math.ceil(m / tile_m), math.ceil(n / tile_n)
    group = min(rows, getattr(config, "group_m", 1)) * min(columns, getattr(config, "group_n", 1))  # of a work-group
    tiles = rows * columns * problem.batch
    return Resources(
        threads=getattr(config, "threads", 1),
        blocks=math.ceil(tiles / group),
        flops=problem.flops / (m * n * problem.batch) * tiles * tile_m * tile_n,
        dram_bytes=float(problem.nbytes),
        cache_bytes=float(tiles * (tile_m + tile_n) * problem.k * problem.itemsize) / group**0.5,
        registers=1,  # the variants' own rules decide what fits
        dtype=problem.dtype,
    )


def _roof(values: Values, device: DeviceRecord) -> float | None:
    """Each operand is moved once, every multiply-add is done once; None where the dtype's peak is not known."""
    problem, figures = problem_from(values), _figures(device, rates_generation())
    if problem.dtype not in figures.flops or problem.precision or not figures.measured:
        return None
    return max(problem.flops / figures.peak(problem.dtype), problem.nbytes / figures.dram)


PARAMETERS = Parameters(
    name="gemm",
    version=registry.KERNEL_VERSION,
    space=_space,
    model=_model,
    roof=_roof,
    default=_default,
    default_is_modelled=True,
    soft=SOFT,
    describe=lambda values: problem_from(values).words,
)
