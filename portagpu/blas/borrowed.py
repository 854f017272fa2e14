"""Operands of other libraries on devices that both use: products read and write them in place, on their stream."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from portagpu.backends.registry import owner_of
from portagpu.blas.gemm.replay.device_products import again, first
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.foreign_views import borrowed_view
from portagpu.runtime.execution.stream import Stream

T = TypeVar("T")
_MOST = 1024  # kinds of results that are remembered
_SELDOM, _MOST_FREQUENT, _MOST_COUNTED = 4, 48, 4096  # times, products, products
Facts = tuple[tuple[int, ...], np.dtype[Any]]
Maker = Callable[[Any], tuple[Any, Hashable | None]]


class Borrowed(NamedTuple):
    """Views of two operands and of a result, the result as the library has it, and the stream that all three use.

    ``out`` is None for a new result, ``c`` for one that is not there yet; ``like``: the operand that it is to be like,
    None where it is to be a device array.
    """

    a: DeviceNDArray
    b: DeviceNDArray
    c: DeviceNDArray | None
    out: Any
    like: Any
    stream: Stream


class _Results(Generic[T]):
    """What is known of results, by what is known of their operands."""

    def __init__(self) -> None:
        self._known: dict[Any, T] = {}

    def get(self, key: Any) -> T | None:
        """What is known."""
        return self._known.get(key)

    def keep(self, key: Any, facts: T) -> T:
        """Remember it."""
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[key] = facts
        return facts


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


_facts: _Results[Facts] = _Results()
_makers: _Results[Maker] = _Results()
_repeats = _Repeats()


def borrowed_operands(a: Any, b: Any, out: Any, stream: Any) -> Borrowed | None:
    """Arrays of other libraries, or views of them, and where their product goes; arrays of ours may be among them.

    None where there is no other library's, and where libraries must see to the order: where they use different streams,
    or the caller names another one.
    Raises `ArgumentTypeError` for arrays that are more than memory.
    """
    left = _view(a)
    right = None if left is None else _view(b)
    if left is None or right is None:
        return None
    into = None
    if out is not None:
        into = _view(out)
        if into is None:
            return None
    where: Any = left.stream
    if left is a or right is b or right.stream is not where or (out is not None and _stream(out, into) is not where):
        streams = {_stream(given, view) for given, view in ((a, left), (b, right), (out, into)) if view is not None}
        if len(streams) > 1 or all(view is given for given, view in ((a, left), (b, right), (out, into))):
            return None
        where = streams.pop()
    if stream is not None and stream is not where:
        return None
    return Borrowed(left, right, into, out, None if DeviceNDArray in (type(a), type(b)) else a, where)


def _stream(given: Any, view: Any) -> Any:
    """Where an array is used: one of ours in the default stream."""
    return view.context.default_stream if view is given else view.stream


def _view(value: Any) -> DeviceNDArray | None:
    """A view of another library's array; an array of ours, in memory of ours, as it is; None for all else."""
    return value if type(value) is DeviceNDArray and value.token is not None else borrowed_view(value)


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
    a, b, c, out, like, stream = found
    if out is None:
        facts: Facts | None = None
        maker = None if numbers is None or like is None else _makers.get((a.token, b.token, numbers))
        if maker is None:
            facts = _result(found, checked, numbers)
            if like is not None:
                maker = owner_of(like).maker(like, *facts)
                if numbers is not None:
                    _makers.keep((a.token, b.token, numbers), maker)
        if maker is not None:
            out, known = maker(like)
            c = None if out is None else borrowed_view(out, known)
        if c is None:
            return _new_of_ours(found, facts or _result(found, checked, numbers), checked, enqueue, numbers)
    assert c is not None
    if numbers is None:
        enqueue(checked(a, b, c, stream), c)
    elif again(a, b, c, stream, numbers) is None:
        alike = not _repeats.is_often((a.token, b.token, c.token, stream.token, numbers))
        if not alike or again(a, b, c, stream, numbers, borrowed=True) is None:
            request = checked(a, b, c, stream)
            first(a, b, c, stream, numbers, partial(enqueue, request), new=False, borrowed=alike)
    return out


def _result(
    found: Borrowed, checked: Callable[[DeviceNDArray, DeviceNDArray, None, Stream], R], numbers: tuple[Any, ...] | None
) -> Facts:
    """Shape and dtype of a new result. Raises what ``checked`` raises."""
    a, b = found.a, found.b
    key = (a.shape, b.shape, a.dtype, b.dtype, numbers)
    known = None if numbers is None else _facts.get(key)
    if known is None:
        request = checked(a, b, None, found.stream)
        known = request.shape, request.dtype
        if numbers is not None:
            _facts.keep(key, known)
    return known


def _new_of_ours(
    found: Borrowed,
    facts: Facts,
    checked: Callable[[DeviceNDArray, DeviceNDArray, DeviceNDArray | None, Stream], R],
    enqueue: Callable[[R, DeviceNDArray], None],
    numbers: tuple[Any, ...] | None,
) -> DeviceNDArray:
    """The product as a new array of ours."""
    a, b, stream = found.a, found.b, found.stream
    made: DeviceNDArray | None = None if numbers is None else again(a, b, None, stream, numbers)
    if made is None:
        made = device_array(*facts, context=a.context)
        request = checked(a, b, made, stream)
        if numbers is None:
            enqueue(request, made)
        else:
            first(a, b, made, stream, numbers, partial(enqueue, request), new=True)
    return made
