"""Kernels of users' files for commands: ``FILE.py:KERNEL``, compile-time values, blocks."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.errors import did_you_mean


def kernel_of(text: str) -> Dispatcher:
    """The kernel that ``FILE.py:NAME`` names; the file is run as a module."""
    path, colon, name = text.rpartition(":")
    if not colon or not name.isidentifier():
        raise click.BadParameter(f"{text!r} names no kernel; write FILE.py:KERNEL")
    module = _module(Path(path))
    found = getattr(module, name, None)
    if not isinstance(found, Dispatcher) or found.is_device_function:
        kernels = [one for one, value in vars(module).items() if isinstance(value, Dispatcher)]
        meant = did_you_mean(name, kernels) or "kernels are decorated with @cuda.jit"
        raise click.BadParameter(f"{path} has no kernel called {name}; {meant.strip()}")
    return found


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise click.BadParameter(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.resolve().parent))  # as for a script, so that it finds its neighbours
    spec.loader.exec_module(module)
    return module


def constant(text: str) -> tuple[str, Any]:
    """``NAME=VALUE`` with a Python literal."""
    name, equals, value = text.partition("=")
    try:
        if not equals:
            raise ValueError("there is no =")
        return name.strip(), ast.literal_eval(value.strip())
    except (ValueError, SyntaxError) as error:
        raise click.BadParameter(f"{text!r} is no NAME=VALUE with a Python literal: {error}") from error


def extents(text: str) -> tuple[int, ...]:
    """A block such as ``16,16``."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is no block; write 256 or 16,16") from error
