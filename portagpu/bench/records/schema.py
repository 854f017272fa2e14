"""The published JSON Schema of result files, and the check of a file's content against it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import fastjsonschema

VERSION = 4
"""4: machines, devices and cells of every suite; 3 and less held products of matrices beside one peer."""

IDENTITY = f"urn:portagpu:benchmark-run:{VERSION}"
"""What files name as their ``$schema``; the schema itself is in the documents and beside this module."""

PATH = Path(__file__).with_name(f"run-{VERSION}.schema.json")


@cache
def _validate() -> Callable[[Any], Any]:
    """The check, made from the schema once."""
    found: Callable[[Any], Any] = fastjsonschema.compile(json.loads(text()))
    return found


def text() -> str:
    """The schema as it is published."""
    return PATH.read_text(encoding="utf-8")


def check(data: Any) -> None:
    """Raise ValueError for what is no run, with the place in it."""
    try:
        _validate()(data)
    except fastjsonschema.JsonSchemaValueException as error:
        raise ValueError(str(error.message).replace("data.", "", 1)) from error
    _check_indices("devices", "machine", data["devices"], len(data["machines"]))
    _check_indices("cells", "device", data["cells"], len(data["devices"]))


def _check_indices(kind: str, name: str, entries: list[dict[str, Any]], count: int) -> None:
    for number, entry in enumerate(entries):
        if entry[name] >= count:
            raise ValueError(f"{kind}[{number}].{name} is {entry[name]}, and there are {count}")


__all__ = ["IDENTITY", "PATH", "VERSION", "check", "text"]
