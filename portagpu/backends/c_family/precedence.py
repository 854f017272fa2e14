"""Precedences of C's operators: higher ones bind tighter."""

from __future__ import annotations

PRIMARY, POSTFIX, UNARY, PRODUCT, SUM, SHIFT, RELATION, EQUALITY = 16, 15, 14, 13, 12, 11, 10, 9
BIT_AND, BIT_XOR, BIT_OR, AND, OR, TERNARY, LOWEST = 8, 7, 6, 5, 4, 3, 0
