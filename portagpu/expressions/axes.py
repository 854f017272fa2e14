"""The axes that a kernel walks: neighbours that all operands step through as through one are joined."""

from __future__ import annotations

from collections.abc import Sequence


def joined(shape: tuple[int, ...], steps: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """A shape with as few axes as possible, and the operands' strides along these: see `joined_but`."""
    extents, strides, _ = joined_but(frozenset(), shape, steps)
    return extents, strides


def joined_but(
    apart: frozenset[int], shape: tuple[int, ...], steps: Sequence[tuple[int, ...]]
) -> tuple[tuple[int, ...], list[tuple[int, ...]], list[int]]:
    """A shape with as few axes as possible, the operands' strides along these, and the last axis of each in the shape.

    Each of ``steps`` has a stride for each axis of ``shape``, 0 where an operand is broadcast. Axes of one element go;
    the last axis that is left is that of the first operand's smallest stride. Axes ``apart`` join no others.
    """
    axes = [n for n, extent in enumerate(shape) if extent != 1]
    axes.sort(key=lambda n: -abs(steps[0][n]))
    extents: list[int] = []
    strides: list[list[int]] = [[] for _ in steps]
    last: list[int] = []
    for n in axes:
        may_join = extents and not {n, last[-1]} & apart
        if may_join and all(s[-1] == step[n] * shape[n] for s, step in zip(strides, steps, strict=True)):
            extents[-1] *= shape[n]
            last[-1] = n
            for s, step in zip(strides, steps, strict=True):
                s[-1] = step[n]
        else:
            extents.append(shape[n])
            last.append(n)
            for s, step in zip(strides, steps, strict=True):
                s.append(step[n])
    return tuple(extents), [tuple(s) for s in strides], last


def broadcast_strides(shape: tuple[int, ...], strides: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of an array of ``shape`` that is broadcast to a wanted shape."""
    before = len(wanted) - len(shape)
    own = [0 if extent == 1 else step for extent, step in zip(shape, strides, strict=True)]
    return (*(0 for _ in range(before)), *own)
