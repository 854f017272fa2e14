"""Pickling of kernels: by reference where another process can import them, else by value.

What a script or notebook defines is by value, as other processes have another ``__main__``, or none; so is what is made
inside functions. By value, a function takes its code object, its text and the place of it, and what its code names
along: closure variables, globals, default values. So the other process must run the same version of Python.

A process makes a kernel that comes by value once, however often it comes (each task of a pool brings it): it is known
by a token, of which there is a new one where a value that the code names was replaced.
"""

from __future__ import annotations

import builtins
import dis
import importlib
import itertools
import marshal
import os
import sys
import weakref
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from portagpu.dialect.names import constexpr
from portagpu.dispatch.code.definition import KernelDefinition
from portagpu.dispatch.code.options import JitOptions
from portagpu.errors import KernelPickleError
from portagpu.frontend.source.exec_texts import keep_own_text
from portagpu.frontend.source.lambdas import NAME
from portagpu.types import Signature

_KEPT = 64  # objects that came by value and that nobody holds between two tasks
_run = [os.urandom(8).hex()]
_numbers = itertools.count()
_known: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
_recent: deque[Any] = deque(maxlen=_KEPT)
os.register_at_fork(after_in_child=lambda: _run.__setitem__(0, os.urandom(8).hex()))


class _Module:
    """A module that pickled code names."""

    def __init__(self, name: str) -> None:
        self.name = name


class _Empty:
    """A closure variable without a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Portable:
    """A kernel as data, without the values that its code names: these may name the kernel."""

    token: str
    python: str  # whose code objects these are
    code: bytes
    module: str
    qualname: str
    text: str
    first_line: int
    defaults: tuple[Any, ...] | None
    annotations: dict[str, Any]
    options: JitOptions
    device: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What a kernel's code names, and what is set once that is known."""

    global_values: dict[str, Any]
    closure: tuple[Any, ...]
    declared: tuple[Signature, ...]
    specialized: bool


def reduced(kernel: KernelDefinition) -> Any:
    """What ``__reduce__`` returns: the name of a kernel that can be imported, else what `rebuilt` needs."""
    if _importable(kernel):
        return kernel.__qualname__
    function, source = kernel.py_func, kernel.source
    code = function.__code__
    named = set(_names(code))
    scope = {n: v for n, v in function.__globals__.items() if n in named}
    closure = tuple(_content(cell) for cell in function.__closure__ or ())
    data = Portable(
        token=_token(kernel, (*scope.items(), *closure)),
        python=_python(),
        code=marshal.dumps(code),
        module=function.__module__,
        qualname=function.__qualname__,
        text="".join(f"{line}\n" for line in source.lines),
        first_line=source.first_line,
        defaults=function.__defaults__,
        annotations=dict.fromkeys(source.constexpr, "constexpr"),
        options=kernel.options,
        device=kernel.is_device_function,
    )
    values = Named(
        global_values={n: _packed(v) for n, v in scope.items()},
        closure=tuple(_packed(v) for v in closure),
        declared=kernel.declared,
        specialized=kernel.specialized,
    )
    return rebuilt, (type(kernel), data), values


def rebuilt(kind: type[KernelDefinition], data: Portable) -> KernelDefinition:
    """The kernel of `reduced`, in another process; `fill` gives it what its code names.

    Raises `KernelPickleError` in another version of Python.
    """
    if data.python != _python():
        raise KernelPickleError(
            f"`{data.qualname}` was pickled by {data.python}, this is {_python()}",
            hint="run the same version of Python, or define the kernel in a module that both can import",
        )
    found = _known.get(data.token)
    if found is not None:
        return found  # type: ignore[no-any-return]
    code: CodeType = marshal.loads(data.code)
    scope: dict[str, Any] = {"__name__": data.module, "__builtins__": builtins}
    cells = tuple(CellType() for _ in code.co_freevars)
    function = FunctionType(code, scope, code.co_name, data.defaults, cells)
    function.__module__, function.__qualname__ = data.module, data.qualname
    function.__annotations__ = dict.fromkeys(data.annotations, constexpr)
    text = data.text if code.co_name == NAME else None
    if text is None:
        keep_own_text(code, data.text, data.first_line)
    made = kind(function, options=data.options, device=data.device, text=text)
    _known[data.token] = made
    _recent.append(made)
    return made


def fill(kernel: KernelDefinition, values: Named) -> None:
    """Give a kernel that `rebuilt` made what its code names. One that this process knew has it already."""
    function = kernel.py_func
    scope = function.__globals__
    if kernel.is_filled:
        return
    kernel.is_filled = True
    scope.update({n: _unpacked(v) for n, v in values.global_values.items()})
    for cell, value in zip(function.__closure__ or (), values.closure, strict=True):
        if not isinstance(value, _Empty):
            cell.cell_contents = _unpacked(value)
    kernel.declared, kernel.specialized = values.declared, values.specialized


class Pickled:
    """What a decorator makes of a function: pickled by its name where others can import it, else made anew."""

    __qualname__: str

    def _parts(self) -> tuple[Any, ...]:
        """Arguments that make an equal object."""
        raise NotImplementedError

    def __reduce__(self) -> Any:
        if _importable(self):
            return self.__qualname__
        parts = self._parts()
        return remade, (type(self), _token(self, (repr(parts[1:]),)), parts)


def remade(kind: type[Pickled], token: str, parts: tuple[Any, ...]) -> Any:
    """The object of a decorator, in another process."""
    found = _known.get(token)
    if found is None:
        found = _known[token] = kind(*parts)
        _recent.append(found)
    return found


def _token(made: Any, values: tuple[Any, ...]) -> str:
    """What names an object together with the values that it was made of, in all processes."""
    flat = [part for value in values for part in (value if isinstance(value, tuple) else (value,))]
    known: tuple[str, list[Any]] | None = getattr(made, "_pickled_as", None)
    if known is not None and len(known[1]) == len(flat) and all(map(_same, known[1], flat)):
        return known[0]
    token = f"{_run[0]}-{next(_numbers)}"
    made._pickled_as = token, flat
    _known[token] = made
    return token


def _same(a: Any, b: Any) -> bool:
    """Whether two values are one; equal texts and numbers are."""
    return a is b or (type(a) is type(b) and isinstance(a, str | int) and a == b)


def _python() -> str:
    return f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}"


def _packed(value: Any) -> Any:
    return _Module(value.__name__) if isinstance(value, ModuleType) else value


def _unpacked(value: Any) -> Any:
    return importlib.import_module(value.name) if isinstance(value, _Module) else value


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _Empty()


def _importable(made: Any) -> bool:
    """Whether other processes find an object by its name: not in ``__main__``, which is another program there."""
    if made.__module__ in ("__main__", "__mp_main__"):
        return False
    found: Any = sys.modules.get(made.__module__)
    for name in made.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is made


def _names(code: CodeType) -> Iterator[str]:
    """Names of globals that a code object, or one inside it, reads."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
