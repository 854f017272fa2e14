"""printf: how text and numbers are said."""

from __future__ import annotations

from portagpu.backends.c_family.registry import Printing
from portagpu.dtypes import Kind
from portagpu.ir.nodes import Expr, Print
from portagpu.ir.types import Scalar

_ESCAPES = {ord("\n"): "\\n", ord("\t"): "\\t", ord('"'): '\\"', ord("\\"): "\\\\"}


def print_call(printer: Printing, statement: Print) -> str:
    """The statement's text."""
    arguments = "".join(f", {printer.text(a)}" for a in statement.args)
    first, *others = (text.replace("%", "%%") for text in statement.texts)
    text = first + "".join(_conversion(a) + t for a, t in zip(statement.args, others, strict=True))
    return f"{printer.language.printf}({_literal(text)}{arguments});"


def _conversion(value: Expr) -> str:
    assert isinstance(value.type, Scalar)
    dtype = value.type.dtype
    return "%f" if dtype.is_float else "%lu" if dtype.kind is Kind.UINT else "%ld"


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
