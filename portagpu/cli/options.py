"""Kinds of options that several commands share: times, and files to be written."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from portagpu.errors import StoreError

F = TypeVar("F", bound=Callable[..., Any])
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def _seconds(ctx: click.Context, param: click.Parameter, value: str) -> float:
    """A time such as ``60s``, ``2m`` or ``90``, in seconds."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|)", value.strip())
    if not found or float(found.group(1)) <= 0:
        raise click.BadParameter(f"{value!r} is no time; write 60s, 2m or 1h", ctx, param)
    return float(found.group(1)) * _UNITS[found.group(2)]


time_option = partial(click.option, callback=_seconds, metavar="TIME", show_default=True)


def with_options(
    command: F, collect: Callable[..., Any], options: Sequence[Callable[[Callable[..., Any]], Callable[..., Any]]]
) -> F:
    """``collect``, which gets the options' values and calls the command, in the command's place, with these options."""
    collect.__name__, collect.__doc__ = command.__name__, command.__doc__
    collect.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    for option in reversed(options):
        collect = option(collect)
    return collect  # type: ignore[return-value]


def refuse_options(ctx: click.Context) -> None:
    """Options before the name of a subcommand would be lost without a word."""
    if given(ctx):
        raise click.UsageError(f"write options behind {ctx.invoked_subcommand!r}, not before it", ctx)


def given(ctx: click.Context, *, but: Collection[str] = ()) -> list[str]:
    """The options of the command line, as users write them; ``but`` names parameters that do not count."""
    parameters = (p for p in ctx.command.params if isinstance(p, click.Option) and p.name and p.name not in but)
    return [p.opts[-1] for p in parameters if ctx.get_parameter_source(p.name or "") is ParameterSource.COMMANDLINE]


def check_writable(path: Path, option: str = "-o") -> None:
    """Create the folder of a file to be written, before the work for it starts. Raises `StoreError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError("it is a folder")
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error}", hint=f"name another file with {option}") from error
