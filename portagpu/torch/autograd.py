"""Autograd of an operator: what is kept for its backward functions, and which of them are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from portagpu.operators.declaration import Declaration
from portagpu.operators.gradients import PREFIX, Backward, check_complete


class Formula:
    """The backward functions of an operator, as torch's autograd calls them."""

    def __init__(self, forward: Declaration) -> None:
        self._forward = forward
        self._parts: list[tuple[Backward, Callable[..., Any]]] = []
        self._positional = tuple(p.name for p in forward.inputs if p.kind is not p.KEYWORD_ONLY)

    def add(self, part: Backward, operator: Callable[..., Any]) -> None:
        """A backward function, and the operator that calls it."""
        self._parts.append((part, operator))

    def setup(self, ctx: Any, inputs: Any, output: Any, keyword_only_inputs: Any = None) -> None:
        """Keep what backward functions take: tensors where autograd can watch them, numbers beside."""
        values = self._forward.bind(inputs, keyword_only_inputs or {})
        results = output if isinstance(output, tuple) else (output,)
        values.update(zip(self._forward.output_names, results, strict=True))
        tensors: list[torch.Tensor] = []
        places: dict[str, Any] = {}  # an index of a tensor, indices of a list's, or a plain value
        for name in dict.fromkeys(name for part, _ in self._parts for name in part.kept):
            value = values[name]
            if isinstance(value, torch.Tensor):
                places[name] = ("tensor", len(tensors))
                tensors.append(value)
            elif isinstance(value, list | tuple) and any(isinstance(t, torch.Tensor) for t in value):
                places[name] = ("tensors", (len(tensors), len(tensors) + len(value)))
                tensors += value
            else:
                places[name] = ("value", value)
        ctx.save_for_backward(*tensors)
        ctx.places = places

    def backward(self, ctx: Any, *gradients: Any) -> Any:
        """Gradients of all positional inputs: those that are needed, by the functions that give them.

        Raises `NoGradientError` where none gives one.
        """
        values = {name: _kept(kind, place, ctx.saved_tensors) for name, (kind, place) in ctx.places.items()}
        values.update((PREFIX + name, g) for name, g in zip(self._forward.output_names, gradients, strict=True))
        needed = [n for n, wanted in zip(self._positional, ctx.needs_input_grad, strict=False) if _any(wanted)]
        check_complete(self._forward, needed, (part for part, _ in self._parts))
        found: dict[str, Any] = {}
        for part, operator in self._parts:
            if part.is_needed(needed):
                results = operator(**{name: values[name] for name in part.declaration.input_names})
                results = results if isinstance(results, tuple) else (results,)
                found.update((part.gives[n], r) for n, r in zip(part.declaration.output_names, results, strict=True))
        return tuple(found[name] if name in needed else None for name in self._positional)


def _kept(kind: str, place: Any, saved: tuple[torch.Tensor, ...]) -> Any:
    if kind == "tensor":
        return saved[place]
    return list(saved[slice(*place)]) if kind == "tensors" else place


def _any(wanted: Any) -> bool:
    """Whether an input, or an item of a list, needs a gradient."""
    return any(wanted) if isinstance(wanted, list | tuple) else bool(wanted)


__all__ = ["Formula"]
