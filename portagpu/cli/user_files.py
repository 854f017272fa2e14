"""What a user's file holds by name: ``FILE.py:NAME``."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from portagpu.errors import PortaGPUError, did_you_mean
from portagpu.tuning.tunables.user_faults import with_place


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
    """A file, run as a module. Raises `click.BadParameter` where it is no Python file, `click.ClickException` with what
    it raises, errors of ours as they are."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise click.BadParameter(f"{path} is no Python file")
    made = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = made
    sys.path.insert(0, str(path.resolve().parent))  # as for a script, so that it finds its neighbours
    try:
        spec.loader.exec_module(made)
    except PortaGPUError:
        raise
    except SyntaxError as error:
        raise click.ClickException(f"{path} is no Python: {error}") from error
    except (Exception, SystemExit) as error:
        raise click.ClickException(
            with_place(f"{path} cannot be run: {type(error).__name__}: {error}", error)
        ) from error
    return made


def constant(text: str) -> tuple[str, Any]:
    """``NAME=VALUE`` with a Python literal. Raises `click.BadParameter`."""
    name, equals, value = text.partition("=")
    try:
        if not equals:
            raise ValueError
        return name.strip(), ast.literal_eval(value.strip())
    except (ValueError, SyntaxError) as error:
        why = "write texts as NAME='text'" if equals else "there is no ="
        raise click.BadParameter(f"{text!r} is no NAME=VALUE with a Python literal: {why}") from error


def extents(text: str) -> tuple[int, ...]:
    """Threads of a block, as ``256`` or ``16,16``. Raises `click.BadParameter`."""
    try:
        found = tuple(int(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not 1 <= len(found) <= 3 or min(found) < 1:
        raise click.BadParameter(f"{text!r} is no block; write 256 or 16,16")
    return found


__all__ = ["constant", "extents", "load", "member", "module"]
