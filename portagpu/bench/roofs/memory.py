"""The roofs of a device's memory as cases: arrays beyond its caches, our kernels beside what others move them with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.bench.records.cell import Memory
from portagpu.bench.records.workload import Unit, Workload
from portagpu.bench.roofs import stream_peers, streaming_stores, streams
from portagpu.bench.roofs.probe import Candidate, contender
from portagpu.bench.roofs.streams import KERNELS, PASSES, Form
from portagpu.bench.running.case import Case, Options
from portagpu.device import DeviceRecord, DeviceType
from portagpu.runtime.execution.context import Context

ITEM = 4  # bytes of float32
_SMALL = 1 << 16
_ON_CPU, _ON_GPU = 1 << 27, 1 << 29  # bytes of an array
_SHARE = 8  # of the device's memory that an array may take


def array_bytes(device: DeviceRecord, *, small: bool = False) -> int:
    """Bytes of an array, a power of two: four times the largest cache at least, where memory is large enough."""
    caps = device.capabilities
    assert caps is not None
    if small:
        return _SMALL
    wanted = _ON_CPU if device.device_type is DeviceType.CPU else _ON_GPU
    while wanted < 4 * caps.global_cache:
        wanted *= 2
    room = min(caps.global_memory // _SHARE, caps.max_allocation)
    while wanted > room:
        wanted //= 2
    return wanted


def size_text(nbytes: int) -> str:
    """Bytes as paths have them."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if nbytes >= unit and nbytes % unit == 0:
            return f"{nbytes // unit} {name}"
    return f"{nbytes} bytes"


def workload(name: str, nbytes: int) -> Workload:
    """A stream of float32 arrays of so many bytes each."""
    return Workload(
        suite="roofs",
        name=name,
        arithmetic="float32",
        size=size_text(nbytes),
        unit=Unit.GBYTES,
        flops=2.0 * nbytes / ITEM if name == "triad" else None,
        nbytes=float(PASSES[name] * nbytes),
    )


def case(name: str, options: Options, context: Context) -> Case:
    """A stream; all contenders have arrays of their own, but one at a time runs."""
    nbytes = array_bytes(context.device, small=options.small)
    a, b = streams.operands(nbytes // ITEM, options.seed)
    peers = stream_peers.contenders(name, a, b, context.device)
    return Case(
        workload=workload(name, nbytes),
        memory=Memory.DEVICE,
        contenders=(contender(context, partial(_candidates, name, a, b, context)), *peers),
        check=lambda found: streams.error(name, found, a, b),
    )


def _candidates(name: str, a: Any, b: Any, context: Context) -> Iterator[Candidate]:
    caps = context.device.capabilities
    assert caps is not None
    sources = cuda.to_device(a), cuda.to_device(b) if name == "triad" else cuda.device_array(1, np.float32)
    target = cuda.device_array(1 if name == "read" else a.size, np.float32)
    for form in streams.forms(caps, a.size):
        run, sums = launch_of(name, form, sources, target)
        result = sums if name == "read" else target
        yield Candidate(text=form.text, run=run, fetch=partial(_fetched, result))
        if caps.device_type is DeviceType.CPU:
            found = streaming_stores.candidate(name, form, a, b, context)
            yield from [found] if found is not None else []
    if name == "copy":
        yield Candidate(
            text="the driver's own copy",
            run=partial(target.copy_to_device, sources[0]),
            fetch=target.copy_to_host,
        )


def _fetched(array: Any) -> Any:
    return array.copy_to_host()


def launch_of(name: str, form: Form, sources: tuple[Any, Any], target: Any) -> tuple[Callable[[], Any], Any]:
    """A form's launch, and the sums that its threads leave."""
    blocks = sources[0].size // form.block
    sums = cuda.device_array(blocks * form.threads, np.float32)
    vector = getattr(cuda, f"float32x{form.lanes}")
    launch = KERNELS[name][blocks, form.threads]
    return partial(launch, *sources, target, sums, np.uint32(form.steps), vector, form.near), sums


__all__ = ["array_bytes", "case", "size_text", "workload"]
