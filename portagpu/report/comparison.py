"""Two runs compared, cell by cell; cells measured under different conditions are refused, with the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from portagpu.bench.records.cell import Cell, Role, Status
from portagpu.bench.records.run import Run
from portagpu.errors import StoreError
from portagpu.report.change import LEAST_EFFECT, LEVEL, Change, Verdict, change
from portagpu.report.controls import controlled
from portagpu.report.metrics import NOT_RUN

_CLOCKS = 0.05
"""By which core clocks may differ, relative to the lower one."""

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A cell in both runs, or in one of them."""

    device: str
    old: Cell | None
    new: Cell | None
    change: Change

    @property
    def cell(self) -> Cell:
        """The new cell, or the old one where there is no other."""
        found = self.new or self.old
        assert found is not None
        return found

    @property
    def fails(self) -> bool:
        """Whether it is a loss of ours."""
        return self.cell.role is Role.OURS and self.change.verdict in (Verdict.SLOWER, Verdict.LOST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All cells of two runs. ``effect`` and ``level`` are those of the test."""

    cells: tuple[Compared, ...]
    effect: float
    level: float

    @property
    def counts(self) -> Counter[Verdict]:
        """How often there was each verdict."""
        return Counter(cell.change.verdict for cell in self.cells)

    @property
    def fails(self) -> bool:
        """Whether any cell of ours is a loss."""
        return any(cell.fails for cell in self.cells)


def compare(old: Run, new: Run, effect: float = LEAST_EFFECT, level: float = LEVEL) -> Comparison:
    """Compare what two runs have in common. Raises `StoreError` if no cell is in both."""
    numbers = _devices(old, new)
    before, after = (_by_key(run, names) for run, names in ((old, numbers[0]), (new, numbers[1])))
    found = _controlled([*_pairs(before, after, old, new, effect, level)])
    if not any(cell.old is not None and cell.new is not None for cell in found):
        raise StoreError("no cell is in both files", hint="compare runs of the same suites on the same device")
    return Comparison(cells=tuple(found), effect=effect, level=level)


def _controlled(found: list[Compared]) -> list[Compared]:
    """The same, where ours are judged by what became of others' in their problem, too."""
    others: dict[Key, list[tuple[str, Change]]] = {}
    for one in found:
        if one.cell.role in (Role.VENDOR, Role.PEER):
            others.setdefault(_problem(one), []).append((one.cell.name, one.change))
    return [
        replace(one, change=controlled(one.change, others.get(_problem(one), [])))
        if one.cell.role is Role.OURS
        else one
        for one in found
    ]


def _problem(one: Compared) -> Key:
    work = one.cell.workload
    return one.cell.device, work.suite, work.name, work.arithmetic, work.size, one.cell.memory, one.cell.caches


def _devices(old: Run, new: Run) -> tuple[list[Key], list[Key]]:
    """What each run's devices are called for both: name and order among those of that name.

    Where both runs have one device, it is the same for this purpose, so that its cells are refused and not left out.
    """
    if len(old.devices) == len(new.devices) == 1:
        return [("",)], [("",)]
    return _named(old), _named(new)


def _named(run: Run) -> list[Key]:
    seen: Counter[str] = Counter()
    names: list[Key] = []
    for device in run.devices:
        seen[device.name] += 1
        names.append((device.name, seen[device.name]))
    return names


def _by_key(run: Run, names: list[Key]) -> dict[Key, list[Cell]]:
    """Cells by what they measure, apart from conditions."""
    found: dict[Key, list[Cell]] = {}
    for cell in run.cells:
        work = cell.workload
        key = (*names[cell.device], work.suite, work.name, work.arithmetic, work.size, cell.role, cell.implementation)
        found.setdefault(key, []).append(cell)
    return found


def _pairs(
    before: Mapping[Key, list[Cell]], after: Mapping[Key, list[Cell]], old: Run, new: Run, effect: float, level: float
) -> Iterator[Compared]:
    for key in dict.fromkeys([*before, *after]):
        for one, other in _matched(before.get(key, []), after.get(key, [])):
            if one is None or other is None:
                only = Verdict.OLD_ONLY if other is None else Verdict.NEW_ONLY
                found, run = (one, old) if other is None else (other, new)
                assert found is not None
                yield Compared(device=run.devices[found.device].title, old=one, new=other, change=Change(verdict=only))
                continue
            verdict = _judged(one, other, old, new, effect, level)
            yield Compared(device=new.devices[other.device].title, old=one, new=other, change=verdict)


def _matched(old: list[Cell], new: list[Cell]) -> Iterator[tuple[Cell | None, Cell | None]]:
    """Cells of one thing, those in the same memory, caches and arithmetic with each other, the rest in their order."""
    left = [*new]
    alone = []
    for one in old:
        same = next((other for other in left if _place(other) == _place(one)), None)
        if same is None:
            alone.append(one)
        else:
            left.remove(same)
            yield one, same
    for number in range(max(len(alone), len(left))):
        yield alone[number] if number < len(alone) else None, left[number] if number < len(left) else None


def _place(cell: Cell) -> Key:
    return cell.memory, cell.caches, cell.arithmetic


def _judged(one: Cell, other: Cell, old: Run, new: Run, effect: float, level: float) -> Change:
    differs = next(_differences(one, other, old, new), "")
    if differs:
        return Change(verdict=Verdict.REFUSED, reason=differs)
    if one.status is Status.MEASURED and other.status in NOT_RUN:
        return Change(verdict=Verdict.LOST, reason=f"{other.status.value}: {other.reason}")
    for cell, when in ((one, "then"), (other, "now")):
        if cell.status is not Status.MEASURED:
            return Change(verdict=Verdict.REFUSED, reason=f"{cell.status.value} {when}: {cell.reason}")
    return change(one.samples, other.samples, effect, level)


def _differences(one: Cell, other: Cell, old: Run, new: Run) -> Iterator[str]:
    """What was not the same, in words; only what was told in both files counts."""
    devices = old.devices[one.device], new.devices[other.device]
    machines = [run.machines[device.machine] for run, device in zip((old, new), devices, strict=True)]
    for name in ("name", "platform", "driver", "version", "compiler"):
        yield from _difference(name if name != "name" else "device", *(getattr(device, name) for device in devices))
    for name in ("label", "processor", "cores"):
        yield from _difference(f"machine's {name}", *(getattr(machine, name) for machine in machines))
    yield from _difference("memory", one.memory.value, other.memory.value)
    yield from _difference("caches", one.caches.value, other.caches.value)
    if one.arithmetic != other.arithmetic:
        yield f"arithmetic: {one.arithmetic or 'as asked'} then, {other.arithmetic or 'as asked'} now"
    if old.seed != new.seed:
        yield f"seed of the operands: {old.seed} then, {new.seed} now"
    for name in sorted(old.method.keys() | new.method.keys()):
        yield from _difference(f"method's {name}", old.method.get(name, "none"), new.method.get(name, "none"))
    yield from _clocks(one, other)


def _difference(name: str, old: Any, new: Any) -> Iterator[str]:
    if old != new and old not in ("", None) and new not in ("", None):
        yield f"{name}: {old} then, {new} now"


def _clocks(one: Cell, other: Cell) -> Iterator[str]:
    then, now = core_clock(one.conditions), core_clock(other.conditions)
    if then is not None and now is not None and max(then, now) > (1 + _CLOCKS) * min(then, now):
        yield f"core clock: {then:.4g} MHz then, {now:.4g} now"


def core_clock(conditions: Mapping[str, Any]) -> float | None:
    """The median core clock in MHz, as a number or as least, median and most; None where it was not read."""
    for name in ("core_clock_mhz", "core_clock_mhz_median", "core_clock_mhz.median"):
        value = conditions.get(name)
        if isinstance(value, list | tuple) and len(value) == 3:
            value = value[1]
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return float(value)
    return None


__all__ = ["Compared", "Comparison", "compare", "core_clock"]
