"""Kernels that were compiled for hardware that is not there: what `portagpu check` wrote, read with suspicion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from portagpu.bench.reading import read_json
from portagpu.errors import StoreError
from portagpu.escaping import visible

FORMAT = "portagpu check"
VERSION = 1
HEADINGS = ("target", "compiler", "kernel", "case", "status", "registers", "spills", "local memory", "occupancy")
NUMBERS = frozenset(HEADINGS[5:])
_MOST_ROWS = 20_000
_LONGEST = 4000
_HEAD = 4096  # bytes in which such a file says what it is
_LARGEST = 2**48


class Kind(Enum):
    """What a reader wants to know first."""

    FITS = "fits"
    SPILLS = "spills"
    FAILED = "failed"  # no program, or one that breaks what was required


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledRow:
    """A kernel for a target: the texts of `HEADINGS`, and of what tables of many kernels are made.

    ``ok``: it may stay as it is. ``share``: subgroups that a compute unit holds, of the most possible. ``brief``: two
    texts for a cell, which are registers or status, and occupancy or spills.
    """

    ok: bool
    group: str
    target: str
    title: str
    compiler: str
    kernel: str
    signature: str
    case: str
    kind: Kind
    share: float | None
    brief: tuple[str, str]
    texts: tuple[str, ...]

    @property
    def where(self) -> tuple[str, str, str]:
        """Target and compiler."""
        return self.target, self.title, self.compiler


def is_check(path: Path) -> bool:
    """Whether a file says that it is one of a check."""
    try:
        with path.open("rb") as file:
            return f'"{FORMAT}"'.encode() in file.read(_HEAD)
    except OSError:
        return False


def load(path: Path) -> tuple[CompiledRow, ...]:
    """The rows of a file of `portagpu check`. Raises `StoreError` for an unreadable, damaged or newer one."""
    try:
        data = read_json(path)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ValueError("it is none of portagpu check")
        version = data.get("version")
        if isinstance(version, bool) or not isinstance(version, int) or version < 1:
            raise ValueError("its version is no number")
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read: {visible(str(error), 200)}") from error
    if version > VERSION:
        raise StoreError(f"{path} has version {version}; this one reads up to {VERSION}", hint="update PortaGPU")
    try:
        results = data["results"]
        if not isinstance(results, list) or len(results) > _MOST_ROWS:
            raise ValueError(f"its results are no list of at most {_MOST_ROWS}")
        return tuple(map(_row, results))
    except (KeyError, ValueError) as error:
        raise StoreError(f"{path} is damaged: {visible(str(error), 200)}") from error


def _row(result: Any) -> CompiledRow:
    if not isinstance(result, dict):
        raise ValueError("a result is no object")
    ok = result.get("ok")
    if not isinstance(ok, bool):
        raise ValueError("a result's ok is no truth value")
    figures = _object(result, "figures")
    compiler = _object(result, "compiler")
    named = {name: _text(result, name) for name in ("group", "target", "title", "kernel", "signature", "case")}
    if not named["kernel"] and not named["case"]:  # a file without kernels, as one that cannot be imported
        named["kernel"] = Path(_text(result, "file")).name
    named["compiler"] = f"{_text(compiler, 'name')} {_text(compiler, 'version')}".strip()
    texts = (
        f"{named['title']} ({named['target']})",
        named["compiler"] or "-",
        f"{named['kernel']}{named['signature']}",
        named["case"],
        _status(result),
        _count(figures, "registers"),
        _spills(figures),
        _bytes(figures, "local_bytes"),
        _occupancy(figures),
    )
    kind = _kind(result, ok, texts[6])
    return CompiledRow(
        ok=ok, kind=kind, share=_share(figures), brief=_brief(result, figures, kind, texts[6]), texts=texts, **named
    )


def _kind(result: Mapping[str, Any], ok: bool, spills: str) -> Kind:
    if _text(result, "status") == "compiled" and spills not in ("-", "none"):
        return Kind.SPILLS
    return Kind.FITS if ok and _text(result, "status") == "compiled" else Kind.FAILED


def _share(figures: Mapping[str, Any]) -> float | None:
    occupancy, slots = _count(figures, "occupancy"), _count(figures, "slots")
    return min(1.0, int(occupancy) / int(slots)) if occupancy != "-" and slots not in ("-", "0") else None


def _brief(result: Mapping[str, Any], figures: Mapping[str, Any], kind: Kind, spills: str) -> tuple[str, str]:
    registers, occupancy = _count(figures, "registers"), _count(figures, "occupancy")
    if kind is Kind.FAILED and _text(result, "status") != "compiled":
        return _text(result, "status"), ""
    slots = _count(figures, "slots")
    held = "" if occupancy == "-" else f"{occupancy}{f' of {slots}' if slots != '-' else ''}"
    under = {Kind.SPILLS: f"spills {spills}", Kind.FAILED: "not as required", Kind.FITS: held}[kind]
    return registers if registers != "-" else _text(result, "status"), under


def _status(result: Mapping[str, Any]) -> str:
    """The status; the first problem, with its line, where there is one."""
    status = _text(result, "status")
    problems = result.get("problems") or []
    if not isinstance(problems, list):
        raise ValueError("problems are no list")
    if not problems or not isinstance(problems[0], dict):
        return status
    line = _count(problems[0], "line")
    file = _text(problems[0], "file")
    place = f" ({Path(file).name}:{line})" if file and line != "-" else ""
    return f"{status}: {_text(problems[0], 'message')}{place}"


def _spills(figures: Mapping[str, Any]) -> str:
    scratch, spilled = _count(figures, "scratch_bytes"), _count(figures, "spilled")
    if scratch == "-" and spilled == "-":
        return "-"
    known = [f"{spilled} registers"] if spilled not in ("-", "0") else []
    known += [f"{scratch} bytes"] if scratch not in ("-", "0") else []
    return ", ".join(known) or "none"


def _occupancy(figures: Mapping[str, Any]) -> str:
    occupancy, slots, limiter = _count(figures, "occupancy"), _count(figures, "slots"), _text(figures, "limiter")
    if occupancy == "-":
        return "-"
    return f"{occupancy}{f' of {slots}' if slots != '-' else ''}{f' ({limiter})' if limiter else ''}"


def _bytes(figures: Mapping[str, Any], name: str) -> str:
    count = _count(figures, name)
    return count if count in ("-", "0") else f"{count} bytes"


def _object(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = values.get(name)
    if found is not None and not isinstance(found, dict):
        raise ValueError(f"{name} is no object")
    return found or {}


def _text(values: Mapping[str, Any], name: str) -> str:
    """A text; "" for null and where there is none."""
    found = values.get(name)
    if found is None:
        return ""
    if not isinstance(found, str) or len(found) > _LONGEST:
        raise ValueError(f"{name} is no text of bearable length")
    return found


def _count(values: Mapping[str, Any], name: str) -> str:
    """A number as text; "-" for null and where there is none."""
    found = values.get(name)
    if found is None:
        return "-"
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found < _LARGEST:
        raise ValueError(f"{name} is no number")
    return str(found)


__all__ = ["HEADINGS", "NUMBERS", "CompiledRow", "Kind", "is_check", "load"]
