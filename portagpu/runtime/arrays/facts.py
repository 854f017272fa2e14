"""What arrays that are alike have in common: worked out once, and kept by a context for new arrays and views.

A view's facts follow from those of the array and from what is asked: where both were met before, NumPy is not asked
again. What is asked is made of plain integers, since 1, 1.0 and True are equal.
"""

from __future__ import annotations

import operator
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import numpy as np

from portagpu.errors import OutOfMemoryError

if TYPE_CHECKING:
    from portagpu.runtime.execution.context import Context

Facts = tuple[Any, ...]
_INT = frozenset({int})
_MOST = 4096  # arrays and views that a context remembers

FACTS = (
    "_dtype _shape _strides align context facts_token is_large itemsize layout layout_token ndim offset readonly "
    "shifted size type_key"
).split()
"""What arrays that are alike have in common: all but memory, what it is known by, and a stream.

``facts_token`` stands for all of them: arrays that have one in common have the others in common, too.
"""
_OFFSET = FACTS.index("offset")
facts_of = operator.attrgetter(*FACTS)


def lies_as(array: Any, facts: Facts) -> bool:
    """Whether an array's elements lie in its memory as the facts say."""
    found: bool = (array._dtype, array._shape, array._strides, array.offset) == (*facts[:3], facts[_OFFSET])
    return found


def with_facts(kind: type, facts: Facts) -> Any:
    """An array without memory, which the caller gives it. One statement takes a third of the time of a loop."""
    made: Any = object.__new__(kind)
    (
        made._dtype,
        made._shape,
        made._strides,
        made.align,
        made.context,
        made.facts_token,
        made.is_large,
        made.itemsize,
        made.layout,
        made.layout_token,
        made.ndim,
        made.offset,
        made.readonly,
        made.shifted,
        made.size,
        made.type_key,
    ) = facts
    made.token = object()
    made.deferred = None
    return made


def facts_for(
    kind: type, context: Context, shape: tuple[int, ...], dtype: np.dtype[Any], gapless: tuple[int, ...] | None = None
) -> Facts:
    """Facts that arrays of a shape and dtype share, by default in C order. Raises `OutOfMemoryError`.

    ``gapless``: strides of arrays without gaps in another order.
    """
    known = context.array_facts
    key = (shape, dtype) if gapless is None else (shape, dtype, gapless)
    found: Facts | None = known.get(key)
    if found is None:
        strides, step = [], dtype.itemsize
        for extent in reversed(shape):
            strides.append(step)
            step *= max(extent, 1)
        if step >= 2**63:
            raise OutOfMemoryError(f"shape {shape} needs {step} bytes, more than can be addressed")
        found = facts_of(kind(shape, dtype, gapless or tuple(reversed(strides)), None, context))
        if len(known) >= _MOST:
            known.clear()
        known[key] = found
    return found


def layout_token_of(array: Any) -> object:
    """The facts of an array that kernels must know: one object for all arrays of a context that the same kernels take.

    Tokens of different contexts are not equal: launches that are kept under a context's refuse another's memory.
    """
    token = array.type_key, array.is_large, id(array.context)
    found: object = array.context.layout_tokens.setdefault(token, token)
    return found


def facts_token_of(array: Any) -> object:
    """What stands for all facts of an array; one object for all arrays that are alike, as long as it is known."""
    known = array.context.facts_tokens
    facts = array.layout_token, array._shape, array._strides, array.offset
    found = known.get(facts)
    if found is None:
        if len(known) >= _MOST:
            known.clear()
        found = known.setdefault(facts, object())
    return found


def remember_view(context: Context, key: Any, view: Any) -> None:
    """Keep a view's facts for the next that is asked for alike."""
    if len(context.view_facts) >= _MOST:
        context.view_facts.clear()
    context.view_facts[key] = facts_of(view)


def are_plain(numbers: Any) -> bool:
    """Whether a tuple is one of plain integers: no bools, and none of NumPy's."""
    return type(numbers) is tuple and _INT.issuperset(map(type, numbers))


def key_of(subscripts: Any) -> tuple[Any, ...] | None:
    """Integers, slices, new axes and an ellipsis, hashable; None where there is anything else."""
    found: list[Any] = []
    for item in subscripts if type(subscripts) is tuple else (subscripts,):
        kind = type(item)
        if kind is slice:
            start, stop, step = item.start, item.stop, item.step
            if not (
                (start is None or type(start) is int)
                and (stop is None or type(stop) is int)
                and (step is None or type(step) is int)
            ):
                return None
            found.append((start, stop, step))
        elif kind is int or item is None or kind is EllipsisType:
            found.append(item)
        else:
            return None
    return tuple(found)
