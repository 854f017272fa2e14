"""Short names of devices that tell them apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from portagpu.bench.records.run import Device, Machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A device, its machine, and the files that tell of it."""

    device: Device
    machine: Machine
    files: tuple[str, ...]


def short_titles(origins: Sequence[Origin]) -> list[str]:
    """A name for each: its device's, and as much more as tells it from others of that name."""
    titles = [origin.device.name for origin in origins]
    for detail in (_driver, _label, _processor, _files):
        several = {title for title, count in Counter(titles).items() if count > 1}
        for title in several:
            same = [number for number, found in enumerate(titles) if found == title]
            details = [detail(origins[number]) for number in same]
            if len(set(details)) > 1 and all(details):
                for number, text in zip(same, details, strict=True):
                    titles[number] = f"{title} {text}"
    counts, seen = Counter(titles), Counter[str]()
    for number, title in enumerate(titles):
        if counts[title] > 1:
            seen[title] += 1
            titles[number] = f"{title} #{seen[title]}"
    return titles


def _driver(origin: Origin) -> str:
    driver = f"{origin.device.platform} {origin.device.driver}".strip()
    return f"({driver})" if driver else ""


def _label(origin: Origin) -> str:
    return f"of {origin.machine.label}" if origin.machine.label else ""


def _processor(origin: Origin) -> str:
    return f"beside {origin.machine.processor}" if origin.machine.processor else ""


def _files(origin: Origin) -> str:
    names = origin.files[:3]
    return f"of {', '.join(names)}{' ...' if len(origin.files) > 3 else ''}" if names else ""


__all__ = ["Origin", "short_titles"]
