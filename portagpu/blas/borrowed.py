"""Operands of other libraries on devices that both use: products read and write them in place, on their stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from portagpu.backends.registry import owner_of
from portagpu.blas.gemm.replay.device_products import again, first
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.foreign_views import borrowed_view
from portagpu.runtime.execution.stream import Stream

_MOST = 256  # kinds of results that are remembered
_SELDOM, _MOST_FREQUENT, _MOST_COUNTED = 4, 48, 4096  # times, products, products


class Borrowed(NamedTuple):
    """Views of two operands and of a result, the result as the library has it, and the stream that all three use.

    ``out`` is None for a new result, ``c`` for one that is not there yet; ``like``: the operand that it is to be like.
    """

    a: DeviceNDArray
    b: DeviceNDArray
    c: DeviceNDArray | None
    out: Any
    like: Any
    stream: Stream

    def with_result(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Borrowed:
        """With a new result; without one where the library's arrays cannot be written."""
        out = owner_of(self.like).empty_like(self.like, shape, dtype)
        return self if out is None else self._replace(out=out, c=borrowed_view(out))


class _ResultFacts:
    """Shapes and dtypes of results by those of their operands."""

    def __init__(self) -> None:
        self._known: dict[Any, tuple[tuple[int, ...], np.dtype[Any]]] = {}

    def get(self, key: Any) -> tuple[tuple[int, ...], np.dtype[Any]] | None:
        """What is known."""
        return self._known.get(key)

    def keep(self, key: Any, facts: tuple[tuple[int, ...], np.dtype[Any]]) -> None:
        """Remember it."""
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[key] = facts


class _Repeats:
    """How often products of the very same memory came: few of them get recordings of their own, which need no arguments
    to be set. All others share those of arrays that lie alike."""

    def __init__(self) -> None:
        self._counts: dict[Any, int] = {}
        self._frequent = 0

    def is_often(self, key: Any) -> bool:
        """Count a product; whether it is one of the few."""
        count = self._counts.get(key, 0)
        if count > _SELDOM:
            return True
        if not count and len(self._counts) >= _MOST_COUNTED:
            self._counts.clear()
            self._frequent = 0
        if count == _SELDOM:
            if self._frequent >= _MOST_FREQUENT:
                return False
            self._frequent += 1
        self._counts[key] = count + 1
        return False


_results, _repeats = _ResultFacts(), _Repeats()


def borrowed_operands(a: Any, b: Any, out: Any, stream: Any) -> Borrowed | None:
    """Two arrays of other libraries and where their product goes; None where their libraries must see to the order:
    where they use different streams, or the caller names another one.

    Raises `ArgumentTypeError` for arrays that are more than memory.
    """
    left, right = borrowed_view(a), borrowed_view(b)
    if left is None or right is None or left.stream is not right.stream or not left.stream:
        return None
    if stream is not None and stream is not left.stream:
        return None
    into = None
    if out is not None:
        into = borrowed_view(out)
        if into is None or into.stream is not left.stream:
            return None
    return Borrowed(left, right, into, out, a, left.stream)


class Request(Protocol):
    """A product whose arguments fit together."""

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the result."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """That of the result."""


R = TypeVar("R", bound=Request)


def product_of_borrowed(
    found: Borrowed,
    checked: Callable[[DeviceNDArray, DeviceNDArray, DeviceNDArray | None, Stream], R],
    enqueue: Callable[[R, DeviceNDArray], None],
    numbers: tuple[Any, ...] | None,
) -> Any:
    """The product of another library's arrays: into ``out``, or a new array of theirs; where these cannot be written, a
    device array.

    ``checked``: the request for both operands, a result or None, and the stream; ``enqueue`` has a request computed
    into an array. ``numbers``: what else the product depends on; None where it cannot be recorded.
    """
    a, b, stream = found.a, found.b, found.stream
    if found.out is None:
        key = (a.shape, b.shape, a.dtype, b.dtype, numbers)
        facts = None if numbers is None else _results.get(key)
        if facts is None:
            request = checked(a, b, None, stream)
            facts = request.shape, request.dtype
            if numbers is not None:
                _results.keep(key, facts)
        found = found.with_result(*facts)
        if found.c is None:
            own = device_array(*facts, context=a.context)
            enqueue(checked(a, b, own, stream), own)
            return own
    c = found.c
    assert c is not None
    if numbers is None:
        enqueue(checked(a, b, c, stream), c)
        return found.out
    alike = not _repeats.is_often((a.token, b.token, c.token, stream.token, numbers))
    if again(a, b, c, stream, numbers, borrowed=alike) is None:
        request = checked(a, b, c, stream)
        first(a, b, c, stream, numbers, lambda into: enqueue(request, into), new=False, borrowed=alike)
    return found.out
