"""`torch.vmap` of an operator: one call for each item of the batch, on views of its tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from portagpu.errors import OperatorError
from portagpu.operators.declaration import Declaration


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
        if len(declaration.outputs) == 1:
            return torch.stack(calls), 0
        return tuple(map(torch.stack, zip(*calls, strict=True))), (0,) * len(declaration.outputs)

    return batched


def _item(value: Any, dims: Any, n: int) -> Any:
    """What one call gets of an argument: its item of the batch, which is a view."""
    if isinstance(dims, list | tuple):
        return [_item(item, dim, n) for item, dim in zip(value, dims, strict=True)]
    return value if dims is None else value.select(dims, n)


__all__ = ["sequential"]
