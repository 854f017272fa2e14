"""Output of commands: a console without trailing blanks, apart from prints of users' files."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator
from typing import IO, Any, cast

from rich.console import Console

_BLANKS = re.compile(r"[ \t]+((?:\x1b\[[0-9;]*m)*)(?=\r?\n)")  # before the end of a line, colours' codes aside


class _Trimmed:
    """A stream whose lines end with their last character: tables and paragraphs are padded to a terminal's width."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write it without the blanks that are before ends of lines."""
        self._stream.write(_BLANKS.sub(r"\1", text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def console(*, stderr: bool = False) -> Console:
    """A console on the process's present output."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(file=cast("IO[str]", _Trimmed(stream)))


@contextlib.contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """Send what is printed meanwhile to the error output, by programs that are started, too."""
    sys.stdout.flush()
    kept = None
    with contextlib.suppress(OSError, ValueError, AttributeError):  # an output that is no file: of a test, a notebook
        number = sys.stdout.fileno()
        kept = os.dup(number)
        os.dup2(sys.stderr.fileno(), number)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        if kept is not None:
            sys.stdout.flush()  # what somebody printed by a reference to it
            os.dup2(kept, number)
            os.close(kept)
