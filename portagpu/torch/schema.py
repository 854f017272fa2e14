"""The schema of an operator: torch's own description of its arguments and results."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from portagpu.errors import OperatorError
from portagpu.operators.declaration import Declaration

_NAME = re.compile(r"[A-Za-z_]\w*::[A-Za-z_]\w*", re.ASCII)
_TYPES = "torch.Tensor, int, float, bool, str, torch.dtype, torch.device, torch.types.Number"


def check_name(name: Any) -> None:
    """Raise `OperatorError` for what is no name of an operator."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise OperatorError(
            f"{name!r} is no name of an operator of torch", hint='give a namespace and a name: "mylib::saxpy"'
        )


def schema_of(declaration: Declaration) -> str:
    """The schema, without the operator's name. Raises `OperatorError` for types that torch's operators do not take."""
    several: Any = tuple
    count = len(declaration.outputs)
    returned = several[(torch.Tensor,) * count] if count > 1 else torch.Tensor
    inputs = [_typed(p) for p in declaration.inputs]
    try:
        return _infer(inputs, declaration.mutates, returned if count else None)
    except ValueError as error:
        for parameter in inputs:
            _check(declaration.name, parameter, parameter.name in declaration.mutates)
        raise OperatorError(f"{declaration.name}: torch makes no schema of it: {error}") from None


def _typed(parameter: inspect.Parameter) -> inspect.Parameter:
    """A parameter with a type: a tensor, where it has no annotation."""
    return parameter.replace(annotation=torch.Tensor) if parameter.annotation is parameter.empty else parameter


def _check(name: str, parameter: inspect.Parameter, mutated: bool) -> None:
    """Raise `OperatorError` if it is this parameter that torch refuses."""
    kind = inspect.formatannotation(parameter.annotation)
    plain = parameter.replace(default=parameter.empty)
    if not _is_known([plain], ()):
        raise OperatorError(
            f"{name}: the parameter `{parameter.name}` is of type {kind}, which operators of torch do not have",
            hint=f"they have {_TYPES}, lists of these (list[int]), and None beside them (torch.Tensor | None)",
        )
    if mutated and not _is_known([plain], (parameter.name,)):
        raise OperatorError(f"{name}: `{parameter.name}` of type {kind} is in `mutates`", hint="only tensors change")
    if not _is_known([parameter], ()):
        raise OperatorError(
            f"{name}: the parameter `{parameter.name}` has the default {parameter.default!r}, which no schema has",
            hint="defaults are None, numbers, bools, strings, devices and dtypes",
        )


def _is_known(parameters: Sequence[inspect.Parameter], mutates: Iterable[str]) -> bool:
    try:
        _infer(parameters, mutates, None)
    except ValueError:
        return False
    return True


def _infer(parameters: Sequence[inspect.Parameter], mutates: Iterable[str], returned: Any) -> str:
    def prototype() -> None: ...

    prototype.__signature__ = inspect.Signature(parameters, return_annotation=returned)  # type: ignore[attr-defined]
    found: str = torch.library.infer_schema(prototype, mutates_args=tuple(mutates))
    return found
