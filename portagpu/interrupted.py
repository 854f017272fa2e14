"""Ctrl-C while the command's modules are imported: one line, as later."""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType


def is_command(original: list[str], program: str) -> bool:
    """Whether this process is the command (``portagpu``, ``python -m portagpu``) and not a user's program."""
    as_module = any(original[place : place + 2] == ["-m", "portagpu"] for place in range(1, len(original) - 1))
    return Path(program).stem == "portagpu" or (program in ("-m", "") and as_module)


def guard() -> None:
    """In the command's own process, let an interruption that nobody handles end it in one line."""
    if not is_command(list(sys.orig_argv), sys.argv[0] if sys.argv else ""):
        return
    usual = sys.excepthook

    def end(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):  # the interpreter then ends by the signal, which a shell calls 130
            print("Interrupted", file=sys.stderr)
        else:
            usual(kind, error, traceback)

    sys.excepthook = end
