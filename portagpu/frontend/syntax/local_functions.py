"""Nested functions: ``def`` and ``lambda`` inside a kernel.

Each becomes a device function. What it reads of the enclosing function is passed as hidden arguments, with the values
of the moment of the call, as Python does. A nested function that is passed on or returned takes these values along.
"""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from portagpu.errors import UnsupportedSyntaxError
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Const, FunctionValue, Missing, TupleValue, Value
from portagpu.frontend.source.callables import DeviceCallable
from portagpu.frontend.source.capture import FunctionSource, check_parameters
from portagpu.frontend.source.lambdas import as_def
from portagpu.frontend.source.scopes import free_names


class LocalFunction(DeviceCallable):
    """A function defined in a kernel or device function.

    ``captures``: variables of the enclosing function that it reads. ``owner``: that function's statements, which tell
    it from others: its tree is made anew where it captures variables itself.
    """

    is_device_function = True

    def __init__(self, source: FunctionSource, captures: tuple[str, ...], owner: list[ast.stmt]) -> None:
        self.__name__ = source.name
        self.source, self.captures, self.owner = source, captures, owner
        self._value = FunctionValue(self, ())

    def of(self, value: FunctionValue) -> LocalFunction:
        """The function with a value's defaults and captured variables."""
        made = copy.copy(self)
        made._value = value
        return made

    @property
    def identity(self) -> object:
        """The function's tree."""
        return self.source.tree

    @property
    def signature(self) -> inspect.Signature:
        """Parameters with their defaults, which are values of the kernel."""
        names, defaults = self.source.parameters, self._value.defaults
        plain = names[: len(names) - self.source.takes_rest]
        with_defaults = dict(zip(plain[len(plain) - len(defaults) :], defaults, strict=True))
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        empty = inspect.Parameter.empty
        found = [inspect.Parameter(n, kind, default=with_defaults.get(n, empty)) for n in names]
        if self.source.takes_rest:
            found[-1] = inspect.Parameter(names[-1], inspect.Parameter.VAR_POSITIONAL)
        return inspect.Signature(found)

    def captured(self, ctx: FunctionState) -> tuple[FunctionSource, list[Value]]:
        """The source with the captured variables as further parameters, and their values."""
        value = with_captured(ctx, self._value)
        assert isinstance(value, FunctionValue) and value.captured is not None
        constants = [n for n, v in zip(self.captures, value.captured, strict=True) if isinstance(v, Const)]
        return self.source.with_parameters(self.captures, constants), list(value.captured)


def define(ctx: FunctionState, node: ast.FunctionDef | ast.Lambda, defaults: list[Value]) -> Const | FunctionValue:
    """The function that ``node`` defines; one object however often the place is lowered."""
    known: dict[Any, LocalFunction] = ctx.program.local_functions
    found = known.get(id(node))
    if found is None:
        if isinstance(node, ast.Lambda):
            tree = as_def(node)
        else:
            tree = node
            if node.decorator_list:
                ctx.fail(
                    "a function defined in a kernel cannot be decorated",
                    kind=UnsupportedSyntaxError,
                    node=node.decorator_list[0],
                    hint="leave the decorator out: it becomes a device function by itself",
                )
        source = replace(ctx.source, tree=tree, constexpr=frozenset())
        check_parameters(source)
        captures = tuple(name for name in free_names(node) if name in ctx.local_names)
        found = known[id(node)] = LocalFunction(source, captures, ctx.source.tree.body)
    return FunctionValue(found, tuple(defaults)) if found.captures or defaults else Const(found)


def with_captured(ctx: FunctionState, value: Value, around: tuple[LocalFunction, ...] = ()) -> Value:
    """A value that leaves a function: functions in it that it defines take along the variables that they capture.

    ``around``: functions that capture this value.
    """
    if isinstance(value, TupleValue):
        return replace(value, items=tuple(with_captured(ctx, item, around) for item in value.items))
    if not isinstance(value, FunctionValue) or value.captured is not None:
        return value
    function: LocalFunction = value.function
    around = (*around, function)
    captured = tuple(_captured(ctx, function, name, around) for name in function.captures)
    return FunctionValue(function, tuple(with_captured(ctx, v, around) for v in value.defaults), captured)


def _captured(ctx: FunctionState, function: LocalFunction, name: str, around: tuple[LocalFunction, ...]) -> Value:
    value = ctx.env.get(name)
    if value is None:
        return Missing(f"`{function.__name__}` uses `{name}`, which has no value here", None)
    if isinstance(value, FunctionValue) and value.captured is None and value.function in around:
        return Missing(f"`{name}` calls itself", "kernels have no recursion; use a loop", UnsupportedSyntaxError)
    return with_captured(ctx, value, around)


def check_result(ctx: FunctionState, name: str, result: Value) -> None:
    """Refuse a function of the caller's that a call gives back: it would not see later values of what it captures."""
    for function in _functions(result):
        if function.captures and function.owner is ctx.source.tree.body:
            ctx.fail(
                f"`{name}` returns `{function.__name__}`, which `{ctx.source.name}` defines",
                kind=UnsupportedSyntaxError,
                hint=f"call `{function.__name__}` by its own name, or pass it what it captures",
            )


def _functions(value: Value) -> Iterator[LocalFunction]:
    if isinstance(value, FunctionValue):
        yield value.function
    if isinstance(value, FunctionValue | TupleValue):
        for item in value.items:
            yield from _functions(item)
