"""A registry of weakly held objects."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class WeakRegistry(Generic[T]):
    """A set by identity that keeps nothing alive; iterating gives those that live.

    Threads, finalisers and signal handlers may add to it while others iterate: with `weakref.WeakSet` that raises.
    """

    def __init__(self) -> None:
        self._known: dict[int, weakref.ref[T]] = {}

    def add(self, value: T) -> None:
        """Know an object."""
        number, known = id(value), self._known

        def forget(dead: weakref.ref[T]) -> None:
            if known.get(number) is dead:
                known.pop(number, None)

        found = known.get(number)
        if found is None or found() is not value:
            known[number] = weakref.ref(value, forget)

    def __iter__(self) -> Iterator[T]:
        # a copy of the values takes no allocation that could start a collection, whose finalisers may add others
        found = (reference() for reference in list(self._known.values()))
        return iter([value for value in found if value is not None])

    def __bool__(self) -> bool:
        return any(True for _ in self)


of_threads: WeakRegistry[Any] = WeakRegistry()
"""What threads keep for themselves, with objects of drivers: a fork must not end it in the child."""
