"""Arguments of `portagpu.linalg`: matrices and batches in one dtype, copies to work in, results, reports."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

import numpy as np

from portagpu.blas.arguments import native, operand_of
from portagpu.blas.host_arrays import are_on_device, on_device
from portagpu.blas.replay.host_trace import assign_host, new_host
from portagpu.errors import ArgumentTypeError, DTypeError, FactorisationError, ShapeError
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.creation import view_of
from portagpu.runtime.arrays.overlap import host_shares_elements, shares_elements
from portagpu.runtime.execution.stream import Stream, as_stream

Array = Any
INT32 = np.dtype(np.int32)
FULL_PRECISION = ("float32", "float64", "complex64", "complex128")
EVERY_PRECISION = ("float16", "bfloat16", *FULL_PRECISION)
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


def arrays_of(
    function: str, taken: tuple[str, ...] = FULL_PRECISION, /, **values: Any
) -> tuple[list[Array], np.dtype[Any]]:
    """Arguments as arrays, all NumPy's or all on the device, and the dtype to compute in, one of those ``taken``.

    NumPy arrays are not converted yet: to their common dtype, in which integers count as float64, and halves as float32
    where they are not taken. Raises `ArgumentTypeError`, `DTypeError`.
    """
    found = {name: operand_of(value, name) for name, value in values.items()}
    dtypes = {name: x.dtype for name, x in found.items()}
    first: np.dtype[Any] = next(iter(dtypes.values()))
    told = ", ".join(f"{name} is {dtype}" for name, dtype in dtypes.items())
    if are_on_device(found, function):
        if len(set(dtypes.values())) > 1 or first.name not in taken or not first.isnative:
            raise DTypeError(
                f"{function} takes arrays of one dtype of {', '.join(taken)}; {told}",
                hint="convert with a kernel, or on the host: x.copy_to_host().astype(...)",
            )
        return list(found.values()), first
    kinds = [_counted(function, name, dtype, taken) for name, dtype in dtypes.items()]
    try:
        common = np.result_type(*kinds)
    except TypeError as error:  # float16 and bfloat16 have no common dtype
        raise DTypeError(
            f"{function}: {told}, which have no common dtype", hint="convert them: x.astype(np.float32)"
        ) from error
    return list(found.values()), common


def _counted(function: str, name: str, dtype: np.dtype[Any], taken: tuple[str, ...]) -> np.dtype[Any]:
    """The dtype that NumPy arrays of a dtype are computed in. Raises `DTypeError`."""
    if dtype.name in taken:
        return native(dtype)
    if dtype.kind in "biu":
        return np.dtype(np.float64)
    if dtype.kind in "fc":
        halves = dtype.itemsize // (2 if dtype.kind == "c" else 1) < 4
        return np.dtype(np.float32 if halves else np.complex128 if dtype.kind == "c" else np.float64)
    if dtype.kind == "V" and np.can_cast(dtype, np.float32):  # those of ml_dtypes
        return np.dtype(np.float32)
    raise DTypeError(f"{function} takes numbers; {name} is {dtype}", hint=f"convert them: {name}.astype(np.float64)")


def check_matrix(x: Array, name: str, function: str, *, square: bool = False) -> None:
    """Raise `ShapeError` for fewer than two axes, or other matrices than square ones."""
    if x.ndim < 2:
        raise ShapeError(
            f"{function} takes matrices; {name} has shape {x.shape}", hint=f"a column: {name}.reshape(-1, 1)"
        )
    if square and x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"{function} takes square matrices; {name} has shape {x.shape}", hint="lstsq takes others")


def broadcast_batches(function: str, **shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the leading axes together. Raises `ShapeError`."""
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        told = ", ".join(f"those of {name} are {shape}" for name, shape in shapes.items())
        raise ShapeError(
            f"{function}: the leading axes do not fit: {told}", hint="they broadcast as NumPy's do"
        ) from None


def new(like: Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An uninitialised array in C order, where ``like`` is."""
    if isinstance(like, DeviceNDArray):
        return device_array(shape, dtype, context=like.context)
    return new_host(shape, dtype)


def copy_of(x: Array, shape: tuple[int, ...], dtype: np.dtype[Any], stream: Stream | None, into: Array = None) -> Array:
    """The elements of x, broadcast, in a new array in C order, or in another one of that shape and dtype."""
    made = new(x, shape, dtype) if into is None else into
    copy_into(x, made, stream)
    return made


def copy_into(x: Array, target: Array, stream: Stream | None) -> None:
    """Copy elements, broadcast; enqueued on the device."""
    if target.size == 0:
        return
    if isinstance(target, DeviceNDArray):
        target.copy_to_device(x._broadcast(target.shape), as_stream(stream, target.context))
    else:
        assign_host(target, x)


def check_out(out: Any, like: Array, shape: tuple[int, ...], dtype: np.dtype[Any], function: str) -> None:
    """Raise `ArgumentTypeError`, `ShapeError`, `DTypeError` for an ``out`` that cannot take a result."""
    if out is None:
        return
    kind = DeviceNDArray if isinstance(like, DeviceNDArray) else np.ndarray
    if not isinstance(out, kind):
        raise ArgumentTypeError(
            f"{function}: out is a {type(out).__name__}, the operands are of {kind.__name__}", hint="both of one kind"
        )
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
            place = int(np.flatnonzero(self.array)[0])
            indices = tuple(int(i) for i in np.unravel_index(place, self._batch)) if self._batch else ()
            raise raised(int(self.array[place]), indices)


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
