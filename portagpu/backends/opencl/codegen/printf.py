"""printf: how text and numbers are said in OpenCL C."""

from __future__ import annotations

from portagpu.backends.opencl.codegen.registry import Printing
from portagpu.ir.nodes import Print

_ESCAPES = {ord("\n"): "\\n", ord("\t"): "\\t", ord('"'): '\\"', ord("\\"): "\\\\"}


def print_call(printer: Printing, statement: Print) -> str:
    """The statement in C."""
    arguments = "".join(f", {printer.text(a)}" for a in statement.args)
    return f"printf({_literal(statement.text)}{arguments});"


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
