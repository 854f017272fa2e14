"""Checks of factorisations of device arrays: errors for matrices without factors, for which a call waits once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from portagpu.blas.arguments import operand_of
from portagpu.errors import FactorisationError
from portagpu.linalg.matrices import INT32
from portagpu.linalg.results import first_failure
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.recorder import active
from portagpu.runtime.execution.stream import as_stream
from portagpu.settings import linalg_checks_wanted

_P = ParamSpec("_P")
_R = TypeVar("_R")
FailureError = Callable[[int, tuple[int, ...]], FactorisationError]
"""From info and the indices of a matrix of a batch to the error."""

_chosen: ContextVar[bool | None] = ContextVar("linalg_checks", default=None)


@contextmanager
def checks(enabled: bool) -> Iterator[None]:
    """Check factorisations of device arrays in this block, or do not; ``PORTAGPU_LINALG_CHECKS`` is the default.

    With checks, `solve`, `inv`, `cholesky` and their like wait for the device once and raise `LinAlgError`. Without
    them, they only enqueue work. Results of matrices without factors are then not finite, or anything. The choice holds
    for the current thread or task. Calls with ``info=`` are never checked.
    """
    token = _chosen.set(bool(enabled))
    try:
        yield
    finally:
        _chosen.reset(token)


def checked(
    error: FailureError, *, shares_matrix: bool = False, definite: FailureError | None = None
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """A decorator: a call on device arrays without ``info=`` gets one, reads it after the call, and raises ``error``.

    The recorded launches below it are those of calls with ``info=``. Parts of recorded calls and of captured graphs are
    not checked: these cannot wait. shares_matrix: one matrix serves a batch of right sides, so that there is one info.
    definite: the error of positive definite matrices, as ``assume_a`` says.
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            if kwargs.get("info") is not None:
                return function(*args, **kwargs)
            operands = [operand_of(kwargs[x], x) if x in kwargs else None for x in "ab"]
            for i, x in enumerate(args[:2]):
                operands[i] = operand_of(x, "ab"[i])
            info = _info_for(operands, shares_matrix=shares_matrix)
            if info is None:
                return function(*args, **kwargs)
            stream: Any = kwargs.get("stream")
            result = function(*args, **{**kwargs, "info": info})  # type: ignore[arg-type]
            is_definite = kwargs.get("assume_a", "general") not in ("general", "gen")
            values = _read(info, stream)
            if values.any():
                raise (definite if definite is not None and is_definite else error)(*first_failure(values, info.shape))
            return result

        return call

    return decorate


def _read(info: DeviceNDArray, stream: Any) -> np.ndarray[Any, Any]:
    if stream is None:
        return info.copy_to_host()
    queue = as_stream(stream, info.context)
    values = info.copy_to_host(stream=queue)
    queue.synchronize()
    return values


def _info_for(operands: list[Any], *, shares_matrix: bool) -> DeviceNDArray | None:
    """An array for the info of a call; None where nothing is checked, or where the call refuses its operands."""
    a, b = operands
    if not isinstance(a, DeviceNDArray) or a.ndim < 2 or not are_wanted():
        return None
    batch = a.shape[:-2]
    if isinstance(b, DeviceNDArray) and not (shares_matrix and not batch):
        try:
            batch = np.broadcast_shapes(batch, b.shape[:-2])
        except ValueError:
            return None
    return device_array(batch, INT32, context=a.context) if 0 not in batch else None


def are_wanted() -> bool:
    """Whether calls check what they computed: never while they are recorded, since they cannot wait."""
    chosen = _chosen.get()
    return active.recorder is None and (linalg_checks_wanted() if chosen is None else chosen)
