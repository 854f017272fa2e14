"""Results of `portagpu.linalg`: what callers pass for them, what becomes of it, and reports of what failed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

import numpy as np

from portagpu.blas.arguments import check_kind_of_out
from portagpu.blas.host_arrays import on_device
from portagpu.errors import ArgumentTypeError, DTypeError, FactorisationError, ShapeError
from portagpu.linalg.matrices import INT32, Array, copy_into, new
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.creation import view_of
from portagpu.runtime.arrays.overlap import host_shares_elements, shares_elements
from portagpu.runtime.execution.stream import Stream

_P = ParamSpec("_P")
_R = TypeVar("_R")


def takes_results(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The same function, whose ``out`` and ``info`` may also be arrays of PyOpenCL, or of other libraries.

    The function gets arrays of ours in their memory, and what the caller passed is returned in place of these.
    """

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        given: list[tuple[Any, Any]] = []
        for name in ("out", "info"):
            value: Any = kwargs.get(name)
            if value is None or isinstance(value, DeviceNDArray | np.ndarray):
                continue
            into = view_of(value, name)
            if into is not None:
                kwargs[name] = into
                given.append((into, value))
        found: Any = function(*args, **kwargs)
        for into, value in given:
            if isinstance(found, tuple):  # of factors
                found = type(found)(*(value if x is into else x for x in found))
            elif found is into:
                found = value
        return found  # type: ignore[no-any-return]

    return call


def check_out(out: Any, like: Array, shape: tuple[int, ...], dtype: np.dtype[Any], function: str) -> None:
    """Raise `ArgumentTypeError`, `ShapeError`, `DTypeError` for an ``out`` that cannot take a result."""
    if out is None:
        return
    check_kind_of_out(out, isinstance(like, DeviceNDArray), function)
    if out.shape != shape:
        raise ShapeError(f"{function}: out has shape {out.shape}, the result {shape}", hint="pass one of that shape")
    if out.dtype != dtype:
        raise DTypeError(f"{function}: out is {out.dtype}, the result {dtype}", hint="pass one of that dtype")
    if out.readonly if isinstance(out, DeviceNDArray) else not out.flags.writeable:
        raise ArgumentTypeError(f"{function}: out is read-only", hint="pass an array that may be written")


def is_simple(out: Any) -> bool:
    """Whether work can be done in a result's own memory."""
    if out is None:
        return False
    return out.is_c_contiguous() if isinstance(out, DeviceNDArray) else bool(out.flags.c_contiguous)


def shares(x: Array, y: Array) -> bool:
    """Whether two arrays of one kind may have elements in common."""
    return shares_elements(x, y) if isinstance(x, DeviceNDArray) else host_shares_elements(x, y)


def delivered(made: Array, out: Array, stream: Stream | None) -> Array:
    """A result: itself, or ``out`` with its elements."""
    if out is None or made is out:
        return made
    copy_into(made, out, stream)
    return out


class Result:
    """A result of a shape and dtype, worked on in the memory of ``out`` where that can be done.

    Raises as `check_out` does.
    """

    def __init__(self, function: str, out: Array, like: Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        check_out(out, like, shape, dtype, function)
        self._out = out
        self.array: Array = out if is_simple(out) else new(like, shape, dtype)

    def delivered(self, stream: Stream | None) -> Array:
        """What the caller gets: `array`, or ``out`` with its elements."""
        return delivered(self.array, self._out, stream)


def first_failure(info: np.ndarray[Any, Any], batch: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """The first info of a batch that is not 0, and the indices of its matrix."""
    first = int(np.flatnonzero(info)[0])
    return int(info.flat[first]), tuple(int(i) for i in np.unravel_index(first, batch)) if batch else ()


class Report:
    """The info of factorisations of a batch: an array of the caller's, or an error for the first that failed.

    given: None, or an int32 array of the batch's shape, where the matrices are, which is filled. Raises
    `ArgumentTypeError`, `ShapeError` for others.
    """

    def __init__(self, given: Any, like: Array, batch: tuple[int, ...], function: str) -> None:
        self._given, self._batch = given, batch
        count = int(np.prod(batch, dtype=np.int64))
        self._on_device = isinstance(like, DeviceNDArray)
        if given is not None:
            kind = DeviceNDArray if self._on_device else np.ndarray
            if not isinstance(given, kind) or given.dtype != INT32:
                raise ArgumentTypeError(
                    f"{function}: info is not an int32 array where the matrices are",
                    hint="pass np.zeros(batch, np.int32), on the device for device arrays",
                )
            if given.shape != batch:
                raise ShapeError(f"{function}: info has shape {given.shape}, the batch {batch}", hint="one a matrix")
        if not self._on_device:
            self.array: Any = np.zeros(max(1, count), np.int32)
        elif given is not None and given.is_c_contiguous() and count:
            self.array = given.reshape(count)
        else:
            self.array = device_array(max(1, count), INT32, context=like.context)

    @property
    def is_wanted(self) -> bool:
        """Whether anybody looks at it: calls on device arrays do not wait, so that nothing can be raised."""
        return self._given is not None or not self._on_device

    def finish(self, raised: Callable[[int, tuple[int, ...]], FactorisationError], stream: Stream | None) -> None:
        """Fill the caller's array, or raise what ``raised(info, indices of the matrix)`` makes."""
        count = int(np.prod(self._batch, dtype=np.int64))
        if self._on_device:
            if self._given is not None and not self._given.is_c_contiguous():
                copy_into(self.array[:count].reshape(self._batch), self._given, stream)
            return
        if self._given is not None:
            self._given[...] = self.array[:count].reshape(self._batch)
        elif self.array.any():
            raise raised(*first_failure(self.array, self._batch))


def run(
    enqueue: Callable[..., None],
    stream: Stream | None,
    report: Report | None = None,
    *,
    reads: Mapping[str, Array] | None = None,
    updates: Mapping[str, Array] | None = None,
    results: Mapping[str, Array] | None = None,
) -> None:
    """`on_device`, with the report's array, which ``enqueue`` has to set, as the last one before the stream."""
    found = dict(results or {}) if report is None else {**(results or {}), "info": report.array}
    on_device(enqueue, stream, reads=reads, updates=updates, results=found)
