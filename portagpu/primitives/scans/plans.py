"""How a scan is divided: in parts that are reduced first, so that each can begin with what is before it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu.device.capabilities import Capabilities
from portagpu.primitives.scans.operators import Operator

_BLOCK = 256  # threads on GPUs
_BYTES = 16  # of a thread's load on GPUs
_BLOCKS = 8  # for each compute unit
_SHARES = 4  # work-items for each core
_LEAST = 16  # elements of a thread, in a part
_STRIP = 512  # neighbours that a CPU's work-item scans together
_LARGE = 2**30  # elements, from which on subscripts have 64 bits


class Heads(NamedTuple):
    """How segments are told: by ``flags`` that are true at their first elements, or by keys that change there."""

    dtype: np.dtype[Any]
    flags: bool


class Plan(NamedTuple):
    """What is known when a kernel is compiled.

    ``across``: neighbouring threads have neighbouring scans, whose elements are ``inner`` apart, else a block has a
    scan's neighbours. ``strip``: elements of neighbouring scans of a work-item, on CPUs. ``lanes``: elements of a
    thread's load. ``totals``: only what a part becomes is written; ``parts``: what is before a part is read.
    ``starts``: results do not contain their own element. ``warps``: lanes exchange numbers by instructions.
    """

    source: np.dtype[Any]
    target: np.dtype[Any]
    heads: Heads | None
    across: bool
    strip: int
    block: int
    lanes: int
    totals: bool
    parts: bool
    starts: bool
    warps: bool
    wide: bool


class Division(NamedTuple):
    """Of a scan of (outer, length, inner) elements: a plan, and ``parts`` of ``chunk`` elements for each scan."""

    plan: Plan
    parts: int
    chunk: int


def divided(
    shape: tuple[int, int, int],
    source: np.dtype[Any],
    target: np.dtype[Any],
    operator: Operator,
    heads: Heads | None,
    caps: Capabilities,
    *,
    starts: bool,
    aligned: bool,
) -> Division:
    """The division of a scan on a device; ``aligned``: vectors can be loaded and stored at once."""
    outer, length, inner = shape
    threaded = caps.shares_on_chip
    in_order = operator.identity is None
    block = min(_BLOCK, caps.max_work_group_size, caps.max_work_item_sizes[0]) if threaded else 1
    across = inner > 1 or in_order or not threaded or (length <= 32 and outer >= block)
    strip = lanes = 1
    if not threaded and inner > 1:
        strip = min(_STRIP, inner)
    elif not across:
        size = max(source.itemsize, target.itemsize)
        vectors = source.kind not in "bc" and target.kind not in "bc" and operator.held.kind not in "bc"
        lanes = max(1, _BYTES // size) if vectors and aligned and length % max(1, _BYTES // size) == 0 else 1
        while block > 32 and block * lanes >= 2 * length:
            block //= 2
    scans = outer * -(-inner // strip)
    wanted = caps.compute_units * (_BLOCKS if threaded else _SHARES) * (block if across else 1)
    step = 1 if across else block * lanes
    parts = 1
    if not in_order and (threaded or caps.compute_units > 1):
        parts = max(1, min(-(-wanted // scans), length // (step * (_LEAST if across else 4))))
        if not threaded and scans >= caps.compute_units * 2:
            parts = 1
        if not threaded and length * inner < 2**15:
            parts = 1
    chunk = -(-length // parts)
    chunk = -(-chunk // step) * step
    parts = max(1, -(-length // chunk))
    wide = outer * length * inner + outer * inner >= _LARGE
    plan = Plan(
        source=source,
        target=target,
        heads=heads,
        across=across,
        strip=strip,
        block=block,
        lanes=lanes,
        totals=False,
        parts=parts > 1,
        starts=starts,
        warps=threaded and caps.warp_instructions and operator.held.kind not in "bc" and not across,
        wide=wide,
    )
    return Division(plan, parts, chunk)
