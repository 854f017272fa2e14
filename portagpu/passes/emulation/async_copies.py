"""Copies from global to shared memory that go on while threads compute, or that the thread makes at once."""

from __future__ import annotations

from portagpu.device.capabilities import Capabilities
from portagpu.dtypes import UINT32, UINT64
from portagpu.ir.nodes import Constant, Evaluate, Expr, Instruction, Operation, Select, Stmt
from portagpu.ir.program import Program
from portagpu.ir.types import VOID, Scalar
from portagpu.ir.walk import all_statements
from portagpu.passes.rewriting import functions_of, with_bodies

_NAMES = frozenset({"async_copy", "async_copy_commit", "async_copy_wait"})
_UINT, _ULONG = Scalar(UINT32), Scalar(UINT64)


def async_copies(program: Program, caps: Capabilities) -> Program:
    """The program with its copies as the device has them."""
    if not any(_is_one(s) for f in functions_of(program) for s in all_statements(f.body)):
        return program
    return with_bodies(program, _native if caps.async_copies else _at_once)


def _is_one(statement: Stmt) -> bool:
    return isinstance(statement, Instruction) and statement.name in _NAMES


def _native(statement: Stmt) -> list[Stmt]:
    """A copy of addresses, as numbers; how many bytes are read says the last operand, where not all of them are."""
    if not isinstance(statement, Instruction) or statement.name != "async_copy":
        return [statement]
    (size,), (to, source, valid), span = statement.attributes, statement.operands, statement.span
    assert isinstance(size, int)
    operands: list[Expr] = [
        Operation("shared_address", (to,), _UINT, effect=True, span=span),
        Operation("global_address", (source,), _ULONG, effect=True, span=span),
    ]
    whole, nothing = (Constant(n, _UINT, span=span) for n in (size, 0))
    if not isinstance(valid, Constant):
        operands.append(Select(valid, whole, nothing, _UINT, span=span))
    elif not valid.value:
        operands.append(nothing)
    return [Instruction("async_copy_bytes", (size,), (), tuple(operands), span=span)]


def _at_once(statement: Stmt) -> list[Stmt]:
    if not isinstance(statement, Instruction) or not _is_one(statement):
        return [statement]
    if statement.name != "async_copy":
        return []
    (size,), span = statement.attributes, statement.span
    return [Evaluate(Operation(f"copy_{size}", statement.operands, VOID, effect=True, span=span), span=span)]
