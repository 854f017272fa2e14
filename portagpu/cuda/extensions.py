"""Extensions of `cuda.jit`: objects that turn arguments of other libraries into what kernels take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from portagpu.cuda.typeof import typeof
from portagpu.runtime.stream import Stream


def extend(
    extensions: tuple[Any, ...], args: tuple[Any, ...], stream: Stream
) -> tuple[tuple[Any, ...], list[Callable[[], None]]]:
    """The arguments after each extension's ``prepare_args(type, value, stream, retr)``, the last extension first.

    Also what the extensions appended to ``retr``: functions to call after the launch.
    """
    retr: list[Callable[[], None]] = []
    result = []
    for value in args:
        kind: Any = typeof(value)
        for extension in reversed(extensions):
            kind, value = extension.prepare_args(kind, value, stream=stream, retr=retr)
        result.append(value)
    return tuple(result), retr
