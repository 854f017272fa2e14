"""Numbers of devices that stay when a driver fails: those of an absent platform are kept for it, not given to others.

Numbers are remembered for the set of drivers that are installed: another set is another machine. Where a platform is
new, or shows another number of devices (a card less, or a variable that hides some), all are numbered anew, in the
driver's order.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from portagpu.backends.opencl.drivers.records import DriverRecord
from portagpu.private_files import read_private_json, write_private

_SCHEMA = 1
_MOST = 10_000  # devices: a file with more is not ours
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """``present``: the number of each device, in the order in which they were given; ``absent``: names by number."""

    present: tuple[int, ...]
    absent: dict[int, str]


def memory_of(drivers: Iterable[DriverRecord], cache_dir: Path) -> Path:
    """The file of the numbers for this set of drivers."""
    names = "|".join(sorted({driver.library for driver in drivers}))
    digest = hashlib.sha256(f"{_SCHEMA}|{names}".encode()).hexdigest()[:24]
    return cache_dir / "numbers" / f"{digest}.json"


def numbered(platforms: Sequence[tuple[str, Sequence[str]]], memory: Path, *, anew: bool = False) -> Numbered:
    """Number the devices of platforms (a name, and names of devices), and remember that. ``anew`` forgets first."""
    seen: Counter[str] = Counter()
    listed: dict[str, list[str]] = {}
    for name, devices in platforms:
        listed[f"{name}|{seen[name]}"] = list(devices)
        seen[name] += 1
    known = {} if anew else _read(memory)
    if anew or any(len(known.get(key, {})) != len(devices) for key, devices in listed.items()):
        number = itertools.count()
        known = {key: {next(number): name for name in devices} for key, devices in listed.items()}
        _write(memory, known)
    absent = {
        number: f"{name} ({key.rpartition('|')[0]})"
        for key, one in known.items()
        if key not in listed
        for number, name in one.items()
    }
    return Numbered(present=tuple(number for key in listed for number in known[key]), absent=absent)


def _read(memory: Path) -> dict[str, dict[int, str]]:
    """The remembered numbers; none where the file is missing, damaged or of another version."""
    found = read_private_json(memory)
    if found is None or found.get("schema") != _SCHEMA:
        return {}
    try:
        numbers = {
            str(key): {int(number): str(name) for number, name in one.items()}
            for key, one in found["platforms"].items()
        }
    except (AttributeError, KeyError, TypeError, ValueError):
        return {}
    every = sorted(number for one in numbers.values() for number in one)
    return numbers if len(every) <= _MOST and every == list(range(len(every))) else {}


def _write(memory: Path, numbers: dict[str, dict[int, str]]) -> None:
    try:
        write_private(memory, json.dumps({"schema": _SCHEMA, "platforms": numbers}, indent=1).encode())
    except OSError as error:
        _logger.debug("numbers of devices not remembered: %s", error)
