"""Hints that a device does not take: they are dropped."""

from __future__ import annotations

from portagpu.device.capabilities import Capabilities
from portagpu.ir.nodes import Evaluate, Operation, Stmt
from portagpu.ir.program import Program
from portagpu.passes.rewriting import functions_of, operations, with_bodies


def without_hints(program: Program, caps: Capabilities) -> Program:
    """The program without the hints for which the device has nothing."""
    lacking = {name for name, there in (("nanosleep", caps.nanosleep), ("prefetch", caps.prefetch)) if not there}
    if not any(o.name in lacking for f in functions_of(program) for o in operations(f)):
        return program

    def change(statement: Stmt) -> list[Stmt]:
        value = statement.value if isinstance(statement, Evaluate) else None
        return [] if isinstance(value, Operation) and value.name in lacking else [statement]

    return with_bodies(program, change)
