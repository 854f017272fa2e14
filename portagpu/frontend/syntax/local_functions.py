"""Nested functions: ``def`` and ``lambda`` inside a kernel.

Each becomes a device function. What it reads of the enclosing function is passed as hidden arguments, with the values
of the moment of the call, as Python does.
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import replace
from typing import Any

from portagpu.errors import UnsupportedSyntaxError
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Const, Missing, Value
from portagpu.frontend.source.callables import DeviceCallable
from portagpu.frontend.source.capture import FunctionSource, check_parameters
from portagpu.frontend.source.lambdas import as_def


class LocalFunction(DeviceCallable):
    """A function defined in a kernel or device function."""

    is_device_function = True

    def __init__(self, source: FunctionSource, owner: ast.AST, defaults: dict[str, Value]) -> None:
        self.__name__ = source.name
        self._source, self._owner, self.defaults = source, owner, defaults
        own = {n.id for n in ast.walk(source.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        own |= set(source.parameters)
        reads = [n.id for n in ast.walk(source.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
        self._free = tuple(dict.fromkeys(name for name in reads if name not in own))

    @property
    def identity(self) -> object:
        """What tells this function from others."""
        return self

    @property
    def signature(self) -> inspect.Signature:
        """Parameters with their defaults, which are values of the kernel."""
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        empty = inspect.Parameter.empty
        names = self._source.parameters
        found = [inspect.Parameter(n, kind, default=self.defaults.get(n, empty)) for n in names]
        if self._source.takes_rest:
            found[-1] = inspect.Parameter(names[-1], inspect.Parameter.VAR_POSITIONAL)
        return inspect.Signature(found)

    def captured(self, ctx: FunctionState) -> tuple[FunctionSource, list[Value]]:
        """The source with the names it captures as further parameters, and their values at this call."""
        found: dict[str, Value] = {}
        for name in self._free:
            value = ctx.env.get(name)
            if value is None or isinstance(value, Missing):
                if name in ctx.local_names and ctx.source.tree is self._owner:
                    ctx.fail(f"`{self.__name__}` uses `{name}`, which has no value here")
                continue
            if ctx.source.tree is self._owner:
                found[name] = value
            elif isinstance(value, Const) and value.value is self:
                ctx.fail(
                    f"`{name}` calls itself", kind=UnsupportedSyntaxError, hint="kernels have no recursion; use a loop"
                )
        constants = [n for n, v in found.items() if isinstance(v, Const)]
        return self._source.with_parameters(found, constants), list(found.values())


def define(ctx: FunctionState, node: ast.FunctionDef | ast.Lambda, defaults: list[Value]) -> Const:
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
        plain = source.parameters[: len(source.parameters) - source.takes_rest]
        names = plain[len(plain) - len(defaults) :]
        found = LocalFunction(source, ctx.source.tree, dict(zip(names, defaults, strict=True)))
        known[id(node)] = found
    return Const(found)
