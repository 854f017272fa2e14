"""Result files of anybody, read with suspicion: what is no number, no text or too large is refused with ValueError."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from portagpu.escaping import LIMIT, visible

_MOST_BYTES = 1 << 28
_MOST_SAMPLES = 10**6  # of a cell: a run of hours has some thousand
_SHORTEST, _LONGEST = 1e-12, 1e7  # seconds
_LARGEST = 1e18  # of any number in a file: what a machine can do is far below
_SIZES = ("m", "n", "k", "batch")
_SPEEDS = ("gflops", "peer_gflops", "error", "peer_error")
_TEXTS = ("device", "driver", "dtype", "memory", "peer", "out", "precision", "peer_arithmetic")


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object with a schema that a file holds. Raises OSError, or ValueError with the reason."""
    data = read_json(path)
    check_object(data)
    found: dict[str, Any] = data
    return found


def read_json(path: Path) -> Any:
    """What a file holds as JSON. Raises OSError, or ValueError with the reason."""
    if not path.is_file():
        raise ValueError("it is no regular file")
    if path.stat().st_size > _MOST_BYTES:
        raise ValueError(f"it is larger than {_MOST_BYTES >> 20} MiB")
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError("it is no UTF-8 text") from error
    try:
        return json.loads(text, parse_constant=_refused)
    except RecursionError as error:
        raise ValueError("its JSON is nested too deeply") from error


def _refused(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def check_object(data: object) -> None:
    """Raise ValueError for JSON that is no result file of any kind."""
    if not isinstance(data, dict):
        raise ValueError(f"it has a JSON {'array' if isinstance(data, list) else 'value'}, not an object")
    if "schema" not in data:
        raise ValueError("it names no schema")
    if isinstance(data["schema"], bool) or not isinstance(data["schema"], int) or not 0 < data["schema"] < 10**6:
        raise ValueError("its schema is no version number")


def check_machine(facts: Any) -> dict[str, str]:
    """The facts about a machine, texts by name."""
    if not isinstance(facts, dict):
        raise ValueError("the machine is no object")
    for name, fact in facts.items():
        check_text(f"machine's {visible(name, 40)}", fact)
    return facts


def check_cell(values: Any) -> None:
    """Raise ValueError or KeyError for values that are no cell."""
    if not isinstance(values, dict):
        raise ValueError("a cell is no object")
    for name in _SIZES:
        if name != "batch" or name in values:
            check_size(name, values[name])
    for name in _SPEEDS:
        if values.get(name) is not None:
            check_number(name, values[name])
    for name in _TEXTS:
        if name in values:
            check_text(name, values[name])
    if values.get("problem") is not None:
        check_text("problem", values["problem"])


def check_samples(name: str, value: Any) -> tuple[tuple[float, ...], ...]:
    """Seconds of each repetition, round by round."""
    if not isinstance(value, list) or not all(isinstance(turn, list) and turn for turn in value):
        raise ValueError(f"{name} are no lists of a round's seconds")
    if sum(map(len, value)) > _MOST_SAMPLES:
        raise ValueError(f"{name} are more than {_MOST_SAMPLES}")
    return tuple(tuple(check_seconds(name, seconds) for seconds in turn) for turn in value)


def check_seconds(name: str, value: Any) -> float:
    """A time that a call can take."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not _SHORTEST <= value <= _LONGEST:
        raise ValueError(f"{name} hold what is no time in seconds")
    return float(value)


def check_size(name: str, value: Any) -> int:
    """A number of elements, at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**48:
        raise ValueError(f"{name} is no size")
    return value


def check_number(name: str, value: Any) -> float:
    """A finite number from 0 on."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LARGEST:
        raise ValueError(f"{name} is no finite number from 0 on")
    if not math.isfinite(value):
        raise ValueError(f"{name} is not finite")
    return float(value)


def check_text(name: str, value: Any) -> str:
    """A text of bearable length."""
    if not isinstance(value, str):
        raise ValueError(f"{name} is no text")
    if len(value) > LIMIT:
        raise ValueError(f"{name} has {len(value)} characters")
    return value


__all__ = [
    "check_cell",
    "check_machine",
    "check_number",
    "check_object",
    "check_samples",
    "check_seconds",
    "check_size",
    "check_text",
]
__all__ += ["read_json", "read_object"]
