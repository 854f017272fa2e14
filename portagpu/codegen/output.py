"""printf: how text, numbers and bools are said in OpenCL C."""

from __future__ import annotations

from portagpu.codegen.printer import TERNARY, Printer
from portagpu.dtypes import BOOL
from portagpu.ir.nodes import Expr, Print
from portagpu.ir.types import Scalar

_ESCAPES = {ord("\n"): "\\n", ord("\t"): "\\t", ord('"'): '\\"', ord("\\"): "\\\\"}


def print_call(printer: Printer, statement: Print) -> str:
    """The statement in C."""
    arguments = "".join(f", {_argument(printer, a)}" for a in statement.args)
    return f"printf({_literal(statement.text)}{arguments});"


def _argument(printer: Printer, expr: Expr) -> str:
    if isinstance(expr.type, Scalar) and expr.type.dtype is BOOL:
        return f'{printer.text(expr, TERNARY + 1)} ? "True" : "False"'
    return printer.text(expr)


def _literal(text: str) -> str:
    """A string literal: UTF-8, with what C could take for something else as octal escapes."""
    parts = []
    for byte in text.encode("utf-8", "backslashreplace"):
        if byte in _ESCAPES:
            parts.append(_ESCAPES[byte])
        elif 32 <= byte < 127 and byte != ord("?"):  # `??(` is a trigraph
            parts.append(chr(byte))
        else:
            parts.append(f"\\{byte:03o}")
    return f'"{"".join(parts)}"'
