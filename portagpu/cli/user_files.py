"""What a user's file holds by name: ``FILE.py:NAME``."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from portagpu.errors import did_you_mean


def load(text: str) -> tuple[ModuleType, str]:
    """The module that ``FILE.py:NAME`` names, run as such, and the name. Raises `click.BadParameter`."""
    path, colon, name = text.rpartition(":")
    if not colon or not name.isidentifier():
        raise click.BadParameter(f"{text!r} names no kernel; write FILE.py:KERNEL")
    return module(Path(path)), name


def member(found: ModuleType, name: str) -> Any:
    """What a module calls by a name. Raises `click.BadParameter`, with a name that is like it."""
    if not hasattr(found, name):
        known = [one for one in vars(found) if not one.startswith("_")]
        raise click.BadParameter(f"{found.__file__} has no {name}; {did_you_mean(name, known)}".rstrip("; "))
    return getattr(found, name)


def module(path: Path) -> ModuleType:
    """A file, run as a module. Raises `click.BadParameter` where it is no Python file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise click.BadParameter(f"{path} is no Python file")
    made = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = made
    sys.path.insert(0, str(path.resolve().parent))  # as for a script, so that it finds its neighbours
    spec.loader.exec_module(made)
    return made


def constant(text: str) -> tuple[str, Any]:
    """``NAME=VALUE`` with a Python literal. Raises `click.BadParameter`."""
    name, equals, value = text.partition("=")
    try:
        if not equals:
            raise ValueError("there is no =")
        return name.strip(), ast.literal_eval(value.strip())
    except (ValueError, SyntaxError) as error:
        raise click.BadParameter(f"{text!r} is no NAME=VALUE with a Python literal: {error}") from error


def extents(text: str) -> tuple[int, ...]:
    """Threads of a block, as ``256`` or ``16,16``. Raises `click.BadParameter`."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is no block; write 256 or 16,16") from error


__all__ = ["constant", "extents", "load", "member", "module"]
