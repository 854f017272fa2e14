"""Operators under the transforms of `torch.func`: grad, vjp, jacrev, and vmap of these.

Autograd of `torch.library.custom_op` does not know them: it says so by an error. A `torch.autograd.Function` that has
`setup_context` and `vmap` does, and calls the operator one level below.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from portagpu.operators.declaration import Declaration
from portagpu.torch.autograd import Formula
from portagpu.torch.batching import sequential

_REFUSAL = "functorch transforms"


def is_refusal(error: RuntimeError) -> bool:
    """Whether an error says that an operator does not know the transforms of `torch.func`."""
    return _REFUSAL in str(error)


def transformable(declaration: Declaration, formula: Formula, operator: Callable[..., Any]) -> Callable[..., Any]:
    """The operator as a function of the same arguments which those transforms take."""
    ahead = sum(p.kind is not p.KEYWORD_ONLY for p in declaration.inputs)
    named = declaration.input_names[ahead:]

    def with_names(*args: Any) -> Any:
        return operator(*args[:ahead], **dict(zip(named, args[ahead:], strict=True)))

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        formula.setup(ctx, inputs[:ahead], output, dict(zip(named, inputs[ahead:], strict=True)))

    def backward(ctx: Any, *gradients: Any) -> Any:
        return (*formula.backward(ctx, *gradients), *(None for _ in named))

    members = {
        "forward": staticmethod(with_names),
        "setup_context": staticmethod(setup_context),
        "backward": staticmethod(backward),
        "vmap": staticmethod(sequential(declaration, lambda *args: differentiable.apply(*args))),
    }
    differentiable = _function(declaration.name.replace("::", "_"), members)

    def call(*args: Any, **kwargs: Any) -> Any:
        values = declaration.bind(args, kwargs)
        return differentiable.apply(*(values[name] for name in declaration.input_names))

    return call


def _function(name: str, members: dict[str, Any]) -> Any:
    """A `torch.autograd.Function` of these members."""
    return type(name, (torch.autograd.Function,), members)


__all__ = ["is_refusal", "transformable"]
