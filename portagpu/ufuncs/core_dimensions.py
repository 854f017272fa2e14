"""Layouts of generalised functions: ``(m,n),(n,p)->(m,p)``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from portagpu.errors import LayoutError, ShapeError

_GROUP = re.compile(r"\(([^()]*)\)")
_SIDE = re.compile(r"\([^()]*\)(,\([^()]*\))*")
_NAME = re.compile(r"[A-Za-z_]\w*|\d+")

Axes = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """Names of the core axes of each input and output; a name of digits is a fixed extent."""

    inputs: tuple[Axes, ...]
    outputs: tuple[Axes, ...]

    @classmethod
    def parse(cls, text: str) -> Layout:
        """The layout that a text means. Raises `LayoutError`."""
        sides = re.sub(r"\s", "", text).split("->")
        if len(sides) != 2 or not all(_SIDE.fullmatch(side) for side in sides):
            raise LayoutError(f"the layout {text!r} cannot be read", hint="write it like '(m,n),(n,p)->(m,p)'")
        inputs, outputs = (
            tuple(tuple(a for a in group.split(",") if a) for group in _GROUP.findall(side)) for side in sides
        )
        for axis in (a for group in (*inputs, *outputs) for a in group):
            if not _NAME.fullmatch(axis):
                raise LayoutError(f"the layout {text!r} has the axis {axis!r}", hint="axes are names or numbers")
        known = {axis for group in inputs for axis in group}
        unknown = sorted({a for group in outputs for a in group if a not in known and not a.isdigit()})
        if unknown:
            raise LayoutError(
                f"the layout {text!r} has undefined axes in its outputs: {', '.join(unknown)}",
                hint="each output's axes are axes of inputs, or numbers",
            )
        return cls(inputs, outputs)

    def __str__(self) -> str:
        sides = (",".join(f"({','.join(g)})" for g in side) for side in (self.inputs, self.outputs))
        return "->".join(sides)

    def resolve(
        self, shapes: Sequence[tuple[int, ...]], outs: Sequence[tuple[int, ...] | None]
    ) -> tuple[list[tuple[int, ...]], dict[str, int]]:
        """Loop shapes of the inputs, and the extents of the axes. Raises `ShapeError`."""
        extents: dict[str, int] = {}
        loops = [self._match(axes, shape, extents, "input") for axes, shape in zip(self.inputs, shapes, strict=True)]
        for axes, out in zip(self.outputs, outs, strict=True):
            if out is not None:
                self._match(axes, out, extents, "output")
        return loops, extents

    def _match(self, axes: Axes, shape: tuple[int, ...], extents: dict[str, int], what: str) -> tuple[int, ...]:
        if len(shape) < len(axes):
            raise ShapeError(f"an {what} of {self} needs {len(axes)} axes for ({','.join(axes)}), it has shape {shape}")
        split = len(shape) - len(axes)
        for axis, extent in zip(axes, shape[split:], strict=True):
            wanted = int(axis) if axis.isdigit() else extents.setdefault(axis, extent)
            if wanted != extent:
                raise ShapeError(f"the axis {axis} of {self} is {wanted} long, but {extent} in an {what} of {shape}")
        return shape[:split]

    def core(self, axes: Axes, extents: dict[str, int]) -> tuple[int, ...]:
        """Extents of core axes."""
        return tuple(int(a) if a.isdigit() else extents[a] for a in axes)
