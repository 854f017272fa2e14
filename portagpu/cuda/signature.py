"""Signature strings such as ``"void(float32[:, :], int64)"``."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.dtypes import DType
from portagpu.errors import ArgumentCountError, ArgumentTypeError, KernelTypeError
from portagpu.frontend.capture import FunctionSource
from portagpu.runtime.array import DeviceNDArray

_ALIASES = {
    "boolean": "bool",
    "bool_": "bool",
    "intp": "int64",
    "uintp": "uint64",
    "float_": "float32",
    "double": "float64",
    "f4": "float32",
    "f8": "float64",
    "i4": "int32",
    "i8": "int64",
    "u4": "uint32",
    "u8": "uint64",
    "int": "int64",
    "float": "float64",
}


@dataclass(frozen=True, slots=True)
class DeclaredType:
    """Type of one parameter: a dtype and, for arrays, the number of axes."""

    dtype: DType
    ndim: int | None = None

    def __str__(self) -> str:
        if self.ndim is None:
            return self.dtype.name
        return f"{self.dtype.name}[{', '.join([':'] * self.ndim)}]"


@dataclass(frozen=True, slots=True)
class Signature:
    """Declared parameter types; arguments are converted or refused accordingly."""

    text: str
    types: tuple[DeclaredType, ...]

    @classmethod
    def parse(cls, text: str) -> Signature:
        """Parse ``void(type, ...)`` or ``(type, ...)``. Raises `KernelTypeError`."""
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except SyntaxError as error:
            raise KernelTypeError(f"the signature {text!r} cannot be read", hint=_EXAMPLE) from error
        if isinstance(tree, ast.Call):
            nodes = tree.args
        else:
            nodes = tree.elts if isinstance(tree, ast.Tuple) else [tree]
        return cls(text, tuple(_declared(n, text) for n in nodes))

    def check_count(self, source: FunctionSource) -> None:
        """Raise unless the function has as many parameters."""
        if len(self.types) != len(source.parameters):
            raise KernelTypeError(
                f"the signature {self.text!r} has {len(self.types)} parameters, "
                f"`{source.name}` has {len(source.parameters)}",
                span=source.span(source.tree),
            )

    def convert(self, args: tuple[Any, ...], names: tuple[str, ...]) -> tuple[Any, ...]:
        """Arguments with numbers converted to the declared types. Raises `ArgumentTypeError`."""
        if len(args) != len(self.types):
            raise ArgumentCountError(
                f"the signature {self.text!r} takes {len(self.types)} arguments, {len(args)} given"
            )
        return tuple(_convert(t, a, n) for t, a, n in zip(self.types, args, names, strict=True))


_EXAMPLE = 'write it like "void(float32[:], int64)"'


def _declared(node: ast.expr, text: str) -> DeclaredType:
    ndim = None
    if isinstance(node, ast.Subscript):
        ndim = len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1
        node = node.value
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    dtype = dtypes.parse(_ALIASES.get(name, name)) if name else None
    if dtype is None:
        raise KernelTypeError(f"the signature {text!r} names the unknown type {ast.unparse(node)}", hint=_EXAMPLE)
    return DeclaredType(dtype, ndim)


def _convert(declared: DeclaredType, value: Any, name: str) -> Any:
    if declared.ndim is not None:
        dtype, ndim = getattr(value, "dtype", None), getattr(value, "ndim", None)
        if isinstance(value, np.ndarray | DeviceNDArray) and (dtype != declared.dtype.numpy or ndim != declared.ndim):
            raise ArgumentTypeError(
                f"argument `{name}` is an array of {dtype} with {ndim} axes; the signature says {declared}",
                hint=f"convert it with .astype(np.{declared.dtype.name}), or leave the signature out",
            )
        return value
    if isinstance(value, bool | int | float | np.generic):
        try:
            return declared.dtype.numpy.type(value)
        except (OverflowError, ValueError) as error:
            raise ArgumentTypeError(f"argument `{name}` is {value!r}, which does not fit {declared}") from error
    raise ArgumentTypeError(f"argument `{name}` is a {type(value).__name__}; the signature says {declared}")
