"""Precedences of C's operators, and those of the IR's as C text: higher ones bind tighter."""

from __future__ import annotations

from portagpu.ir.nodes import BinaryOp, CompareOp, LogicalOp

PRIMARY, POSTFIX, UNARY, PRODUCT, SUM, SHIFT, RELATION, EQUALITY = 16, 15, 14, 13, 12, 11, 10, 9
BIT_AND, BIT_XOR, BIT_OR, AND, OR, TERNARY, LOWEST = 8, 7, 6, 5, 4, 3, 0

BINARY_LEVEL = {
    BinaryOp.MUL: PRODUCT,
    BinaryOp.DIV: PRODUCT,
    BinaryOp.REM: PRODUCT,
    BinaryOp.ADD: SUM,
    BinaryOp.SUB: SUM,
    BinaryOp.SHL: SHIFT,
    BinaryOp.SHR: SHIFT,
    BinaryOp.AND: BIT_AND,
    BinaryOp.XOR: BIT_XOR,
    BinaryOp.OR: BIT_OR,
}
COMPARE_LEVEL = {op: EQUALITY if op in (CompareOp.EQ, CompareOp.NE) else RELATION for op in CompareOp}
LOGICAL_LEVEL = {LogicalOp.AND: AND, LogicalOp.OR: OR}
