"""Tensors that take an operator's results, made before its function is called; with fake tensors, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from portagpu.errors import OperatorError, with_article
from portagpu.operators.declaration import Declaration, Output


def make_results(declaration: Declaration, values: Mapping[str, Any]) -> dict[str, Any]:
    """The results by name, as `outputs` says; None for one that is like an absent input.

    Raises `OperatorError` for what is no tensor of its own on the inputs' device.
    """
    found = {}
    for output in declaration.outputs:
        made = _made(declaration.name, output, values)
        if output.make is not None:  # what is like an input is right
            _check(declaration.name, output.name, made, _tensors(values.values()))
        found[output.name] = made
    return found


def returned(results: Mapping[str, Any]) -> Any:
    """What the operator returns: nothing, a tensor, or a tuple of them; for an absent one an empty tensor."""
    made = tuple(torch.empty(0) if t is None else t for t in results.values())
    return made[0] if len(made) == 1 else (made or None)


def _made(name: str, output: Output, values: Mapping[str, Any]) -> Any:
    if output.make is not None:
        return output.make(**{n: values[n] for n in output.takes})
    assert output.like is not None
    model = values[output.like]
    if isinstance(model, torch.Tensor):
        return torch.empty_like(model)
    if model is None and output.optional:
        return None
    raise OperatorError(
        f"{name}: the output {output.name!r} is like `{output.like}`, which is {with_article(type(model).__name__)}",
        hint="name an input that is a tensor in every call, or say how it is made: lambda x: torch.empty(...)",
    )


def _check(name: str, output: str, made: Any, tensors: list[torch.Tensor]) -> None:
    if not isinstance(made, torch.Tensor):
        raise OperatorError(
            f"{name}: the output {output!r} was made as {with_article(type(made).__name__)}, not as one tensor",
            hint="return a tensor, as torch.empty_like(x) and x.new_empty(shape) do; name each result in `outputs`",
        )
    if any(made is other for other in tensors):
        raise OperatorError(
            f"{name}: the output {output!r} is an input",
            hint="make a new tensor, or name the input in `mutates`, if it is to be changed",
        )
    device = tensors[0].device if tensors else made.device
    if made.device != device:
        raise OperatorError(
            f"{name}: the output {output!r} is on {made.device}, and the inputs are on {device}",
            hint="make it from an input, as torch.empty_like(x) and x.new_empty(shape) do",
        )


def _tensors(values: Any) -> list[torch.Tensor]:
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, list | tuple):
            found += _tensors(value)
    return found
