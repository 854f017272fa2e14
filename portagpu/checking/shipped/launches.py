"""Kernels that calls launch on a dry device, as specialisations with their blocks: what there is to compile."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from portagpu.backends.offline import OfflineTarget
from portagpu.checking.shipped.dry_device import DryDriver, dry_device
from portagpu.dispatch.overload import Overload
from portagpu.dispatch.specialisations import Specialisations, built_for
from portagpu.runtime.execution.context import Context
from portagpu.settings import Settings


class Case(NamedTuple):
    """A call that launches kernels. ``group``: of what; ``name``: for people; ``call`` is made on the dry device."""

    group: str
    name: str
    call: Callable[[], Any]


class Launched(NamedTuple):
    """A specialisation that a case launched first, and a block that it was launched with, or None where none was."""

    group: str
    case: str
    kernel: Specialisations
    overload: Overload
    block: tuple[int, ...] | None


class CaseEnded(NamedTuple):
    """A case that ended before its end: an error of ours, or what it makes of results that nobody computed."""

    group: str
    case: str
    error: Exception


def launched(
    target: OfflineTarget, cases: Iterable[Case], *, done: Callable[[], None] = lambda: None
) -> Iterator[Launched | CaseEnded]:
    """What cases launch on hardware like the target's: each program once, with each of its blocks.

    ``done`` is called after each case.
    """
    settings = dataclasses.replace(Settings.from_environment(), warnings=False, specialisations=0)
    context = Context(dry_device(target), None, settings)
    driver = context.driver
    assert isinstance(driver, DryDriver)
    seen: set[tuple[str, tuple[str, ...]]] = set()
    try:
        for case in cases:
            with context, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    case.call()
                except Exception as error:  # results are zeros: a program's own checks may say anything
                    yield CaseEnded(case.group, case.name, error)
            for kernel, overload in _overloads(context):
                key = overload.kernel_source.source, overload.build_options
                if key not in seen:
                    seen.add(key)
                    blocks: tuple[tuple[int, ...] | None, ...] = tuple(driver.blocks.get(key[0], ())) or (None,)
                    yield from (Launched(case.group, case.name, kernel, overload, block) for block in blocks)
            done()
    finally:
        context.close()


def _overloads(context: Context) -> Iterator[tuple[Specialisations, Overload]]:
    for holder in list(context.holders):
        if isinstance(holder, Specialisations):
            yield from ((holder, overload) for overload in built_for(holder, context))
