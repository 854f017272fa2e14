"""The barrier of a grid: through cells in global memory where its blocks run at the same time, else the block's.

Elsewhere a launch has one block, or all blocks become one (`portagpu.passes.emulation.grid_fusion`).
"""

from __future__ import annotations

from dataclasses import replace

from portagpu.dtypes import UINT32
from portagpu.ir.names import GRID_CELLS
from portagpu.ir.nodes import Evaluate, Operation, Stmt, Var
from portagpu.ir.program import Function, Parameter, ParameterRole, Program
from portagpu.ir.types import VOID, Pointer, Scalar, Space
from portagpu.passes.rewriting import functions_of, handed_down, operations, with_bodies

_CELLS = Parameter(name=GRID_CELLS, type=Pointer(Scalar(UINT32), Space.GLOBAL), role=ParameterRole.GRID_CELLS)


def grid_barriers(program: Program, *, together: bool) -> Program:
    """The program with its grid barriers as the device has them; ``together``: all blocks run at the same time."""
    if not any(map(_waits, functions_of(program))):
        return program
    if not together:
        return with_bodies(program, lambda statement: [_replaced(statement, "syncthreads")])
    program = handed_down(program, (replace(_CELLS, role=ParameterRole.SHARED),), _waits)
    program = with_bodies(program, lambda statement: [_replaced(statement, "grid_sync", _CELLS)])
    return replace(program, kernel=replace(program.kernel, parameters=(*program.kernel.parameters, _CELLS)))


def _waits(function: Function) -> bool:
    return any(o.name == "grid_sync" for o in operations(function))


def _replaced(statement: Stmt, name: str, *parameters: Parameter) -> Stmt:
    """The statement, or another barrier in place of the grid's."""
    value = statement.value if isinstance(statement, Evaluate) else None
    if not isinstance(value, Operation) or value.name != "grid_sync":
        return statement
    args = tuple(Var(p.name, p.type, span=value.span) for p in parameters)
    return Evaluate(Operation(name, args, VOID, effect=True, span=value.span), span=statement.span)
