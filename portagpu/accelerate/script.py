"""A user's script or module run as Python itself runs it, with NumPy accelerated to the end of the process.

What a script sees is what ``python script.py`` would show it: ``__main__``, `sys.argv`, `sys.path`, tracebacks that
begin in it, the status of the process.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any

from portagpu.accelerate.acceleration import Acceleration


def run_script(path: str, arguments: Sequence[str], block: Acceleration, at_end: Callable[[], None]) -> None:
    """Run a file as ``python path arguments`` would. ``at_end``: called last of all that the process does.

    Raises `OSError` where the file cannot be read; then nothing has run.
    """
    name = str(Path.cwd() / path)
    with io.open_code(name) as file:
        text = file.read()
    _set_arguments(path, arguments, Path(path).resolve().parent)
    main = _main_module(name, importlib.machinery.SourceFileLoader("__main__", name), None)
    _until_the_end(block, at_end, main, lambda: compile(text, name, "exec", dont_inherit=True))


def run_module(name: str, arguments: Sequence[str], block: Acceleration, at_end: Callable[[], None]) -> None:
    """Run a module as ``python -m name arguments`` would; see `run_script`.

    Raises `ImportError` where there is none.
    """
    _set_arguments(name, arguments, Path.cwd())
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = importlib.util.find_spec(f"{name}.__main__")
    loader: Any = None if spec is None else spec.loader
    if spec is None or loader is None:
        raise ImportError(f"No module named {name} can be run")
    sys.argv[0] = str(spec.origin)
    _until_the_end(block, at_end, _main_module(sys.argv[0], loader, spec), lambda: loader.get_code(spec.name))


def _set_arguments(program: str, arguments: Sequence[str], folder: Path) -> None:
    sys.argv[:] = [program, *arguments]
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = str(folder)  # in place of that of `python -m portagpu.accelerate`


def _main_module(file: str, loader: Any, spec: importlib.machinery.ModuleSpec | None) -> ModuleType:
    """A new ``__main__`` with what Python gives it."""
    main = ModuleType("__main__")
    vars(main).update(
        __file__=file,
        __cached__=spec and spec.cached,
        __loader__=loader,
        __spec__=spec,
        __package__=spec and spec.parent,
        __builtins__=builtins,
        __annotations__={},
    )
    sys.modules["__main__"] = main
    return main


def _until_the_end(
    block: Acceleration, at_end: Callable[[], None], main: ModuleType, code: Callable[[], CodeType]
) -> None:
    """Run a program's code within the block, which ends when its threads and exit functions have ended."""
    interruptions: list[KeyboardInterrupt] = []

    def end() -> None:
        block.__exit__(None, None, None)
        at_end()
        if interruptions:
            _end_by_interruption()

    atexit.register(end)  # before the script registers anything: the last to be called
    block.__enter__()
    try:
        exec(code(), vars(main))
    except SystemExit:
        raise
    except BaseException as error:
        _show(error)
        if isinstance(error, KeyboardInterrupt):
            interruptions.append(error)
        raise SystemExit(1) from None


def _show(error: BaseException) -> None:
    """What Python does with an exception that nobody handles, whose traceback begins in the script."""
    traceback: TracebackType | None = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    error.__traceback__ = traceback
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, traceback
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    sys.excepthook(type(error), error, traceback)


def _end_by_interruption() -> None:
    """End by the signal of Ctrl-C, as Python does, so that a shell knows."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)
