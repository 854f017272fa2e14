"""Reads types and signatures written as text, such as ``"void(float32[:, ::1], int64)"``. Nothing of it is executed."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from portagpu.errors import KernelTypeError, did_you_mean
from portagpu.source import parsed_expression

EXAMPLE = 'write it like "void(float32[:], int64)", or void(float32[:], int64) with types of portagpu.cuda'


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """What names mean, and what subscripts and calls of them make."""

    names: Mapping[str, Any]
    factories: Mapping[str, Callable[..., Any]]  # called with types and constants
    subscripted: Callable[[Any, tuple[slice, ...]], Any]
    called: Callable[[Any, tuple[Any, ...]], Any]
    none: Any


def evaluate(text: str, vocabulary: Vocabulary) -> Any:
    """What a text means. Raises `KernelTypeError`."""
    try:
        tree = parsed_expression(text.strip())
    except SyntaxError as error:
        raise KernelTypeError(f"the signature {text!r} cannot be read", hint=EXAMPLE) from error
    return _node(tree, text, vocabulary)


def _node(node: ast.expr, text: str, vocabulary: Vocabulary) -> Any:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            found = vocabulary.names.get(name)
            if found is None:
                meant = did_you_mean(name, vocabulary.names)
                raise KernelTypeError(f"the signature {text!r} names the unknown type {name}", hint=meant + EXAMPLE)
            return found
        case ast.Constant(value=None):
            return vocabulary.none
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return tuple(_node(item, text, vocabulary) for item in items)
        case ast.Subscript(value=base, slice=axes):
            parts = axes.elts if isinstance(axes, ast.Tuple) else [axes]
            return vocabulary.subscripted(_node(base, text, vocabulary), tuple(_slice(part, text) for part in parts))
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args) if name in vocabulary.factories:
            return vocabulary.factories[name](*(_argument(a, text, vocabulary) for a in args))
        case ast.Call(func=function, args=args):
            return vocabulary.called(_node(function, text, vocabulary), tuple(_node(a, text, vocabulary) for a in args))
        case _:
            raise KernelTypeError(f"the signature {text!r} cannot be read", hint=EXAMPLE)


def _argument(node: ast.expr, text: str, vocabulary: Vocabulary) -> Any:
    return node.value if isinstance(node, ast.Constant) else _node(node, text, vocabulary)


def _slice(node: ast.expr, text: str) -> slice:
    match node:
        case ast.Slice(lower=None, upper=None, step=None):
            return slice(None)
        case ast.Slice(lower=None, upper=None, step=ast.Constant(value=1)):
            return slice(None, None, 1)
        case _:
            raise KernelTypeError(f"the signature {text!r} cannot be read at [{ast.unparse(node)}]", hint=EXAMPLE)


FOREIGN_MODULES = ("numba.core.types", "numba.core.typing", "numba.cuda.types", "numba.np.types")


def is_foreign(value: Any) -> bool:
    """Whether an object is a type or signature of an installed numba."""
    return type(value).__module__.startswith(FOREIGN_MODULES)


def foreign_text(value: Any) -> str:
    """The name of numba's type, as signatures are written."""
    if hasattr(value, "ndim") and hasattr(value, "layout"):
        readonly = "" if getattr(value, "mutable", True) else ", True"
        return f"Array({foreign_text(value.dtype)}, {value.ndim}, {value.layout!r}{readonly})"
    if hasattr(value, "types"):
        return f"Tuple(({''.join(foreign_text(t) + ',' for t in value.types)}))"
    return str(value)
