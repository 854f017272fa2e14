"""Figures of many cells: geometric mean, worst case, performance portability and its cascade.

The metric is that of S. J. Pennycook, J. D. Sewall, V. W. Lee, "Implications of a metric for performance portability",
Future Generation Computer Systems 92 (2019): the harmonic mean of an application's efficiencies on a set of platforms,
zero if one of them does not run it. Its cascade is that of J. Sewall, S. J. Pennycook and others, "Interpreting and
visualizing performance portability metrics", P3HPC 2020: platforms in the order of falling efficiency, and the metric
of the first, the first two, ... of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from portagpu.bench.records.cell import Cell, Role, Status
from portagpu.report.matrix import Matrix, Place
from portagpu.report.views import Figure, View

NOT_RUN = frozenset({Status.WRONG, Status.UNSUPPORTED, Status.FAILED})
"""What counts as not running on a platform; cells that are not verified, throttled or open tell nothing about that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a view's figures are as a whole: ``worst`` is a place's figure, ``counted`` of how many there are."""

    counted: int
    mean: float | None
    worst: Figure | None
    where: Place | None


def geometric_mean(values: Iterable[float]) -> float | None:
    """The mean of ratios, which does not depend on what they are relative to; None of none."""
    logarithms = [math.log(value) for value in values]
    return math.exp(math.fsum(logarithms) / len(logarithms)) if logarithms else None


def portability(efficiencies: Sequence[float | None]) -> float | None:
    """The harmonic mean of efficiencies; 0 with one of 0; None without any, or if one is not known."""
    if not efficiencies or any(value is None for value in efficiencies):
        return None
    known = [value for value in efficiencies if value is not None]
    return len(known) / math.fsum(1 / value for value in known) if all(known) else 0.0


def summary(places: Iterable[Place | None], view: View) -> Summary:
    """Geometric mean and worst case of a view's figures."""
    found = [(figure, one) for one in places if one is not None and (figure := view.of(one)).value]
    values = [figure.value for figure, _ in found if figure.value]
    worse = min if view.more_is_better else max
    last = worse(found, key=lambda pair: pair[0].value or 0.0) if found else (None, None)
    return Summary(counted=len(found), mean=geometric_mean(values), worst=last[0], where=last[1])


def efficiency(place: Place | None, implementation: str) -> float | None:
    """The best time that anybody has on a device over an implementation's: 1 for the fastest; 0 if it does not run.

    None if that is not known: it was not measured there, or under conditions that allow no number.
    """
    if place is None:
        return None
    cells = [cell for cell in place.cells if cell.implementation == implementation]
    times = [cell.seconds for cell in cells if cell.seconds is not None]
    if times and place.best_seconds is not None:
        return place.best_seconds / min(times)
    if any(cell.status not in NOT_RUN for cell in cells):
        return None
    return 0.0 if cells or place.best_seconds is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cascade:
    """An implementation's efficiencies by falling value, with the devices' numbers and the metric of the first n."""

    implementation: str
    role: Role
    problems: int
    devices: tuple[int, ...]
    efficiencies: tuple[float, ...]
    portabilities: tuple[float, ...]


def cascades(matrix: Matrix) -> tuple[Cascade, ...]:
    """The cascade of each implementation, ours first, over the problems that it has and every device was asked for.

    Its efficiency on a device is the geometric mean of those in these problems, 0 if it does not run one of them.
    """
    common = common_rows(matrix)
    made = []
    for name, role in _implementations(matrix, common):
        rows = [row for row in common if _has(matrix, row, name)]
        found = [device_efficiency(matrix, rows, column, name) for column in range(len(matrix.columns))]
        if any(value is None for value in found):
            continue
        made.append(_cascade(name, role, len(rows), [value or 0.0 for value in found]))
    return tuple(sorted(made, key=lambda one: (one.role is not Role.OURS, -sum(one.efficiencies), one.implementation)))


def common_rows(matrix: Matrix) -> list[int]:
    """The problems of which every device has a time by anybody, and some device one by others than us."""
    return [
        row
        for row in range(len(matrix.rows))
        if _contested(matrix.row_places(row))
        and all(one is not None and one.best_seconds is not None for one in matrix.row_places(row))
    ]


def _contested(places: Sequence[Place | None]) -> bool:
    """Whether anybody else has a time; probes of roofs compete with nobody."""
    found = [one for one in places if one is not None and not one.row.is_roof]
    return any(one.rival is not None and one.rival.seconds is not None for one in found)


def device_efficiency(matrix: Matrix, rows: Sequence[int], column: int, implementation: str) -> float | None:
    """The geometric mean of an implementation's efficiencies in some problems; 0 if it does not run all of them."""
    found = [efficiency(matrix.places.get((row, column)), implementation) for row in rows]
    known = [value for value in found if value is not None]
    if not known or len(known) < len(found):
        return None
    return geometric_mean(known) if all(known) else 0.0


def _implementations(matrix: Matrix, rows: Sequence[int]) -> list[tuple[str, Role]]:
    cells: list[Cell] = [
        cell for row in rows for one in matrix.row_places(row) if one is not None for cell in one.cells
    ]
    return list({cell.implementation: cell.role for cell in cells}.items())


def _has(matrix: Matrix, row: int, implementation: str) -> bool:
    """Whether it is a problem of an implementation's: what another than ours supports nowhere is none."""
    places = (one for one in matrix.row_places(row) if one is not None)
    return any(
        cell.implementation == implementation and (cell.role is Role.OURS or cell.status is not Status.UNSUPPORTED)
        for one in places
        for cell in one.cells
    )


def _cascade(name: str, role: Role, problems: int, efficiencies: list[float]) -> Cascade:
    order = sorted(range(len(efficiencies)), key=lambda column: (-efficiencies[column], column))
    falling = [efficiencies[column] for column in order]
    metric = [portability(falling[: count + 1]) or 0.0 for count in range(len(falling))]
    return Cascade(
        implementation=name,
        role=role,
        problems=problems,
        devices=tuple(order),
        efficiencies=tuple(falling),
        portabilities=tuple(metric),
    )


def row_portability(places: Sequence[Place | None], view: View) -> float | None:
    """Our metric in one problem: by efficiencies against the best of all, or against roofs where those are viewed."""
    if any(one is not None and one.row.is_roof for one in places):
        return None
    if view.key != "roof" and not _contested(places):
        return None  # the fastest of one says nothing
    if view.key == "roof":
        return portability([_of_roof(one, view) for one in places])
    names = {one.ours.implementation for one in places if one is not None and one.ours is not None}
    return portability([efficiency(one, next(iter(names))) for one in places]) if len(names) == 1 else None


def _of_roof(place: Place | None, view: View) -> float | None:
    if place is None or place.ours is None:
        return None
    if place.ours.status in NOT_RUN:
        return 0.0
    share = view.of(place).value
    return None if share is None else min(share, 1.0)  # more than the roof: from caches


__all__ = ["NOT_RUN", "Cascade", "Summary", "cascades", "common_rows", "device_efficiency", "efficiency"]
__all__ += ["geometric_mean", "portability", "row_portability", "summary"]
