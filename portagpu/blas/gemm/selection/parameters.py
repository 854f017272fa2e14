"""Search space, model and roof of GEMM, for the tuner."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

from portagpu.blas.gemm.core.interface import ALIGNMENT, Config
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.selection import registry
from portagpu.blas.tunables.parameters import RegistrySpace, capabilities_of, problem_maker
from portagpu.device import DeviceRecord
from portagpu.settings import Settings
from portagpu.tuning import DeviceFigures, Prediction, Resources, figures_of, predict, rates_generation
from portagpu.tuning.tunables.problems import Problem as Values
from portagpu.tuning.tunables.space import Point

# a result for another layout or alignment serves, if nothing nearer is known
SOFT = {"a_order": 0.5, "b_order": 0.5, "c_order": 0.5, "aligned": 0.5, "scaled": 0.25}


problem_from = problem_maker(Problem, "GEMM", "m, n, k and dtype")


def dense(problem: Problem) -> Problem:
    """The problem with arrays without gaps: whether their rows (columns) begin at multiples of 16 bytes follows."""
    a = problem.m if problem.a_order == "F" else problem.k
    b = problem.k if problem.b_order == "F" else problem.n
    steps = (a * problem.itemsize, b * problem.itemsize, problem.n * problem.out_itemsize)
    return replace(problem, aligned=all(step % ALIGNMENT == 0 for step in steps))


@lru_cache(maxsize=16)
def _figures(device: DeviceRecord, generation: int) -> DeviceFigures:
    return figures_of(device, Settings.from_environment())


def _model(values: Values, point: Point, device: DeviceRecord) -> Prediction | float:
    """The variant's time; what limits it by the roofline model."""
    problem, config = problem_from(values), registry.from_json(point)
    seconds = registry.predicted_time(config, problem, capabilities_of(device))
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


PARAMETERS = RegistrySpace(registry.REGISTRY, problem_from).parameters(
    "gemm", registry.KERNEL_VERSION, model=_model, roof=_roof, soft=SOFT
)
