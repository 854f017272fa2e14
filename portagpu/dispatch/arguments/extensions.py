"""Extensions of `cuda.jit`: objects that convert arguments of other libraries to kernel arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from portagpu.dispatch.arguments.typeof import typeof
from portagpu.errors import PortaGPUError
from portagpu.runtime.execution.stream import Stream


def extend(
    extensions: tuple[Any, ...], args: tuple[Any, ...], stream: Stream
) -> tuple[tuple[Any, ...], list[Callable[[], None]]]:
    """The arguments after each extension's ``prepare_args(type, value, stream, retr)``, the last extension first.

    Also what the extensions appended to ``retr``: functions to call after the launch.
    """
    retr: list[Callable[[], None]] = []
    result = []
    for value in args:
        kind: Any = _type_of(value)
        for extension in reversed(extensions):
            kind, value = extension.prepare_args(kind, value, stream=stream, retr=retr)
        result.append(value)
    return tuple(result), retr


def _type_of(value: Any) -> Any:
    """The argument's type; None for what kernels cannot take by themselves."""
    try:
        return typeof(value)
    except PortaGPUError:
        return None
