"""Measures GEMM cells.

Protocol: random operands, one warm-up, then rounds in which PortaGPU and its peer take turns; the median over all
repetitions counts. Between the turns there is a pause: BLAS libraries let their threads spin for some 0.1 s after a
product, which would take cores from whoever comes next. Every PortaGPU result is verified by Freivalds' check against
float64 before the cell gets a number.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from portagpu.bench.cells import Cell, Memory
from portagpu.bench.peers import Peer, Product, peers_for
from portagpu.bench.turns import ROUNDS, take_turn
from portagpu.blas.matmul import matmul
from portagpu.blas.verification import ProductCheck
from portagpu.device import DeviceRecord, DeviceType
from portagpu.errors import PortaGPUError
from portagpu.runtime.context import Context
from portagpu.runtime.creation import to_device
from portagpu.settings import Settings


def cells(
    device: DeviceRecord,
    sizes: tuple[int, ...],
    dtypes: tuple[str, ...],
    settings: Settings,
    progress: Callable[[str], None] = lambda text: None,
) -> Iterator[Cell]:
    """Measure every size and dtype on a device against its peers."""
    context = Context.for_device(device, settings)
    assert device.capabilities is not None
    with context:
        for dtype in dtypes:
            for size in sizes:
                for peer in peers_for(device):
                    progress(f"{device.name}: {dtype} {size} against {peer.name}")
                    if dtype == "float64" and not device.capabilities.fp64:
                        yield _failed(device, dtype, size, peer, "the device has no float64")
                        continue
                    try:
                        yield _cell(context, dtype, size, peer)
                    except (PortaGPUError, MemoryError, RuntimeError) as error:  # peers raise RuntimeError
                        yield _failed(device, dtype, size, peer, str(error).splitlines()[0])


def _failed(device: DeviceRecord, dtype: str, size: int, peer: Peer, problem: str) -> Cell:
    return Cell(
        device=device.name,
        driver=f"{device.platform} {device.driver_version}",
        dtype=dtype,
        size=size,
        memory=peer.memory.value,
        peer=peer.name,
        gflops=None,
        peer_gflops=None,
        error=None,
        problem=problem,
    )


def _cell(context: Context, dtype: str, size: int, peer: Peer) -> Cell:
    generator = np.random.default_rng(size)
    a = generator.standard_normal((size, size)).astype(dtype)
    b = generator.standard_normal((size, size)).astype(dtype)
    ours, fetch = _ours(context, a, b, peer.memory)
    theirs = peer.prepare(a, b)
    ours()
    theirs()
    error = ProductCheck(a, b).error(fetch())
    device = context.device
    if not error <= 1.0:
        return _failed(device, dtype, size, peer, f"wrong result: {error:.3g} times the tolerance")
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for product, kept in ((ours, times[0]), (theirs, times[1])):
            kept += take_turn(product)
    work = 2.0 * size**3 / 1e9
    return Cell(
        device=device.name,
        driver=f"{device.platform} {device.driver_version}",
        dtype=dtype,
        size=size,
        memory=peer.memory.value,
        peer=peer.name,
        gflops=work / statistics.median(times[0]),
        peer_gflops=work / statistics.median(times[1]),
        error=error,
        problem=None,
    )


def _ours(context: Context, a: Any, b: Any, memory: Memory) -> tuple[Product, Callable[[], np.ndarray[Any, Any]]]:
    """PortaGPU's product on the same kind of memory as the peer's, and a way to get its result."""
    held: dict[str, Any] = {}
    if memory is Memory.HOST:

        def on_host() -> None:
            held["c"] = matmul(a, b)

        return on_host, lambda: np.asarray(held["c"])
    left, right = to_device(a, context=context), to_device(b, context=context)
    result = matmul(left, right)

    def on_device() -> None:
        matmul(left, right, out=result)
        context.synchronize()

    return on_device, lambda: np.asarray(result.copy_to_host())


def default_sizes(device: DeviceRecord) -> tuple[int, ...]:
    """Sizes of the matrix."""
    return (256, 512, 1024, 2048, 4096) if device.device_type is DeviceType.GPU else (256, 512, 1024, 2048)
