"""A GPU with warp groups that is not at hand, as an H100 tells of itself; for rules and models."""

from __future__ import annotations

from dataclasses import replace

from portagpu.device.ideal_device import IDEAL

HOPPER = replace(
    IDEAL,
    local_memory_static=231424,
    compute_units=132,
    clock_mhz=1980,
    max_work_group_size=1024,
    max_work_item_sizes=(1024, 1024, 64),
    preferred_multiple=32,
)
