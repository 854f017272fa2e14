"""Pickling of kernels: by reference where another process can import them, else by value.

By value, a function takes its code object, its text, and what its code names along: closure variables, globals, default
values. So the other process must run the same version of Python.
"""

from __future__ import annotations

import builtins
import importlib
import marshal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from portagpu.cuda.options import JitOptions
from portagpu.frontend.vocabulary import constexpr
from portagpu.types import Signature

if TYPE_CHECKING:
    from portagpu.cuda.dispatcher import Dispatcher


class _Module:
    """A module that pickled code names."""

    def __init__(self, name: str) -> None:
        self.name = name


class _Itself:
    """The kernel that is pickled, where its own code names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Portable:
    """A kernel as data."""

    code: bytes
    module: str
    qualname: str
    text: str
    global_values: dict[str, Any]
    closure: tuple[Any, ...]
    defaults: tuple[Any, ...] | None
    annotations: dict[str, Any]
    options: JitOptions
    device: bool
    declared: tuple[Signature, ...]
    specialized: bool


def portable(kernel: Dispatcher) -> Portable | None:
    """What `rebuilt` needs; None for a kernel that can be imported by its name."""
    if _importable(kernel):
        return None
    function = kernel.py_func
    code = function.__code__
    named = set(_names(code))

    def packed(value: Any) -> Any:
        if value is kernel:
            return _Itself()
        return _Module(value.__name__) if isinstance(value, ModuleType) else value

    return Portable(
        code=marshal.dumps(code),
        module=function.__module__,
        qualname=function.__qualname__,
        text="".join(f"{line}\n" for line in kernel.source.lines),
        global_values={n: packed(v) for n, v in function.__globals__.items() if n in named},
        closure=tuple(packed(kernel.source.closure.get(n)) for n in code.co_freevars),
        defaults=function.__defaults__,
        annotations=dict.fromkeys(kernel.source.constexpr, "constexpr"),
        options=kernel.options,
        device=kernel.is_device_function,
        declared=kernel.declared,
        specialized=kernel.specialized,
    )


def rebuilt(kind: type[Dispatcher], data: Portable) -> Dispatcher:
    """The kernel of `portable`, in another process."""

    def unpacked(value: Any) -> Any:
        return importlib.import_module(value.name) if isinstance(value, _Module) else value

    scope = {n: unpacked(v) for n, v in data.global_values.items()} | {
        "__name__": data.module,
        "__builtins__": builtins,
    }
    cells = tuple(CellType(unpacked(v)) for v in data.closure)
    code = marshal.loads(data.code)
    function = FunctionType(code, scope, code.co_name, data.defaults, cells)
    function.__qualname__ = data.qualname
    function.__annotations__ = dict.fromkeys(data.annotations, constexpr)
    made = kind(function, options=data.options, device=data.device, signatures=data.declared, text=data.text)
    made.specialized = data.specialized
    for name, value in data.global_values.items():
        if isinstance(value, _Itself):
            scope[name] = made
    for cell, value in zip(cells, data.closure, strict=True):
        if isinstance(value, _Itself):
            cell.cell_contents = made
    return made


class Pickled:
    """What a decorator makes of a function: pickled by its name where others can import it, else made anew."""

    __qualname__: str

    def _parts(self) -> tuple[Any, ...]:
        """Arguments that make an equal object."""
        raise NotImplementedError

    def __reduce__(self) -> Any:
        return self.__qualname__ if _importable(self) else (type(self), self._parts())


def _importable(made: Any) -> bool:
    found: Any = sys.modules.get(made.__module__)
    for name in made.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is made


def _names(code: CodeType) -> Iterator[str]:
    """Names of globals that a code object, or one inside it, uses."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
