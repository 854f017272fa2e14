"""Faults of a user's own checks, and of arguments: what raises in a trial's process ends the search; it says nothing of
the point."""

from __future__ import annotations

import importlib
import runpy
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from portagpu.backends.registry import loaded
from portagpu.errors import DeviceError, PortaGPUError, TuningError
from portagpu.tuning.tunables.outcomes import shortened

_PACKAGE = Path(__file__).parents[2]
_LOADERS = frozenset({runpy.__file__, importlib.__file__})  # which run a user's file
_LONGEST = 4000  # characters of a reason
_LONGEST_VALUE = 200  # of what a check returned
_MOST_ARGUMENTS = 16  # of an exception that is made again in the tuner's process
_MOST_BITS = 1024  # of an integer among them: Python writes no text of very long ones


class CheckFault(Exception):
    """A user's check raised, or returned nonsense, or what is to be checked cannot be made or compared; goes to the
    tuner's process as JSON values."""

    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__(values["message"])
        self.values = values


def words_of(error: BaseException) -> str:
    """What an exception says, cut where it is very long; the name of its type where its ``__str__`` raises."""
    return _written(lambda: str(error), type(error).__name__)


def _written(write: Callable[[], str], otherwise: str) -> str:
    """A text that a user's method writes, or another one where that raises."""
    try:
        return shortened(write(), _LONGEST)
    except Exception:
        return otherwise


def blamed(error: BaseException) -> tuple[str, int] | None:
    """File and line of the deepest call in the user's file; None where there is none."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [f for f in frames if _is_users(f.filename)]
    lines = [f.lineno for f in theirs if f.filename == theirs[0].filename]
    return (theirs[0].filename, lines[-1] or 0) if theirs else None


def with_place(text: str, error: BaseException) -> str:
    """A text with the user's line that raised, where there is one."""
    return _at(text, blamed(error))


def _is_users(file: str) -> bool:
    return file not in _LOADERS and Path(file).is_file() and not Path(file).is_relative_to(_PACKAGE)


def finding(what: str, function: Callable[..., object], *arguments: object, launches: bool) -> str | None:
    """What a user's check says: None for right results, or what is wrong. A failed ``assert`` says that, too.

    ``launches``: whether it launches the candidate, so that errors of ours are the candidate's. Errors of the device
    may always be. Raises those, and `CheckFault` for anything else that the check raises, or for what is no answer.
    """
    name = getattr(function, "__qualname__", None) or _written(lambda: repr(function), type(function).__name__)
    try:
        found = function(*arguments)
    except AssertionError as error:
        return shortened(f"{name}: {words_of(error).strip() or 'an assertion failed'}", _LONGEST)
    except Exception as error:
        if isinstance(error, (DeviceError, *(kind for backend in loaded() for kind in backend.errors))) or (
            launches and isinstance(error, PortaGPUError)
        ):
            raise
        place = blamed(error) or _defined(function)
        text = f"the {what} function {name} raised {type(error).__name__}: {words_of(error)}"
        raise CheckFault({"message": _at(text, place), **_original(error)}) from error
    if found is None or isinstance(found, str):
        return found
    value = shortened(_written(lambda: repr(found), f"a {type(found).__name__}"), _LONGEST_VALUE)
    raise CheckFault({"message": _at(f"the {what} function {name} returned {value}", _defined(function))})


def fault(what: str, error: BaseException, *, hint: str) -> CheckFault:
    """The fault that an exception makes of something that has to do with no point; errors of ours tell their place."""
    place = None if isinstance(error, PortaGPUError) else blamed(error)
    text = f"{what}: {type(error).__name__}: {words_of(error)}"
    return CheckFault({"message": _at(text, place), "hint": hint, **_original(error)})


def raised(values: dict[str, Any], tunable: str, point: str) -> TuningError:
    """The error for a fault's values, in the tuner's process; its cause is what the check raised, or stands for it."""
    error = TuningError(
        values["message"] if "hint" in values else f"{values['message']} for {point}",
        hint=values.get("hint")
        or f"a check of {tunable} returns None for right results, else a text: what is wrong; nothing was stored for"
        " this point",
    )
    if "type" in values:
        error.__cause__ = _rebuilt(values)
    return error


def _at(text: str, place: tuple[str, int] | None) -> str:
    return shortened(text, _LONGEST) + ("" if place is None else f" ({place[0]}:{place[1]})")


def _defined(function: Callable[..., object]) -> tuple[str, int] | None:
    """Where a function's text begins."""
    code = getattr(function, "__code__", None)
    return None if code is None else (code.co_filename, code.co_firstlineno)


def _original(error: BaseException) -> dict[str, Any]:
    simple = len(error.args) <= _MOST_ARGUMENTS and all(map(_is_simple, error.args))
    arguments = [shortened(value, _LONGEST) if isinstance(value, str) else value for value in error.args]
    return {
        "module": type(error).__module__,
        "type": type(error).__qualname__,
        "args": arguments if simple else None,
        "text": words_of(error),
        "trace": shortened("".join(traceback.format_exception(error)), _LONGEST),
    }


def _is_simple(value: object) -> bool:
    """Whether JSON has the value."""
    if isinstance(value, int):
        return value.bit_length() <= _MOST_BITS
    return value is None or isinstance(value, str | float)


def _rebuilt(values: dict[str, Any]) -> BaseException:
    """The exception of the other process, where its type is known here; its own cause shows the traceback there."""
    kind = getattr(sys.modules.get(values["module"]), values["type"], None)
    made: BaseException | None = None
    if isinstance(kind, type) and issubclass(kind, Exception) and values["args"] is not None:
        try:
            made = kind(*values["args"])
        except Exception:  # a type of the user's, whose arguments are others
            made = None
    if not isinstance(made, BaseException):
        made = RuntimeError(f"{values['type']}: {values['text']}")
    made.__cause__ = RuntimeError(f"in the process that runs trials:\n{values['trace']}")
    return made
