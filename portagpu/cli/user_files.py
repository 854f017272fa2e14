"""What a user's file holds by name: ``FILE.py:NAME``."""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from portagpu.errors import PortaGPUError, did_you_mean
from portagpu.tuning.tunables.user_faults import with_place


def load(text: str) -> tuple[ModuleType, str]:
    """The module that ``FILE.py:NAME`` names, run as such, and the name.

    Raises `click.BadParameter`, `click.ClickException` with what the file raises, errors of ours as they are.
    """
    path, colon, name = text.rpartition(":")
    if not colon or not name.isidentifier():
        raise click.BadParameter(f"{text!r} names no kernel; write FILE.py:KERNEL")
    try:
        return module(Path(path)), name
    except (click.ClickException, PortaGPUError):
        raise
    except SyntaxError as error:
        raise click.ClickException(f"{path} is no Python: {error}") from error
    except (Exception, SystemExit) as error:
        raise click.ClickException(
            with_place(f"{path} cannot be run: {type(error).__name__}: {error}", error)
        ) from error


def member(found: ModuleType, name: str) -> Any:
    """What a module calls by a name. Raises `click.BadParameter`, with a name that is like it."""
    if not hasattr(found, name):
        named = vars(found).items()
        known = [one for one, value in named if not one.startswith("_") and not isinstance(value, ModuleType)]
        raise click.BadParameter(f"{found.__file__} has no {name}; {did_you_mean(name, known)}".rstrip("; "))
    return getattr(found, name)


def module(path: Path) -> ModuleType:
    """A file, run as a module of its package, if it is in one. Raises `click.BadParameter` where it is no Python
    file, and what it raises."""
    place = path.resolve()
    root, names = place.parent, [place.stem]
    while (root / "__init__.py").is_file() and root.name.isidentifier() and root != root.parent:
        root, names = root.parent, [root.name, *names]
    folder = str(root)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # as for a script, so that it finds its neighbours
    if len(names) > 1 and place.is_file():  # what it imports relatively is found by its package
        return _of_package(".".join(names), place, folder)
    name = _free_name(place)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise click.BadParameter(f"{path} is no Python file")
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    try:
        spec.loader.exec_module(made)
    except BaseException:
        del sys.modules[name]
        raise
    return made


def _of_package(name: str, place: Path, folder: str) -> ModuleType:
    """A module by its package's name: of this folder, though another one may have a package that is called the same."""
    made = importlib.import_module(name)
    if Path(made.__file__ or "").resolve() == place:
        return made
    package = name.partition(".")[0]
    for known in [one for one in sys.modules if one == package or one.startswith(f"{package}.")]:
        del sys.modules[known]
    sys.path.insert(0, folder)
    importlib.invalidate_caches()
    return importlib.import_module(name)


def _free_name(place: Path) -> str:
    """A file's own name, unless another module has it: a user's ``json.py`` is not in the place of Python's."""
    known = sys.modules.get(place.stem)
    if known is None and place.stem not in sys.stdlib_module_names:
        return place.stem
    if known is not None and getattr(known, "__file__", None) in (str(place), os.path.relpath(place)):
        return place.stem
    return f"{place.stem}_{hashlib.sha256(str(place).encode()).hexdigest()[:8]}"


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
