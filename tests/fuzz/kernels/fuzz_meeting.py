"""Barriers and warps in the reference: the answers that threads get where they meet."""

from __future__ import annotations

from typing import Any

import numpy as np

WARP_SIZE = 32
WARP = (
    "syncwarp",
    "shfl_sync",
    "shfl_up_sync",
    "shfl_down_sync",
    "shfl_xor_sync",
    "all_sync",
    "any_sync",
    "eq_sync",
    "ballot_sync",
    "match_any_sync",
    "match_all_sync",
)


class PyInt(int):
    """A Python integer that is no constant: an index, a counter, a length."""


class Undefined(Exception):
    """A value that C leaves open, or a float that had to be rounded where the generator promises exact ones."""


def answered(met: dict[int, tuple[Any, ...]], count: int) -> dict[int, Any]:
    """The results of a barrier by thread; ``met`` has its name and operands."""
    kind = next(iter(met.values()))[0]
    if kind not in WARP:
        flags = [bool(operands[1]) for operands in met.values() if len(operands) > 1]
        results = {"syncthreads_count": sum(flags), "syncthreads_and": all(flags), "syncthreads_or": any(flags)}
        return dict.fromkeys(met, PyInt(results[kind]) if kind in results else None)
    if len(met) < count:
        raise Undefined("threads of a warp have left")
    answers: dict[int, Any] = {}
    for first in range(0, count, WARP_SIZE):
        lanes = range(first, min(first + WARP_SIZE, count))
        values = [met[n][2] if len(met[n]) > 2 else None for n in lanes]
        for lane, n in enumerate(lanes):
            answers[n] = _of_lane(kind, lane, values, met[n][3] if len(met[n]) > 3 else None)
    return answers


def _mask(flags: list[bool]) -> Any:
    return np.uint32(sum(1 << n for n, flag in enumerate(flags) if flag)).astype(np.int32)


def _of_lane(kind: str, lane: int, values: list[Any], operand: Any) -> Any:
    """The result of a warp operation with a full mask."""
    if kind.startswith("shfl"):
        source = {
            "shfl_sync": lambda: int(operand) % WARP_SIZE,
            "shfl_up_sync": lambda: lane - int(operand),
            "shfl_down_sync": lambda: lane + int(operand),
            "shfl_xor_sync": lambda: lane ^ int(operand),
        }[kind]()
        if 0 <= source < len(values):
            return values[source]
        if len(values) < WARP_SIZE and 0 <= source < WARP_SIZE:
            raise Undefined("a lane that is not there")
        return values[lane]
    if kind == "match_any_sync":
        return _mask([v == values[lane] for v in values])
    if kind == "match_all_sync":
        same = all(v == values[0] for v in values)
        return (_mask([same] * len(values)), same)
    flags = [bool(v) for v in values]
    results = {"all_sync": all(flags), "any_sync": any(flags), "eq_sync": len(set(flags)) == 1}
    if kind == "ballot_sync":
        return _mask(flags)
    return np.bool_(results[kind]) if kind in results else None
