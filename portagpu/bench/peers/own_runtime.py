"""Calls of libraries with a runtime of their own: its events as a clock, and its kernels to fill the caches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from portagpu.bench.method.plan import CACHES_BYTES
from portagpu.bench.method.turns import Call, Clock


def with_cupy(cupy: Any, call: Call) -> Call:
    """A call on CuPy's current stream."""

    def flush() -> None:
        memory = _of_cupy(cupy)
        memory += 1
        cupy.cuda.get_current_stream().synchronize()

    clock = _clock(lambda: cupy.cuda.Event(), lambda start, end: cupy.cuda.get_elapsed_time(start, end))
    return replace(call, clock=clock, flush=flush)


def with_torch(torch: Any, kind: str, call: Call) -> Call:
    """A call on the current stream of torch's GPU of a kind, "cuda" or "xpu"; one of the CPU has neither."""
    if kind == "cpu":
        return call
    runtime = getattr(torch, kind)

    def flush() -> None:
        _of_torch(torch, kind).add_(1)
        runtime.synchronize()

    clock = _clock(lambda: runtime.Event(enable_timing=True), lambda start, end: start.elapsed_time(end))
    return replace(call, clock=clock, flush=flush)


def _clock(event: Callable[[], Any], elapsed: Callable[[Any, Any], float]) -> Clock:
    """The clock of a runtime's events; ``elapsed(start, end)``: the milliseconds between two."""

    def clock(enqueue: Callable[[], None], wait: Callable[[], object]) -> float:
        start, end = event(), event()
        start.record()
        start.synchronize()
        enqueue()
        end.record()
        wait()
        end.synchronize()
        return float(elapsed(start, end)) / 1000

    return clock


@cache
def _of_cupy(cupy: Any) -> Any:
    return cupy.zeros(CACHES_BYTES // 4, cupy.float32)


@cache
def _of_torch(torch: Any, kind: str) -> Any:
    return torch.zeros(CACHES_BYTES // 4, dtype=torch.float32, device=kind)


__all__ = ["with_cupy", "with_torch"]
