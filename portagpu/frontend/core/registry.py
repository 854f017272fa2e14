"""Tables of what kernels may call, with the handlers that lower the calls."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, Value
from portagpu.frontend.source.callables import LibraryFunction


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call with lowered arguments."""

    node: ast.Call
    function: Value
    args: tuple[Value, ...]
    keywords: dict[str, Value]

    def bind(self, ctx: FunctionState, name: str, *names: str, **optional: Value) -> list[Value]:
        """Arguments by parameter name; ``optional`` has the defaults of those that may be missing."""
        found: dict[str, Value] = {}
        order = (*names, *optional)
        if len(self.args) > len(order):
            ctx.fail(
                f"{name}({', '.join(order)}) takes at most {len(order)} arguments, {len(self.args)} given",
                hint=f"call it as {name}({', '.join(order)})",
            )
        found.update(zip(order, self.args, strict=False))
        for keyword, value in self.keywords.items():
            if keyword not in order or keyword in found:
                close = difflib.get_close_matches(keyword, [n for n in order if n not in found], n=1)
                meant = f"did you mean `{close[0]}`? " if close else ""
                ctx.fail(
                    f"{name} got an unexpected or repeated argument `{keyword}`",
                    hint=f"{meant}call it as {name}({', '.join(order)})",
                )
            found[keyword] = value
        missing = [n for n in names if n not in found]
        if missing:
            ctx.fail(
                f"{name} misses the argument{'s' if len(missing) > 1 else ''} {', '.join(missing)}",
                hint=f"call it as {name}({', '.join(order)})",
            )
        return [found[n] if n in found else optional[n] for n in order]

    @property
    def target(self) -> Any:
        """The Python callable that is called."""
        assert isinstance(self.function, Const)
        return self.function.value


Handler = Callable[[FunctionState, Call], Value]
TABLE: dict[Any, Handler] = {}  # Python callables by identity
INTRINSICS: dict[str, Handler] = {}  # names of the dialect
METHODS: dict[str, Callable[[FunctionState, ArrayValue, Call], Value]] = {}  # of arrays, by name
NUMBER_METHODS: dict[str, Callable[[FunctionState, Value, Call], Value]] = {}  # of numbers, by name
FOLDABLE: set[Any] = set()  # callables that Python may evaluate when every argument is a constant
ON_ARRAYS: dict[type, Handler] = {}  # by the class of a callable that has an array among its arguments


def add_new(table: dict[Any, Any], key: Any, handler: Any) -> None:
    """Add a handler to a table. Raises `ValueError` where the key has one: the order of imports would decide."""
    known = table.setdefault(key, handler)
    if known is not handler:
        raise ValueError(f"{key} is lowered by {known.__module__} already, {handler.__module__} cannot lower it, too")


def handles(*keys: Any, foldable: bool = True) -> Callable[[Handler], Handler]:
    """Register a handler for Python callables."""

    def register(handler: Handler) -> Handler:
        for key in keys:
            add_new(TABLE, key, handler)
            if foldable:
                FOLDABLE.add(key)
        return handler

    return register


def intrinsic(*names: str) -> Callable[[Handler], Handler]:
    """Register a handler for intrinsics."""

    def register(handler: Handler) -> Handler:
        for name in names:
            add_new(INTRINSICS, name, handler)
        return handler

    return register


def handles_on_arrays(kind: type) -> Callable[[Handler], Handler]:
    """Register a handler for calls of a class's objects that have an array among their arguments."""

    def register(handler: Handler) -> Handler:
        add_new(ON_ARRAYS, kind, handler)
        return handler

    return register


def call_library(ctx: FunctionState, function: LibraryFunction, site: Call, *args: Value) -> Value:
    """Call a function of the library with these arguments."""
    return ctx.program.lower_call(ctx, function, replace(site, args=args, keywords={}))
