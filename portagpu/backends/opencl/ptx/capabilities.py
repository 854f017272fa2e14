"""Capabilities of OpenCL devices whose compiler takes inline PTX."""

from __future__ import annotations

from typing import TypedDict

_ASYNC_COPIES = (8, 0)


class FromPTX(TypedDict):
    """The capabilities that are there because a compiler takes PTX: see `Capabilities`."""

    inline_ptx: bool
    ptx_target: tuple[int, int]
    architecture_ptx: bool
    warp_instructions: bool
    cooperative_launch: bool
    device_fences: bool
    async_copies: bool
    nanosleep: bool
    register_aware_scheduling: bool


def from_ptx(there: bool, target: tuple[int, int] = (0, 0), *, architecture: bool = False) -> FromPTX:
    """The capabilities of a device whose compiler takes PTX (``there``), or not.

    ``target``: the compute capability whose instructions work; ``architecture``: also those that newer ones lack.

    A compiler that takes PTX is CUDA's. On its devices alone running blocks are not
    suspended, and fences reach beyond the work-group: OpenCL promises neither.
    """
    return {
        "inline_ptx": there,
        "ptx_target": target,
        "architecture_ptx": architecture,
        "warp_instructions": there,
        "cooperative_launch": there,
        "device_fences": there,
        "async_copies": there and target >= _ASYNC_COPIES,
        "nanosleep": there,
        "register_aware_scheduling": there,
    }
