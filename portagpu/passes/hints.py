"""Hints that a device does not take: they are dropped."""

from __future__ import annotations

from portagpu.device.capabilities import Capabilities, DeviceType
from portagpu.ir.nodes import Evaluate, Operation, Stmt
from portagpu.ir.program import Program
from portagpu.passes.rewriting import functions_of, operations, with_bodies


def without_hints(program: Program, caps: Capabilities) -> Program:
    """The program without the hints for which the device has nothing."""
    lacking = set()
    if not caps.inline_ptx:
        lacking.add("nanosleep")
    # OpenCL's own function does nothing on CPUs, or calls one that does
    if caps.device_type is DeviceType.CPU and not (caps.inline_ptx or caps.builtin_prefetch):
        lacking.add("prefetch")
    if not any(o.name in lacking for f in functions_of(program) for o in operations(f)):
        return program

    def change(statement: Stmt) -> list[Stmt]:
        value = statement.value if isinstance(statement, Evaluate) else None
        return [] if isinstance(value, Operation) and value.name in lacking else [statement]

    return with_bodies(program, change)
