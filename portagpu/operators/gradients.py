"""Backward functions by the names of their parameters.

For an operator with an input ``x`` and a result ``out``, ``grad_out`` is the gradient that comes in, ``grad_x`` the one
that the function computes, and ``x`` and ``out`` are the values that the forward function had. What no backward
function names is not kept. A backward function's own backward function continues that: ``grad_grad_x`` comes in for its
result ``grad_x``, and ``grad_x`` is what it computes for ``x``.
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from portagpu.errors import NoGradientError, OperatorError, did_you_mean
from portagpu.operators.declaration import Declaration, declare, parameters_of

PREFIX = "grad_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backward:
    """A backward function: its own declaration, and what its parameters stand for."""

    declaration: Declaration
    kept: tuple[str, ...]
    """Inputs and results of the forward function that it takes."""
    gives: Mapping[str, str]
    """Its results' names, and the inputs whose gradients they are."""

    def is_needed(self, inputs: Iterable[str]) -> bool:
        """Whether it gives the gradient of one of these inputs."""
        return not set(inputs).isdisjoint(self.gives.values())


def declare_backward(forward: Declaration, function: Any, name: str, outputs: Mapping[str, Any] | None) -> Backward:
    """A backward function of an operator.

    ``outputs`` as for operators; a gradient that it leaves out is like the input, which the function then takes.
    Raises `OperatorError`.
    """
    if forward.mutates:
        raise OperatorError(
            f"{forward.name} changes its input `{forward.mutates[0]}`, and such operators have no gradients",
            hint="make the result a new array: name it in `outputs` in place of `mutates`",
        )
    kept, gives = [], {}
    for parameter in parameters_of(name, function):
        meaning = _meaning(forward, name, parameter)
        if meaning is _Meaning.RESULT:
            gives[parameter] = parameter.removeprefix(PREFIX)
        elif meaning is _Meaning.VALUE:
            kept.append(parameter)
    if not gives:
        raise OperatorError(
            f"{name} computes no gradient",
            hint=f"name one as a parameter: {', '.join(PREFIX + n for n in forward.input_names)}",
        )
    declaration = declare(name, function, _rules(name, gives, kept, outputs))
    made = tuple(replace(o, optional=o.like is not None) for o in declaration.outputs)
    inputs = tuple(_annotated(forward, p) for p in declaration.inputs)
    return Backward(declaration=replace(declaration, outputs=made, inputs=inputs), kept=tuple(kept), gives=gives)


def check_complete(forward: Declaration, needed: Iterable[str], parts: Iterable[Backward]) -> None:
    """Raise `NoGradientError` where no backward function gives the gradient of an input that needs one."""
    found = {name for part in parts for name in part.gives.values()}
    missing = [name for name in needed if name not in found]
    if missing:
        name = missing[0]
        raise NoGradientError(
            f"{forward.name} has no backward function that computes the gradient of `{name}`",
            hint=f"add the parameter `{PREFIX}{name}` to one (docs/torch.md), or pass what needs no gradient",
        )


class _Meaning(enum.Enum):
    """What a parameter of a backward function stands for."""

    VALUE = "a value of the forward function"
    RESULT = "the gradient of an input"
    INCOMING = "the gradient of a result"


def _meaning(forward: Declaration, name: str, parameter: str) -> _Meaning:
    bare = parameter.removeprefix(PREFIX)
    found = []
    if parameter in forward.input_names or parameter in forward.output_names:
        found.append(_Meaning.VALUE)
    if bare != parameter and bare in forward.input_names:
        found.append(_Meaning.RESULT)
    if bare != parameter and bare in forward.output_names:
        found.append(_Meaning.INCOMING)
    if found == [_Meaning.VALUE, _Meaning.RESULT] and parameter not in forward.input_names:
        return _Meaning.RESULT  # of a backward function, whose results have the names of gradients themselves
    if len(found) > 1:
        raise OperatorError(
            f"{name}: `{parameter}` may be {' or '.join(m.value for m in found)}",
            hint=f"rename a parameter of {forward.name}",
        )
    if not found:
        known = _known(forward)
        raise OperatorError(
            f"{name}: `{parameter}` is no name of {forward.name}",
            hint=f"{did_you_mean(parameter, known)}backward functions may take {', '.join(known)}",
        )
    return found[0]


def _known(forward: Declaration) -> list[str]:
    values = [*forward.input_names, *forward.output_names]
    return [*values, *(PREFIX + n for n in values)]


def _rules(
    name: str, gives: Mapping[str, str], kept: Iterable[str], outputs: Mapping[str, Any] | None
) -> dict[str, Any]:
    rules = dict(outputs or {})
    for gradient, of in gives.items():
        if gradient in rules:
            continue
        if of not in kept:
            raise OperatorError(
                f"{name}: nothing says the shape of `{gradient}`",
                hint=f"take `{of}` as a parameter, too, or say outputs={{{gradient!r}: ...}}, as operators do",
            )
        rules[gradient] = of
    for other in rules:
        if other not in gives:
            raise OperatorError(
                f"{name}: `outputs` names {other!r}, which is no gradient of an input",
                hint=f"{did_you_mean(other, gives)}its results are {', '.join(gives)}",
            )
    return rules


def _annotated(forward: Declaration, parameter: inspect.Parameter) -> inspect.Parameter:
    """A parameter with the forward function's annotation, where it has none of its own."""
    if parameter.annotation is not parameter.empty:
        return parameter
    given = {p.name: p.annotation for p in forward.inputs}
    return parameter.replace(annotation=given.get(parameter.name, parameter.empty))
