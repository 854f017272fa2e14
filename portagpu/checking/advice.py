"""Advice on the block: a kernel compiled for several, how many subgroups a vector unit then keeps, and what limits it.

A suggestion is JSON::

    {"block": [256, 1, 1],                        null where none is better than another
     "reason": "...",
     "trials": [{"block": [64, 1, 1], "registers": 40, "spills": false, "occupancy": 12, "slots": 16,
                 "limiter": "registers", "error": null}]}

Among blocks without spills the highest occupancy wins; of equal ones that which is nearest to 256 threads: enough for
every vector unit of a core, and few enough that blocks begin and end at different times.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from portagpu.backends.offline import OfflineFigures, OfflineTarget
from portagpu.checking.examination import Call
from portagpu.checking.records import Data
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.dispatch.kernel_axes import axes_of
from portagpu.dispatch.offline import OfflineKernel
from portagpu.errors import PortaGPUError

_SIZES = (64, 128, 256, 512, 1024)
_USUAL = 256


def suggestion(kernel: Dispatcher, target: OfflineTarget, call: Call) -> Data:
    """Which block is best for a kernel on a target, with what was tried. Raises `MissingCompilerError`."""
    if not target.is_gpu:
        return _none(
            "on CPUs a block is a loop: a few hundred threads, and as few blocks as there is work for all cores"
        )
    if kernel.options.block_dim is not None:
        return _none(f"block_dim= of cuda.jit fixes {_shape(tuple(kernel.options.block_dim))}")
    trials: list[tuple[tuple[int, ...], OfflineKernel | PortaGPUError]] = []
    for block in blocks_for(kernel, target, call):
        try:
            made: OfflineKernel | PortaGPUError = kernel.compile_for(
                target, call.signature, constants=call.constants, block=block
            )
        except PortaGPUError as error:
            made = error
        trials.append((block, made))
    return {**_chosen(target, trials), "trials": [_trial(block, made) for block, made in trials]}


def blocks_for(kernel: Dispatcher, target: OfflineTarget, call: Call) -> list[tuple[int, ...]]:
    """Blocks to try: multiples of the lanes, of as many axes as the kernel has."""
    caps = target.capabilities
    sizes = [n for n in _SIZES if n <= caps.largest_block and n % max(caps.warp_size, 1) == 0]
    if call.block is not None and math.prod(call.block[1:]) > 1:
        rest = math.prod(call.block[1:])
        return [(n // rest, *call.block[1:]) for n in sizes if n % rest == 0]
    if axes_of(kernel) > 1:
        return [(n // height, height) for n in sizes for height in (2 ** (int(math.log2(n)) // 2),)]
    return [(n,) for n in sizes]


def _none(reason: str) -> Data:
    return {"block": None, "reason": reason, "trials": []}


def _trial(block: tuple[int, ...], made: OfflineKernel | PortaGPUError) -> Data:
    whole = [*block, 1, 1][:3]
    if isinstance(made, PortaGPUError):
        empty = dict.fromkeys(("registers", "spills", "occupancy", "slots", "limiter"))
        return {"block": whole, **empty, "error": made.message}
    f = made.figures
    figures = {"registers": f.registers, "spills": f.spills, "occupancy": f.occupancy, "slots": f.slots}
    return {"block": whole, **figures, "limiter": f.limiter, "error": None}


def _chosen(target: OfflineTarget, trials: list[tuple[tuple[int, ...], OfflineKernel | PortaGPUError]]) -> Data:
    known = [(block, made) for block, made in trials if isinstance(made, OfflineKernel)]
    if not known:
        return {"block": None, "reason": "no block compiles"}
    if all(made.figures.occupancy is None for _, made in known):
        remark = next((made.remark for _, made in known if made.remark), None)
        return {"block": None, "reason": remark or "the registers are not known"}
    block, made = max(
        known,
        key=lambda one: (
            not one[1].figures.spills,
            one[1].figures.occupancy or 0,
            -abs(math.log2(math.prod(one[0]) / _USUAL)),
        ),
    )
    return {"block": [*block, 1, 1][:3], "reason": _reason(target, math.prod(block), made.figures)}


def _reason(target: OfflineTarget, threads: int, figures: OfflineFigures) -> str:
    kept = f"{figures.occupancy} of {figures.slots} subgroups on a vector unit"
    if figures.spills:
        kept += ", and it spills with every block"
    if figures.limiter == "subgroup slots":
        return f"{kept}: no block keeps more"
    better = _step(target, threads, figures)
    return f"{kept}, limited by {figures.limiter}" + (f"; {better}" if better else "")


def _step(target: OfflineTarget, threads: int, figures: OfflineFigures) -> str:
    """How much less of what limits it would bring more subgroups."""

    def gain(smaller: Callable[[int], OfflineFigures], amounts: range, words: str) -> str:
        for amount in amounts:
            found = target.residency(smaller(amount), threads)
            if found is not None and found.subgroups > (figures.occupancy or 0):
                return f"with {amount} {words} there would be {found.subgroups}"
        return ""

    if figures.limiter == "registers" and figures.registers:
        return gain(lambda n: replace(figures, registers=n), range(figures.registers - 1, 0, -1), "registers")
    if figures.limiter == "local memory":
        sizes = range(figures.local_bytes - 64, -1, -64)
        return gain(lambda n: replace(figures, local_bytes=n), sizes, "bytes of local memory")
    return ""


def _shape(block: tuple[int, ...]) -> str:
    return " x ".join(map(str, block))


def suggestion_text(data: Data) -> str:
    """A suggestion in a sentence."""
    block = data["block"]
    if block is None:
        return str(data["reason"])
    while len(block) > 1 and block[-1] == 1:
        block = block[:-1]
    return f"block {_shape(tuple(block))}: {data['reason']}"
