"""Products of matrices: PortaGPU's `matmul` beside what is installed.

Operands are random; every result is verified by Freivalds' check against float64 before the cell gets a number, and so
is each peer's in the same arithmetic. Contenders of a case have their operands in one kind of memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np

from portagpu.bench import problem_sets, problems
from portagpu.bench.peers import core_types
from portagpu.bench.peers.products import Matrix, Peer, all_peers, blas_problem, peers_for
from portagpu.bench.problem_sets import Scale
from portagpu.bench.problems import missing, shape_text
from portagpu.bench.product_check import checker
from portagpu.bench.products import own_call
from portagpu.bench.records.cell import Memory, Role
from portagpu.bench.records.workload import Unit, Workload
from portagpu.bench.running.case import Case, Contender, Entry, Options, Peers
from portagpu.bench.suites import epilogue
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.engine import plan_of
from portagpu.blas.gemm.selection.choice import explain
from portagpu.blas.gemm.tuning.trial import operand
from portagpu.device import DeviceRecord, DeviceType
from portagpu.errors import PortaGPUError
from portagpu.runtime.execution.context import Context

name = "gemm"
summary = "products of matrices: dtypes, precisions, squares, odd, skinny, batched, with an epilogue"
_SMALL = (90, 100)
_ON_GPUS, _ON_CPUS = (256, 512, 1024, 2048, 4096), (256, 512, 1024, 2048)
_QUICK_ON_GPUS, _QUICK_ON_CPUS = (2048, 4096), (512, 1024)
Products = Callable[[DeviceRecord], Iterable[Problem]]


def entries(
    device: DeviceRecord, options: Options, products: Products | None = None, *, epilogues: bool = False
) -> Iterator[Entry]:
    """The products that are measured on a device, ``products(device)`` if those are named; ``epilogues``: then, too."""
    assert device.capabilities is not None
    chosen = default_problems(device, options) if products is None else products(device)
    for problem in chosen:
        workload = workload_of(problem)
        yield Entry(
            path=workload.path,
            workload=workload,
            obstacle=missing(problem, device.capabilities) or "",
            make=lambda context, problem=problem: _cases(context, problem, options),  # type: ignore[misc]
            command=(name, *problems.words(problem)),
        )
    if products is None or epilogues:
        yield from epilogue.entries(device, options)


def default_problems(device: DeviceRecord, options: Options) -> list[Problem]:
    """What a device is measured with."""
    assert device.capabilities is not None
    return problem_sets.default(
        scale_for(device, options), sizes_for(device, options), device.capabilities, quick=options.quick
    )


def scale_for(device: DeviceRecord, options: Options) -> Scale:
    """The scale of the sizes that options ask for on a device."""
    return Scale.SMALL if options.small else Scale.LARGE if options.are_large(device) else Scale.MODERATE


def sizes_for(device: DeviceRecord, options: Options) -> tuple[int, ...]:
    """Sizes of the squares that options ask for on a device."""
    if options.small:
        return _SMALL
    if options.are_large(device):
        return _QUICK_ON_GPUS if options.quick else _ON_GPUS
    return _QUICK_ON_CPUS if options.quick else _ON_CPUS


def default_sizes(device: DeviceRecord) -> tuple[int, ...]:
    """Sizes of the matrix."""
    return _ON_GPUS if device.device_type is DeviceType.GPU else _ON_CPUS


def workload_of(problem: Problem) -> Workload:
    """A product as a workload."""
    return Workload(
        suite=name,
        name="matmul",
        arithmetic=problem.arithmetic,
        size=shape_text(problem),
        unit=Unit.GFLOPS,
        flops=float(problem.flops),
        nbytes=float(problem.nbytes),
    )


def _cases(context: Context, problem: Problem, options: Options) -> Iterator[Case]:
    generator = np.random.default_rng([options.seed, problem.m, problem.n, problem.k])
    a = operand(generator, problem, problem.m, problem.k, "C")
    b = operand(generator, problem, problem.k, problem.n, "C")
    check = checker(problem, a, b)
    is_gpu = context.device.device_type is not DeviceType.CPU
    peers = peers_for(context.device)
    if options.peers is Peers.ALL or (is_gpu and peers[0].memory is Memory.HOST):  # no library of its maker
        peers = all_peers(context, options.clblast_tuned)
    for memory in dict.fromkeys(peer.memory for peer in peers):
        own = [peer for peer in peers if peer.memory is memory] if options.peers is not Peers.NONE else []
        contenders = [_ours(context, problem, a, b, memory), *(_theirs(problem, peer, a, b) for peer in own)]
        if own and memory is Memory.HOST and options.core_types and not is_gpu:
            contenders += _best_core_type(problem, own[0])
        yield Case(workload=workload_of(problem), memory=memory, contenders=tuple(contenders), check=check)


def _ours(context: Context, problem: Problem, a: Matrix, b: Matrix, memory: Memory) -> Contender:
    return Contender(
        implementation="PortaGPU",
        role=Role.OURS,
        prepare=lambda: own_call(context, problem, a, b, memory),
        tuning=lambda: _rule(context, problem),
    )


def _rule(context: Context, problem: Problem) -> str:
    """The rule that chose the product's parameters."""
    if problem.is_complex:
        return ""
    try:
        return explain(plan_of(problem, context).problem, context).rule.value
    except PortaGPUError:
        return ""


def _theirs(problem: Problem, peer: Peer, a: Matrix, b: Matrix) -> Contender:
    served = peer.serves(problem)
    is_other = served != problem
    return Contender(
        implementation=peer.name,
        role=peer.role,
        arithmetic=served.arithmetic if is_other else "",
        check=partial(_error_as_served, served, a, b) if is_other else None,
        prepare=lambda: peer.prepare(served, a, b),
    )


def _error_as_served(served: Problem, a: Matrix, b: Matrix, found: Matrix) -> float:
    """The error of a result in the arithmetic that a library has in place of the problem's."""
    of_signed = served.dtype == "int8"  # where unsigned bytes were asked for, they were taken as signed ones
    left, right = (x.view(np.int8) if of_signed else x.astype(served.dtype, copy=False) for x in (a, b))
    return checker(served, left, right)(found)


def _best_core_type(problem: Problem, peer: Peer) -> list[Contender]:
    """NumPy's library as each of its core types, in children."""
    served = blas_problem(problem)
    children = core_types.shared()
    return [
        Contender(
            implementation=f"{peer.name}, best core type",
            role=Role.VENDOR,
            arithmetic="" if served == problem else served.arithmetic,
            players=lambda: [(player.core_type, player, player.error) for player in children.players(served)],
        )
    ]


__all__ = ["default_problems", "default_sizes", "entries", "name", "scale_for", "sizes_for", "summary", "workload_of"]
