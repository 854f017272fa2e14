"""`torch.vmap` of an operator: one call for each item of the batch, on views of its tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from portagpu.errors import OperatorError
from portagpu.operators.declaration import Declaration
from portagpu.torch.results import make_results, returned


def sequential(declaration: Declaration, operator: Callable[..., Any]) -> Callable[..., Any]:
    """What `torch.library.register_vmap` takes. It raises `OperatorError` where one array changes for all items."""

    def batched(info: Any, in_dims: Any, *args: Any, **kwargs: Any) -> Any:
        names = declaration.input_names
        for name, dims in zip(names, in_dims, strict=False):
            if name in declaration.mutates and dims is None:
                raise OperatorError(
                    f"{declaration.name} changes `{name}`, which is one for all items of the batch of torch.vmap",
                    hint=f"give `{name}` an axis of the batch, too",
                )
        calls = [
            operator(*(_item(value, dims, n) for value, dims in zip(args, in_dims, strict=False)), **kwargs)
            for n in range(info.batch_size)
        ]
        if not declaration.outputs:
            return None, None
        if not calls:
            made = make_results(declaration, _alone(declaration, in_dims, args, kwargs))
            empty = {name: t if t is None else t.new_empty((0, *t.shape)) for name, t in made.items()}
            return returned(empty), 0 if len(made) == 1 else (0,) * len(made)
        if len(declaration.outputs) == 1:
            return torch.stack(calls), 0
        return tuple(map(torch.stack, zip(*calls, strict=True))), (0,) * len(declaration.outputs)

    return batched


def _alone(declaration: Declaration, in_dims: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """Inputs like those of an item, of a batch that has none."""
    return declaration.bind([_like_item(value, dims) for value, dims in zip(args, in_dims, strict=False)], kwargs)


def _like_item(value: Any, dims: Any) -> Any:
    if isinstance(dims, list | tuple):
        return [_like_item(item, dim) for item, dim in zip(value, dims, strict=True)]
    if dims is None:
        return value
    shape = list(value.shape)
    del shape[dims]
    return value.new_empty(shape)


def _item(value: Any, dims: Any, n: int) -> Any:
    """What one call gets of an argument: its item of the batch, which is a view."""
    if isinstance(dims, list | tuple):
        return [_item(item, dim, n) for item, dim in zip(value, dims, strict=True)]
    return value if dims is None else value.select(dims, n)


__all__ = ["sequential"]
