"""Commands that Ctrl-C or SIGTERM ends: one line, which says what is kept, and no traceback."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import click

from portagpu.cli.choices import SuggestingGroup

_KEPT = "portagpu.kept"


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a command as Ctrl-C does."""


def keep_in(path: Path, remark: str = "") -> None:
    """Note the file in which the current command keeps what it measures, for the line that ends an interrupted one."""
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta[_KEPT] = (path, remark)


class InterruptibleGroup(SuggestingGroup):
    """Ends with status 130 after Ctrl-C, as a shell says it, and 143 after SIGTERM."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, click.Abort) as error:
            terminated = isinstance(error, Terminated)
            click.echo(("Terminated" if terminated else "Interrupted") + _kept(ctx), err=True)
            raise click.exceptions.Exit(143 if terminated else 130) from None


class TerminableGroup(SuggestingGroup):
    """SIGTERM ends its commands as Ctrl-C does, so that child processes and temporary folders go with them.

    For commands that wait for their children; one that waits for a driver would not end before that.
    """

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with terminable():
            return super().invoke(ctx)


def _kept(ctx: click.Context) -> str:
    path, remark = ctx.meta.get(_KEPT, (None, ""))
    try:
        is_there = path is not None and path.stat().st_size > 0
    except OSError:
        is_there = False
    return f"; what is measured is kept in {path}{remark}" if is_there else ""


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM raises `Terminated` meanwhile, as Ctrl-C raises `KeyboardInterrupt`."""

    def end(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # another one ends the process at once
        raise Terminated

    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
