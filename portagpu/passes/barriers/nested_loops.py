"""Detection of loops in loops that threads of a block run or leave at different times.

Where a compiler runs neighbouring threads in the lanes of a vector, it keeps for each lane whether it still takes part:
in loops within loops one compiler loses count, and lanes run an iteration too many or too few, or it dies.
"""

from __future__ import annotations

from collections.abc import Iterator

from portagpu.ir.analysis.uniform import Uniformity
from portagpu.ir.nodes import Break, CallFunction, Continue, Expr, For, If, Return, Stmt, While
from portagpu.ir.program import Function, Program
from portagpu.ir.walk import all_statements, blocks, own_calls

_Loop = For | While


def has_diverging_nest(program: Program) -> bool:
    """Whether a loop anywhere holds another one, and the threads of a block do not run both alike."""
    functions = {f.name: f for f in program.functions}
    search = _Search(functions)
    return search.in_function(program.kernel, arguments=True) or any(
        search.in_function(f, arguments=False) for f in program.functions
    )


class _Search:
    """The search through a program; what was found out of a function is remembered."""

    def __init__(self, functions: dict[str, Function]) -> None:
        self._functions = functions
        self._uniform: dict[tuple[str, bool], Uniformity] = {}
        self._looping: dict[str, bool] = {}

    def in_function(self, function: Function, *, arguments: bool) -> bool:
        """Whether there is such a nest; ``arguments``: whether the scalar ones are the same in all threads."""
        if not any(isinstance(s, For | While) for s in all_statements(function.body)):
            return False
        uniform = self._uniformity(function, arguments)
        return any(
            self._nests(loop) and self._diverges((loop,), uniform, apart=False) for loop in _outermost(function.body)
        )

    def _uniformity(self, function: Function, arguments: bool) -> Uniformity:
        key = function.name, arguments
        if key not in self._uniform:
            self._uniform[key] = Uniformity(function, arguments=arguments)
        return self._uniform[key]

    def _loops(self, name: str) -> bool:
        """Whether a device function has a loop, or calls one that has."""
        if name not in self._looping:
            self._looping[name] = False  # of a function that calls itself, should there be one
            body = self._functions[name].body if name in self._functions else ()
            self._looping[name] = any(
                isinstance(s, For | While) or any(self._loops(c.function) for c in own_calls(s))
                for s in all_statements(body)
            )
        return self._looping[name]

    def _nests(self, loop: _Loop) -> bool:
        inner = list(all_statements(loop.body))
        return any(isinstance(s, For | While) for s in inner) or any(
            self._loops(c.function) for s in (loop, *inner) for c in own_calls(s)
        )

    def _diverges(self, body: tuple[Stmt, ...], uniform: Uniformity, *, apart: bool) -> bool:
        """Whether threads that are ``apart`` already, or come apart here, run or leave a loop."""
        for statement in body:
            inner = apart
            if isinstance(statement, Break | Continue | Return) and apart:
                return True
            if isinstance(statement, If):
                inner = apart or not uniform.is_uniform(statement.condition)
            elif isinstance(statement, For | While) and (apart or not all(map(uniform.is_uniform, _bounds(statement)))):
                return True
            if any(self._call_diverges(call, uniform, apart) for call in own_calls(statement)):
                return True
            if any(self._diverges(block, uniform, apart=inner) for block in blocks(statement)):
                return True
        return False

    def _call_diverges(self, call: CallFunction, uniform: Uniformity, apart: bool) -> bool:
        if not self._loops(call.function):
            return False
        function = self._functions[call.function]
        alike = all(map(uniform.is_uniform, call.args))
        return apart or self._diverges(function.body, self._uniformity(function, alike), apart=False)


def _outermost(body: tuple[Stmt, ...]) -> Iterator[_Loop]:
    for statement in body:
        if isinstance(statement, For | While):
            yield statement
        else:
            for block in blocks(statement):
                yield from _outermost(block)


def _bounds(loop: _Loop) -> tuple[Expr, ...]:
    return (loop.condition,) if isinstance(loop, While) else (loop.start, loop.stop, loop.step)
