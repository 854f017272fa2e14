"""The size of subgroups that a kernel asks for."""

from __future__ import annotations

from portagpu.device.capabilities import Capabilities
from portagpu.errors import MissingCapabilityError
from portagpu.ir.program import Program


def required_size(program: Program, caps: Capabilities, size: int | None) -> int | None:
    """The size that the kernel's text must ask for, None where all subgroups have it anyway, or none is asked for.

    Raises `MissingCapabilityError` for a size that the device does not have.
    """
    if size is None or (not caps.required_subgroup_size and caps.subgroup_size == size):
        return None
    if not caps.required_subgroup_size or size not in caps.subgroup_sizes:
        known = caps.subgroup_sizes if caps.required_subgroup_size else (caps.subgroup_size,) * caps.subgroups
        raise MissingCapabilityError(
            f"this device has no subgroups of {size} threads, which subgroup_size={size} asks for",
            span=program.kernel.span,
            hint=f"its subgroups have {' or '.join(map(str, known))}" if known else "it has no subgroups at all",
        )
    return size
