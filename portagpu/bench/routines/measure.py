"""Routines timed beside their peers, in turns, every result verified.

On GPUs the peers are cuBLAS and cuSOLVER on device arrays. On CPUs SciPy on NumPy arrays, as it comes and with its
OpenBLAS's best core type (in a child process, `portagpu.bench.core_types`), and CLBlast on device arrays.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from portagpu.bench.cells import Memory
from portagpu.bench.core_types import CoreTypes
from portagpu.bench.cupy_kernels import cupy_for
from portagpu.bench.routines import clblast, cublas
from portagpu.bench.routines.results import Row
from portagpu.bench.routines.tasks import PEER_IN_A_CHILD, TASKS, Task, call_of, scipy_call
from portagpu.bench.turns import BACK_TO_BACK_ROUNDS, SHORT_ROUNDS, BackToBack, Call, OneByOne, Player, play
from portagpu.device import DeviceRecord, DeviceType
from portagpu.errors import PortaGPUError
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution.context import Context

_FAILURES = (PortaGPUError, RuntimeError, MemoryError, ImportError)


@dataclass(frozen=True, slots=True)
class _Peer:
    """A library on one kind of memory."""

    name: str
    memory: Memory
    prepare: Callable[[Task, Context], Call]


def task(name: str, dtype: str, device: DeviceRecord, *, small: bool = False) -> Task:
    """A routine's task in the size for a device."""
    make, on_gpu, on_cpu, least = TASKS[name]
    return make(least if small else on_gpu if device.device_type is DeviceType.GPU else on_cpu, dtype)


def rows(
    device: DeviceRecord,
    names: Iterable[str],
    dtypes: Iterable[str],
    *,
    small: bool = False,
    core_types: CoreTypes | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> Iterator[Row]:
    """Measure routines on a device, one after the other; a row for each peer; what cannot be measured says why."""
    peers = _peers(device)
    dtypes = tuple(dtypes)
    with Context.for_device(device) as context:
        for name in names:
            for dtype in dtypes:
                made = task(name, dtype, device, small=small)
                for memory in dict.fromkeys(peer.memory for peer in peers):
                    progress(f"{name} {dtype} on {device.name}, {memory.value}")
                    own = [peer for peer in peers if peer.memory is memory]
                    yield from _measured(context, made, memory, own, core_types)


def own_call(made: Task, memory: Memory, context: Context) -> Call:
    """PortaGPU's call on copies of the arrays, NumPy's or the device's."""
    function = getattr(importlib.import_module(f"portagpu.{made.library}"), made.function)
    if memory is Memory.HOST:
        return call_of(function, made, {name: x.copy(order="F") for name, x in made.arrays.items()})
    arrays = {name: to_device(x, context=context) for name, x in made.arrays.items()}
    return call_of(function, made, arrays, context.synchronize)


def _peers(device: DeviceRecord) -> list[_Peer]:
    if device.device_type is not DeviceType.CPU:
        cupy = cupy_for(device)
        if cupy is None:
            return [_Peer("no CuPy with this device", Memory.DEVICE, _missing)]
        library = cublas.CuBlas(cupy)
        return [_Peer(f"cuBLAS of CuPy {cupy.__version__}", Memory.DEVICE, lambda t, _: cublas.prepare(library, t))]
    found = []
    if importlib.util.find_spec("scipy") is not None:
        found.append(
            _Peer(f"SciPy {importlib.import_module('scipy').__version__}", Memory.HOST, lambda t, _: scipy_call(t))
        )
    theirs = clblast.opened()
    if theirs is not None:
        found.append(_Peer("CLBlast", Memory.DEVICE, lambda t, c: clblast.prepare(theirs, t, c)))
    return found or [_Peer("neither SciPy nor CLBlast", Memory.HOST, _missing)]


def _missing(made: Task, context: Context) -> Call:
    raise RuntimeError("there is no peer")


def _measured(
    context: Context, made: Task, memory: Memory, peers: list[_Peer], core_types: CoreTypes | None
) -> Iterator[Row]:
    device = context.device
    blank = Row(
        device=device.name,
        driver=f"{device.platform} {device.driver_version}",
        routine=made.name,
        dtype=made.dtype,
        size=made.size,
        memory=memory.value,
        peer=peers[0].name,
        work=made.work,
        unit=made.unit,
    )
    try:
        ours = own_call(made, memory, context)
        error = _first(ours, made)
    except _FAILURES as reason:
        yield from (replace(blank, peer=peer.name, problem=_text(reason)) for peer in peers)
        return
    if not error <= 1:
        yield from (replace(blank, peer=peer.name, problem=f"wrong result: {error:.3g}") for peer in peers)
        return
    players: list[Player] = [_player(ours, memory)]
    compared: list[Row] = []
    for peer in peers:
        row = replace(blank, peer=peer.name, error=error)
        try:
            theirs = peer.prepare(made, context)
            peer_error = _first(theirs, made)
        except _FAILURES as reason:
            compared.append(replace(row, problem=_text(reason)))
            continue
        if not peer_error <= 1:
            compared.append(replace(row, problem=f"wrong result of the peer: {peer_error:.3g}"))
            continue
        players.append(_player(theirs, memory))
        compared.append(replace(row, peer_error=peer_error))
    hand_set = []
    if core_types is not None and memory is Memory.HOST:
        hand_set = core_types.players_of(PEER_IN_A_CHILD, made.name, made.n, made.dtype)
    times = play([*players, *hand_set], BACK_TO_BACK_ROUNDS if memory is Memory.DEVICE else SHORT_ROUNDS)
    own, rest = times[0], iter(times[1:])
    for row in compared:
        timed = replace(row, seconds=statistics.median(own), samples=tuple(own))
        yield timed if row.problem else _beside(timed, next(rest))
    if hand_set:
        best, name = min(((one, player.core_type) for one, player in zip(rest, hand_set, strict=True)), key=_median)
        row = replace(blank, peer=f"{peers[0].name}, best core type: {name}", error=error)
        yield _beside(replace(row, seconds=statistics.median(own), samples=tuple(own)), best)


def _median(entry: tuple[list[float], str]) -> float:
    return statistics.median(entry[0])


def _beside(row: Row, theirs: list[float]) -> Row:
    return replace(row, peer_seconds=statistics.median(theirs), peer_samples=tuple(theirs))


def _first(call: Call, made: Task) -> float:
    """The error of the first call."""
    call.product()
    assert call.fetch is not None
    found = made.error(call.fetch())
    return found if not math.isnan(found) else math.inf


def _player(call: Call, memory: Memory) -> Player:
    return BackToBack(call) if memory is Memory.DEVICE else OneByOne(call)


def _text(error: BaseException) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__


__all__ = ["own_call", "rows", "task"]
