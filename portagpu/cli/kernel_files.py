"""Kernels of users' files for commands that compile them: ``FILE.py:KERNEL``, all of ``FILE.py``, all of a folder's."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import click

from portagpu.cli.user_files import module
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.errors import did_you_mean
from portagpu.files import is_file, is_folder
from portagpu.source import Span, line_span

_LEFT_OUT = frozenset({"__pycache__", "node_modules", "site-packages", "build", "dist"})


@dataclass(frozen=True, slots=True)
class Chosen:
    """A kernel of a file. ``is_named``: by the command line, else it was found there."""

    name: str
    kernel: Dispatcher
    is_named: bool


@dataclass(frozen=True, slots=True)
class Broken:
    """A file that cannot be run. ``span``: the line where it ended, if that is known."""

    path: Path
    message: str
    span: Span | None
    hint: str | None = None


def chosen(texts: Iterable[str]) -> list[Chosen | Broken]:
    """What command line arguments name, each once. Raises `click.BadParameter`."""
    loaded: dict[Path, ModuleType | Broken] = {}
    found: dict[tuple[Path, str], Chosen | Broken] = {}
    for text in texts:
        name, paths = _paths(text)
        for path in paths:
            place = path.resolve()
            if place not in loaded:
                loaded[place] = _loaded(path)
            made = loaded[place]
            if isinstance(made, Broken):
                found[place, ""] = made
                continue
            names = [name] if name else _own_kernels(made, place)
            if not names and not is_folder(text):
                raise click.BadParameter(f"{path} has no kernel; kernels are decorated with @cuda.jit")
            for one in names:
                found.setdefault((place, one), Chosen(one, _kernel(made, one), bool(name)))
    if not found:
        raise click.BadParameter(f"no file of {', '.join(texts)} has a kernel; kernels are decorated with @cuda.jit")
    return list(found.values())


def _paths(text: str) -> tuple[str, list[Path]]:
    """The kernel's name, or "" for all, and the files."""
    if is_folder(text):
        return "", sorted(_with_kernels(Path(text)))
    path, colon, name = text.rpartition(":")
    if colon and name.isidentifier():
        return name, [_file(Path(path))]
    if Path(text).suffix == ".py" or is_file(text):
        return "", [_file(Path(text))]
    raise click.BadParameter(f"{text!r} names no kernel; write FILE.py:KERNEL, FILE.py or a folder")


def _file(path: Path) -> Path:
    if not is_file(path):
        raise click.BadParameter(f"{path} is no Python file")
    return path


def _with_kernels(folder: Path) -> Iterator[Path]:
    """The files below a folder whose text speaks of kernels: others are not run."""
    for path in folder.rglob("*.py"):
        parts = path.relative_to(folder).parts
        if _LEFT_OUT.isdisjoint(parts) and not any(part.startswith(".") for part in parts):
            text = path.read_bytes()
            if b"cuda.jit" in text or (b"import" in text and b"@jit" in text and b"portagpu" in text):
                yield path


def _loaded(path: Path) -> ModuleType | Broken:
    try:
        return module(path)
    except click.BadParameter:
        raise
    except (Exception, SystemExit) as error:  # whatever a user's file does when it is run
        said = error.msg if isinstance(error, SyntaxError) else getattr(error, "message", None) or error
        message = f"{path} cannot be imported: {type(error).__name__}: {said}".rstrip(": ")
        return Broken(path, message, _place(error, path), getattr(error, "hint", None))


def _place(error: BaseException, path: Path) -> Span | None:
    """Where a file ended: the line of the kernel that is wrong, of the syntax error, or the last one that ran."""
    span = getattr(error, "span", None)
    if isinstance(span, Span):
        return span
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return line_span(error.filename, error.lineno)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).resolve() == path.resolve()]
    return line_span(frames[-1].filename, frames[-1].lineno or 1) if frames else None


def _own_kernels(made: ModuleType, place: Path) -> list[str]:
    """The kernels that a module defines, not those that it imports, in the order of its text."""
    found = {
        name: value.py_func.__code__.co_firstlineno
        for name, value in vars(made).items()
        if isinstance(value, Dispatcher)
        and not value.is_device_function
        and Path(value.py_func.__code__.co_filename).resolve() == place
    }
    return sorted(found, key=lambda name: found[name])


def _kernel(made: ModuleType, name: str) -> Dispatcher:
    found = getattr(made, name, None)
    if not isinstance(found, Dispatcher) or found.is_device_function:
        kernels = [
            one for one, value in vars(made).items() if isinstance(value, Dispatcher) and not value.is_device_function
        ]
        known = f"its kernels are {', '.join(kernels)}" if kernels else "kernels are decorated with @cuda.jit"
        meant = did_you_mean(name, kernels) + known
        what = "is a device function" if isinstance(found, Dispatcher) else f"has no kernel called {name}"
        subject = f"{name} of {made.__file__}" if isinstance(found, Dispatcher) else str(made.__file__)
        raise click.BadParameter(f"{subject} {what}; {meant}")
    return found
