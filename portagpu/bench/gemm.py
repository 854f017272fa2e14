"""Measures GEMM cells.

Protocol: random operands, one warm-up, then rounds in which PortaGPU and its peers take turns; the median over all
repetitions counts (`portagpu.bench.turns` has what a turn is). On NumPy arrays there is a pause between the turns: BLAS
libraries let their threads spin for some 0.1 s after a product, which would take cores from whoever comes next. Every
PortaGPU result is verified by Freivalds' check against float64 before the cell gets a number, and so is each peer's.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from portagpu.bench.cells import Cell, Memory, Samples, all_of
from portagpu.bench.core_types import CoreTypes
from portagpu.bench.peers import Matrix, Peer, blas_problem, peers_for
from portagpu.bench.problems import missing, shape_text
from portagpu.bench.turns import (
    BACK_TO_BACK_ROUNDS,
    ROUNDS,
    SHORT_ROUNDS,
    BackToBack,
    Call,
    OneByOne,
    Player,
    play_rounds,
)
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.tuning.trial import operand
from portagpu.blas.gemm.tuning.verification import ProductCheck, rounding
from portagpu.blas.matmul import matmul
from portagpu.device import DeviceRecord, DeviceType, devices
from portagpu.errors import PortaGPUError
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution.context import Context
from portagpu.settings import Settings

_FAILURES = (PortaGPUError, MemoryError, RuntimeError)  # peers raise RuntimeError


def cells(
    device: DeviceRecord,
    problems: Iterable[Problem],
    settings: Settings,
    progress: Callable[[str], None] = lambda text: None,
    core_types: CoreTypes | None = None,
) -> Iterator[Cell]:
    """Measure products on a device against its peers; a cell for each problem and peer.

    On a CPU, ``core_types`` adds OpenBLAS with its best core type as a second peer.
    """
    context = Context.for_device(device, settings)
    assert device.capabilities is not None
    peers = peers_for(device)
    with context:
        for problem in problems:
            progress(f"{name_of(device)}: {problem.arithmetic} {shape_text(problem)} against {peers[0].name}")
            reason = missing(problem, device.capabilities)
            try:
                run = None if reason else _Run(context, problem, peers, core_types)
            except _FAILURES as error:
                reason = _reason(error)
            if reason or run is None:
                yield from (_cell(device, problem, peer, problem_text=reason) for peer in peers)
                continue
            yield from run.cells()


@dataclass(slots=True)
class _Rival:
    """A peer with its product, while it is measured."""

    peer: Peer
    players: list[Any]
    reason: str | None = None  # why it has no number
    error: float | None = None
    arithmetic: str = ""
    samples: list[Samples] = field(default_factory=list)  # of each player
    label: str = ""

    @property
    def best(self) -> int | None:
        """The fastest player, by its median."""
        medians = [statistics.median(all_of(one)) for one in self.samples]
        return medians.index(min(medians)) if medians else None

    @property
    def name(self) -> str:
        """The peer's name, and which of several players was the best."""
        if not self.label or self.best is None:
            return self.peer.name
        return f"{self.peer.name}, {self.label} {self.players[self.best].core_type}"


class _Run:
    """One problem: the products, verified, and the turns."""

    def __init__(
        self, context: Context, problem: Problem, peers: tuple[Peer, ...], core_types: CoreTypes | None
    ) -> None:
        self._context, self._problem = context, problem
        generator = np.random.default_rng(problem.m + problem.n + problem.k)
        a = operand(generator, problem, problem.m, problem.k, "C")
        b = operand(generator, problem, problem.k, problem.n, "C")
        memory = peers[0].memory
        ours = own_call(context, problem, a, b, memory)
        ours.product()
        check = checker(problem, a, b)
        assert ours.fetch is not None
        self._error = check(ours.fetch())
        self._player = _player(ours, memory)
        self._rivals = [_rival(problem, peer, a, b, check) for peer in peers] if self._error <= 1.0 else []
        if core_types is not None and self._rivals and memory is Memory.HOST:
            self._rivals += _best_core_type(problem, peers[0], core_types)
        self._peers = peers

    def cells(self) -> Iterator[Cell]:
        """Take the turns; a cell for each peer."""
        device, problem = self._context.device, self._problem
        if not self._error <= 1.0:
            reason = f"wrong result: {self._error:.3g} times the tolerance"
            yield from (_cell(device, problem, peer, problem_text=reason) for peer in self._peers)
            return
        try:
            samples = self._measure()
        except _FAILURES as error:
            yield from (_cell(device, problem, r.peer, problem_text=_reason(error)) for r in self._rivals)
            return
        own = statistics.median(all_of(samples))
        for rival in self._rivals:
            theirs = () if rival.best is None else rival.samples[rival.best]
            made = _cell(device, problem, rival.peer, problem_text=rival.reason)
            yield replace(
                made,
                peer=rival.name,
                gflops=problem.flops / own / 1e9,
                peer_gflops=problem.flops / statistics.median(all_of(theirs)) / 1e9 if theirs else None,
                error=self._error,
                peer_error=rival.error,
                peer_arithmetic=rival.arithmetic,
                samples=samples,
                peer_samples=theirs,
            )

    def _measure(self) -> Samples:
        """Our seconds, round by round; those of the peers go to them."""
        players: list[Player] = [self._player, *(p for rival in self._rivals for p in rival.players)]
        if isinstance(self._player, BackToBack):
            times = play_rounds(players, BACK_TO_BACK_ROUNDS)
        else:
            times = play_rounds(players, ROUNDS, SHORT_ROUNDS)
        own, *others = (tuple(map(tuple, turns)) for turns in times)
        rest = iter(others)
        for rival in self._rivals:
            rival.samples = [next(rest) for _ in rival.players]
        return own


def _player(call: Call, memory: Memory) -> Player:
    return BackToBack(call) if memory is Memory.DEVICE else OneByOne(call)


def _rival(problem: Problem, peer: Peer, a: Matrix, b: Matrix, check: Callable[[Matrix], float]) -> _Rival:
    """A peer, with its first product and its error."""
    served = peer.serves(problem)
    arithmetic = "" if served == problem else served.arithmetic
    try:
        call = peer.prepare(served, a, b)
        call.product()
        same = arithmetic == "" and call.fetch is not None
        error = check(call.fetch()) if same and call.fetch is not None else None
    except (MemoryError, RuntimeError) as failure:
        return _Rival(peer, [], reason=f"{peer.name}: {_reason(failure)}", arithmetic=arithmetic)
    return _Rival(peer, [_player(call, peer.memory)], error=error, arithmetic=arithmetic)


def _best_core_type(problem: Problem, peer: Peer, core_types: CoreTypes) -> list[_Rival]:
    served = blas_problem(problem)
    players = core_types.players(served)
    arithmetic = "" if served == problem else served.arithmetic
    return [_Rival(peer, list(players), arithmetic=arithmetic, label="best core type:")] if players else []


def checker(problem: Problem, a: Matrix, b: Matrix) -> Callable[[Matrix], float]:
    """The check of results: the largest error, relative to the tolerance, over all matrices of a batch."""
    how = rounding(problem)
    if problem.batch == 1:
        return ProductCheck(a, b, how).error
    checks = [ProductCheck(left, right, how) for left, right in zip(a, b, strict=True)]

    def error(c: Matrix) -> float:
        found = [check.error(one) for check, one in zip(checks, c, strict=True)]
        return math.inf if any(math.isnan(one) for one in found) else max(found)

    return error


def own_call(context: Context, problem: Problem, a: Matrix, b: Matrix, memory: Memory) -> Call:
    """PortaGPU's product on the same kind of memory as the peer's."""
    held: dict[str, Any] = {}
    precision, out = problem.precision or None, problem.out_dtype
    if memory is Memory.HOST:

        def on_host() -> None:
            held["c"] = matmul(a, b, precision=precision, dtype=out)

        return Call(enqueue=on_host, fetch=lambda: np.asarray(held["c"]))
    left, right = to_device(a, context=context), to_device(b, context=context)
    result = matmul(left, right, precision=precision, dtype=out)
    return Call(
        enqueue=lambda: matmul(left, right, out=result, precision=precision),
        wait=context.synchronize,
        fetch=lambda: np.asarray(result.copy_to_host()),
    )


def name_of(device: DeviceRecord) -> str:
    """A device's name, with its index where the machine has another one of that name and driver."""
    alike = [one for one in devices() if one.key == device.key]
    return f"{device.name} #{device.index}" if len(alike) > 1 else device.name


def _cell(device: DeviceRecord, problem: Problem, peer: Peer, problem_text: str | None) -> Cell:
    """A cell without numbers."""
    return Cell(
        device=name_of(device),
        driver=f"{device.platform} {device.driver_version}",
        dtype=problem.dtype,
        out=problem.out,
        precision=problem.precision,
        m=problem.m,
        n=problem.n,
        k=problem.k,
        batch=problem.batch,
        memory=peer.memory.value,
        peer=peer.name,
        gflops=None,
        peer_gflops=None,
        error=None,
        problem=problem_text,
    )


def _reason(error: BaseException) -> str:
    text = str(error).splitlines()
    return text[0] if text else type(error).__name__


def default_sizes(device: DeviceRecord) -> tuple[int, ...]:
    """Sizes of the matrix."""
    return (256, 512, 1024, 2048, 4096) if device.device_type is DeviceType.GPU else (256, 512, 1024, 2048)
