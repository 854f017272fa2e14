"""How many subgroups a vector unit keeps at once, and what allows no more."""

from __future__ import annotations

from dataclasses import dataclass

from portagpu.backends.offline import OfflineFigures, Residency


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """What the blocks of one core share: a multiprocessor, a compute unit or a pair of them.

    ``units``: its vector units, between which a block's subgroups are divided; ``slots``: subgroups that one of them
    keeps at most; ``registers``: of one of them, as registers of a subgroup, given out in lots of ``granule``;
    ``scalars``: its scalar registers, where a subgroup's number of them matters; ``local``: bytes of the core,
    of which each block takes ``reserved`` more than it asks for; ``blocks``: that the core keeps at most, and
    ``joined`` of several subgroups each, which need a barrier, where that is less.
    """

    units: int
    slots: int
    registers: int
    granule: int
    local: int
    blocks: int
    reserved: int = 0
    joined: int | None = None
    scalars: int | None = None


_SCALAR_GRANULE = 16


def residency(core: Core, figures: OfflineFigures, block: int | None) -> Residency:
    """Subgroups of a kernel on one vector unit. ``block``: threads of a block, None where they are not known."""
    assert figures.registers is not None
    limits = {
        "subgroup slots": core.slots,
        "registers": core.registers // (max(-(-figures.registers // core.granule), 1) * core.granule),
    }
    if core.scalars is not None and figures.scalar_registers:
        limits["scalar registers"] = core.scalars // (-(-figures.scalar_registers // _SCALAR_GRANULE) * _SCALAR_GRANULE)
    limiter = min(limits, key=lambda name: limits[name])  # the first of equal ones: the best that can be
    subgroups = max(limits[limiter], 1)
    if block is not None:
        subgroups, limiter = _in_blocks(core, figures, block, subgroups, limiter)
    return Residency(subgroups=subgroups, slots=core.slots, limiter=limiter)


def _in_blocks(core: Core, figures: OfflineFigures, block: int, most: int, limiter: str) -> tuple[int, str]:
    """The same for whole blocks, of which local memory and the core keep so many."""
    of_block = -(-block // figures.lanes)
    blocks = max(core.units * most // of_block, 1)
    if blocks * of_block < core.units * most:  # what is left is smaller than a block
        limiter = "block size"
    if figures.local_bytes:
        fit = max(core.local // (figures.local_bytes + core.reserved), 1)
        if fit < blocks:
            blocks, limiter = fit, "local memory"
    allowed = core.blocks if core.joined is None or of_block == 1 else core.joined
    if allowed < blocks:
        blocks, limiter = allowed, "blocks"
    return max(1, min(most, blocks * of_block // core.units)), limiter
