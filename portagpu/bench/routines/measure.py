"""Routines timed beside their peers, in turns, every result verified.

On GPUs the peers are cuBLAS and cuSOLVER on device arrays. On CPUs SciPy on NumPy arrays, as it comes and with its
OpenBLAS's best core type (in a child process, `portagpu.bench.core_types`), and CLBlast on device arrays. A product
with an epilogue is compared with the plain product, and with three calls.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from portagpu.bench.cells import Memory
from portagpu.bench.core_types import CoreTypes
from portagpu.bench.cupy_kernels import cupy_for
from portagpu.bench.routines import clblast, cublas, epilogue, memory_rate
from portagpu.bench.routines.results import Row
from portagpu.bench.routines.task import Task, call_of, copies, scipy_call
from portagpu.bench.routines.tasks import PEER_IN_A_CHILD, TASKS
from portagpu.bench.turns import BACK_TO_BACK_ROUNDS, SHORT_ROUNDS, BackToBack, Call, OneByOne, Player, play
from portagpu.device import DeviceRecord, DeviceType
from portagpu.errors import PortaGPUError
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution.context import Context

_FAILURES = (PortaGPUError, RuntimeError, MemoryError, ImportError)
_PLAIN = "the plain product of PortaGPU"


@dataclass(frozen=True, slots=True)
class _Peer:
    """A library on one kind of memory."""

    name: str
    memory: Memory
    prepare: Callable[[Task, Context], Call]


def rows(
    device: DeviceRecord,
    names: Iterable[str],
    dtypes: tuple[str, ...] = (),
    *,
    sizes: tuple[int, ...] = (),
    small: bool = False,
    core_types: CoreTypes | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> Iterator[Row]:
    """Measure routines on a device, one after the other; a row for each peer; what cannot be measured says why.

    ``dtypes`` and ``sizes``: in place of those that `Entry` tells for the device; of ``dtypes`` those that a routine
    is measured in.
    """
    found = _Peers(device)
    with Context.for_device(device) as context:
        for name in names:
            entry = TASKS[name]
            for dtype in entry.dtypes_on(device, dtypes):
                for n in sizes or entry.sizes(device, small=small):
                    progress(f"{name} {dtype} {n} on {device.name}: operands")
                    made = entry.make(n, dtype)
                    peers = found.of(made)
                    for memory in dict.fromkeys(peer.memory for peer in peers):
                        progress(f"{name} {dtype} {made.size} on {device.name}, {memory.value}")
                        own = [peer for peer in peers if peer.memory is memory]
                        yield from _measured(context, made, memory, own, core_types)


def own_call(made: Task, memory: Memory, context: Context) -> Call:
    """PortaGPU's call on copies of the arrays, NumPy's or the device's."""
    function = getattr(importlib.import_module(f"portagpu.{made.library}"), made.function)
    if memory is Memory.HOST:
        return call_of(function, made, copies(made))
    arrays = {name: to_device(x, context=context) for name, x in made.arrays.items()}
    return call_of(function, made, arrays, context.synchronize)


class _Peers:
    """The libraries that there are for a device, opened once."""

    def __init__(self, device: DeviceRecord) -> None:
        self._is_cpu = device.device_type is DeviceType.CPU
        self._cupy: Any = None if self._is_cpu else cupy_for(device)
        self._cublas = None if self._cupy is None else cublas.CuBlas(self._cupy)
        self._clblast = clblast.opened() if self._is_cpu else None
        self._scipy = ""
        if self._is_cpu and importlib.util.find_spec("scipy") is not None:
            self._scipy = importlib.import_module("scipy").__version__

    def of(self, made: Task) -> list[_Peer]:
        """The peers of a task."""
        if made.name == "epilogue":
            return self._of_epilogue()
        if not self._is_cpu:
            if self._cublas is None:
                return [_Peer("no CuPy with this device", Memory.DEVICE, _missing)]
            library, name = self._cublas, f"cuBLAS of CuPy {self._cupy.__version__}"
            return [_Peer(name, Memory.DEVICE, lambda t, _: cublas.prepare(library, t))]
        found = []
        if self._scipy:
            name = made.on_numpy.name if made.on_numpy else f"SciPy {self._scipy}"
            found.append(_Peer(name, Memory.HOST, lambda t, _: scipy_call(t)))
        if made.unit == "GB/s":
            name = f"the memory: NumPy in {memory_rate.cores()} threads"
            found.append(_Peer(name, Memory.HOST, lambda t, _: memory_rate.prepare(t)))
        theirs = self._clblast
        if theirs is not None and made.name in clblast.ROUTINES:
            found.append(_Peer("CLBlast", Memory.DEVICE, lambda t, c: clblast.prepare(theirs, t, c)))
        return found or [_Peer("neither SciPy nor CLBlast", Memory.HOST, _missing)]

    def _of_epilogue(self) -> list[_Peer]:
        if self._is_cpu:
            return [
                _Peer(_PLAIN, Memory.HOST, epilogue.plain_on_host),
                _Peer("three calls: the plain product, then NumPy", Memory.HOST, epilogue.three_calls_of_numpy),
            ]
        found = [_Peer(_PLAIN, Memory.DEVICE, epilogue.plain_on_device)]
        if self._cupy is not None:
            cupy = self._cupy
            name = f"three calls of CuPy {cupy.__version__}"
            found.append(_Peer(name, Memory.DEVICE, lambda t, _: epilogue.three_calls_of_cupy(cupy, t)))
        return found


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
            peer_error = 0.0 if theirs.fetch is None else _first(theirs, made)
        except _FAILURES as reason:
            compared.append(replace(row, problem=_text(reason)))
            continue
        if not peer_error <= 1:
            compared.append(replace(row, problem=f"wrong result of the peer: {peer_error:.3g}"))
            continue
        players.append(_player(theirs, memory))
        compared.append(row if theirs.fetch is None else replace(row, peer_error=peer_error))
    hand_set = []
    if core_types is not None and memory is Memory.HOST and made.name != "epilogue":
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


__all__ = ["own_call", "rows"]
