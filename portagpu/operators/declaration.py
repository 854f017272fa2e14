"""What a Python function declares as an operator: its inputs, its results, and which inputs it changes.

The function launches kernels. Its parameters are the operator's inputs and the arrays that take the results, which are
made before it is called: ``outputs`` says how, for each of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from portagpu.errors import OperatorError, did_you_mean, with_article

_NAMED = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
_FORM = "say for each result how it is made: outputs={'out': 'x'} (like x), or {'out': lambda x: ...}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A result: the parameter that takes it, and what it is made from."""

    name: str
    like: str | None = None
    """The input that has its shape and dtype."""
    make: Callable[..., Any] | None = None
    """Or what makes it."""
    takes: tuple[str, ...] = ()
    """The inputs that ``make`` is called with, by their names."""
    optional: bool = False
    """Whether it is absent where the input that it is like is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """An operator as its function declares it. ``name`` is what errors call it."""

    name: str
    function: Callable[..., Any]
    inputs: tuple[inspect.Parameter, ...]
    outputs: tuple[Output, ...]
    mutates: tuple[str, ...] = ()
    input_names: tuple[str, ...] = field(init=False)
    """The inputs' names, in order."""
    output_names: tuple[str, ...] = field(init=False)
    """The results' names, in the order in which they are returned."""
    defaults: Mapping[str, Any] = field(init=False)
    """Of the inputs that have one."""

    def __post_init__(self) -> None:
        """What each call asks for."""
        object.__setattr__(self, "input_names", tuple(p.name for p in self.inputs))
        object.__setattr__(self, "output_names", tuple(o.name for o in self.outputs))
        object.__setattr__(self, "defaults", {p.name: p.default for p in self.inputs if p.default is not p.empty})

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs' values by name, with defaults. The arguments are known to fit."""
        values = dict(self.defaults)
        values.update(zip(self.input_names, args, strict=False))
        values.update(kwargs)
        return values

    def launch(self, values: Mapping[str, Any]) -> None:
        """Call the function. Raises `OperatorError` where it returns something."""
        found = self.function(**values)
        if found is not None:
            raise OperatorError(
                f"{self.name}: the function returned {with_article(type(found).__name__)}",
                hint="results are what its kernels write into the parameters that `outputs` names; return nothing",
            )


def declare(name: str, function: Any, outputs: Any, mutates: Iterable[str] = ()) -> Declaration:
    """The operator that a function declares. Raises `OperatorError`."""
    parameters = parameters_of(name, function)
    made = _outputs(name, outputs, parameters)
    inputs = tuple(p for p in parameters.values() if p.name not in made)
    changed = _names(name, mutates)
    for other in changed:
        if other not in parameters or other in made:
            raise OperatorError(
                f"{name}: `mutates` names {other!r}, which is no input",
                hint=f"{did_you_mean(other, parameters)}its inputs are {_listed(p.name for p in inputs)}",
            )
    if not made and not changed:
        raise OperatorError(f"{name} has neither results nor inputs that it changes", hint=_FORM)
    known = frozenset(p.name for p in inputs)
    results = tuple(_checked(name, output, known) for output in made.values())
    return Declaration(name=name, function=function, inputs=inputs, outputs=results, mutates=changed)


def _names(name: str, mutates: Any) -> tuple[str, ...]:
    if isinstance(mutates, str):
        return (mutates,)
    try:
        return tuple(mutates)
    except TypeError:
        raise OperatorError(
            f"{name}: `mutates` is {with_article(type(mutates).__name__)}, not names",
            hint="name the inputs that the kernels write: mutates='x', or mutates=('x', 'y')",
        ) from None


def parameters_of(name: str, function: Any) -> dict[str, inspect.Parameter]:
    """A function's parameters, with annotations that are objects. Raises `OperatorError`."""
    try:
        found = inspect.signature(function, eval_str=True).parameters
    except NameError as error:
        raise OperatorError(
            f"{name}: an annotation cannot be evaluated: {error}",
            hint="names in annotations must be those of the function's module, and not only of type checkers",
        ) from None
    except (TypeError, ValueError, SyntaxError, AttributeError) as error:
        raise OperatorError(
            f"{name} is declared by a Python function, not by {with_article(type(function).__name__)}: {error}",
            hint="decorate a function that launches kernels",
        ) from None
    for parameter in found.values():
        if parameter.kind not in _NAMED:
            raise OperatorError(
                f"{name}: the parameter `{parameter}` has no name of its own for callers",
                hint="operators have neither *args, **kwargs nor positional-only parameters: name each one",
            )
    return dict(found)


def _outputs(name: str, outputs: Any, parameters: Mapping[str, inspect.Parameter]) -> dict[str, Output]:
    if not isinstance(outputs, Mapping):
        raise OperatorError(f"{name}: `outputs` is {with_article(type(outputs).__name__)}, not a dict", hint=_FORM)
    made = {}
    for key, rule in outputs.items():
        if key not in parameters:
            raise OperatorError(
                f"{name}: `outputs` names {key!r}, which is no parameter of the function",
                hint=f"{did_you_mean(key, parameters)}its parameters are {_listed(parameters)}",
            )
        if parameters[key].default is not inspect.Parameter.empty:
            raise OperatorError(f"{name}: the result `{key}` has a default value", hint="results are always made")
        if isinstance(rule, str):
            made[key] = Output(name=key, like=rule)
        elif callable(rule):
            made[key] = Output(name=key, make=rule, takes=tuple(parameters_of(f"{name}, output {key!r}", rule)))
        else:
            raise OperatorError(f"{name}: the output {key!r} is {with_article(type(rule).__name__)}", hint=_FORM)
    return made


def _checked(name: str, output: Output, inputs: frozenset[str]) -> Output:
    needed = output.takes if output.like is None else (output.like,)
    for other in needed:
        if other not in inputs:
            raise OperatorError(
                f"{name}: the output {output.name!r} is made from {other!r}, which is no input",
                hint=f"{did_you_mean(other, inputs)}its inputs are {_listed(sorted(inputs))}",
            )
    return output


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{n}`" for n in names) or "none"
