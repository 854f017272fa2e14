"""The groups of shipped kernels by name, and the targets that they are checked for unless others are named."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from portagpu.backends import survey
from portagpu.backends.offline import OfflineTarget
from portagpu.checking.shipped import products, programs, routines
from portagpu.checking.shipped.launches import Case
from portagpu.device.capabilities import Capabilities

GROUPS: dict[str, Callable[[Capabilities], Iterator[Case]]] = {
    programs.TEXTBOOK: programs.textbook,
    programs.EXAMPLES: programs.examples,
    products.GROUP: products.cases,
    routines.GROUP: routines.cases,
}
"""Those with few kernels first."""

ALL = "all"
_USUAL = ("gfx942", "gfx1100", "gfx1201", "dg2", "pvc", "bmg", "sm_80", "sm_90", "sm_120")


def groups_of(name: str) -> tuple[str, ...]:
    """The groups that a name stands for."""
    return tuple(GROUPS) if name == ALL else (name,)


def usual_targets() -> tuple[OfflineTarget, ...]:
    """Products of today of each architecture: checking thousands of kernels for older ones, too, would tell little."""
    known = {target.name: target for target in survey.targets()}
    return tuple(known[name] for name in _USUAL if name in known)


def cases_of(groups: tuple[str, ...], target: OfflineTarget) -> Iterator[Case]:
    """The cases of groups for a target."""
    for group in groups:
        yield from GROUPS[group](target.capabilities)
