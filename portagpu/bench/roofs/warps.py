"""Bare instructions of warps and of warp groups (`fragments`): launches, and what their sums must be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.bench.roofs import fragments
from portagpu.bench.roofs.bare import KINDS, Bare, random_elements
from portagpu.bench.roofs.fragments import COLUMNS, ROWS, SIDE, TEAMS, WORDS, Fragment
from portagpu.bench.roofs.probe import Candidate
from portagpu.device import Capabilities

Array = np.ndarray[Any, Any]
_WARPS = 8  # of a block
_FRAGMENTS = {
    "float16": Fragment("m16n8k16", "float16", 16, 16, 4, 2, 4),
    "bfloat16": Fragment("m16n8k16", "bfloat16", 16, 16, 4, 2, 4),
    "tf32": Fragment("m16n8k8", "tfloat32", 16, 8, 4, 2, 4),
    "int8": Fragment("m16n8k32", "int8", 16, 32, 4, 2, 4),
}
_DOUBLE = Fragment("m8n8k4", "float64", 8, 4, 1, 1, 2)
_TALL_DOUBLE = Fragment("m16n8k16", "float64", 16, 16, 8, 4, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Elements:
    """How an arithmetic's elements are stored: the dtype of registers, how many of them hold, the sums' dtype."""

    register: str
    each: int
    sums: str


_ELEMENTS = {
    "float16": Elements(register="uint32", each=2, sums="float32"),
    "bfloat16": Elements(register="uint32", each=2, sums="float32"),
    "tf32": Elements(register="uint32", each=1, sums="float32"),
    "int8": Elements(register="uint32", each=4, sums="int32"),
    "float64": Elements(register="float64", each=1, sums="float64"),
}


def instructions(arithmetic: str, caps: Capabilities) -> list[str]:
    """Which of "warp" and "warp group" a device has."""
    if arithmetic not in _ELEMENTS or caps.ptx_target < (8, 0):
        return []
    groups = caps.ptx_target[0] == 9 and caps.architecture_ptx and arithmetic != "float64"
    return ["warp", "warp group"] if groups else ["warp"]


def of_warps(arithmetic: str, caps: Capabilities, blocks: int, turns: int, generator: np.random.Generator) -> Bare:
    """Warps whose fragments stay in registers."""
    form = fragment_of(arithmetic, caps)
    elements = _ELEMENTS[arithmetic]
    a, a_held = zip(*(random_elements(arithmetic, (form.m, form.k), generator) for _ in range(SIDE)), strict=True)
    b, b_held = zip(*(random_elements(arithmetic, (form.k, 8), generator) for _ in range(SIDE)), strict=True)
    words_a = _packed([fragments.held_of_a(one, elements.each) for one in a_held], elements)
    words_b = _packed([fragments.held_of_b(one, elements.each) for one in b_held], elements)
    once = np.stack([[fragments.held_of_c(x @ y) for y in b] for x in a])  # (SIDE, SIDE, 32, sums)
    once = np.moveaxis(once, 2, 0)  # a thread's sums lie together
    out = cuda.device_array(blocks * _WARPS * once.size, elements.sums)
    launch = fragments.multiply_fragments[blocks, 32 * _WARPS]
    run = partial(launch, out, cuda.to_device(words_a), cuda.to_device(words_b), np.int32(turns), form)
    multiplied = blocks * turns * _WARPS * SIDE * SIDE * form.m * 8 * form.k
    return _bare("warp", multiplied, run, lambda: (out.copy_to_host(), once, turns))


def of_warp_groups(arithmetic: str, blocks: int, turns: int, generator: np.random.Generator) -> Bare:
    """Warp groups whose tiles stay in shared memory."""
    elements = _ELEMENTS[arithmetic]
    depth = WORDS * elements.each
    a, a_held = random_elements(arithmetic, (ROWS, depth), generator)
    b, b_held = random_elements(arithmetic, (COLUMNS, depth), generator)
    words_a, words_b = (np.ascontiguousarray(one).view(np.uint32) for one in (a_held, b_held))
    once = fragments.held_of_tile(a @ b.T)
    out = cuda.device_array(blocks * TEAMS * once.size, elements.sums)
    launch = fragments.multiply_tiles[blocks, 128 * TEAMS]
    run = partial(launch, out, cuda.to_device(words_a), cuda.to_device(words_b), np.int32(turns), KINDS[arithmetic])
    multiplied = blocks * turns * TEAMS * ROWS * COLUMNS * depth
    return _bare("warp group", multiplied, run, lambda: (out.copy_to_host(), once, turns))


def _bare(team: str, multiplied: int, run: Callable[[], Any], fetch: Callable[[], Any]) -> Bare:
    """A probe of one form."""
    one = Candidate(text=f"bare instructions of a {team}", run=run, fetch=fetch)
    return Bare(multiplied=multiplied, candidates=lambda: [one])


def fragment_of(arithmetic: str, caps: Capabilities) -> Fragment:
    """The largest instruction of a warp."""
    if arithmetic == "float64":
        return _TALL_DOUBLE if caps.ptx_target >= (9, 0) else _DOUBLE
    return _FRAGMENTS[arithmetic]


def _packed(held: list[Array], elements: Elements) -> Array:
    """Registers of all fragments in the order in which the kernel reads them."""
    found = np.ascontiguousarray(np.stack(held))
    return found.view(elements.register).ravel()


__all__ = ["fragment_of", "instructions", "of_warp_groups", "of_warps"]
