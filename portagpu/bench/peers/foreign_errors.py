"""Other libraries' errors: the engine takes `RuntimeError` from a peer, and these raise anything."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from portagpu.bench.method.rounds import FAILURES
from portagpu.bench.method.turns import Call


def told(prepare: Callable[[], Call], *, calls: bool = True) -> Callable[[], Call]:
    """What prepares a peer's call so that whatever it and the call raise becomes a `RuntimeError` with the reason.

    Without ``calls`` the call stays as it is, for where it is so short that looking at it would be a part of its time.
    """

    def prepared() -> Call:
        with _translated():
            call = prepare()
        if not calls:
            return call
        enqueue, wait = call.enqueue, call.wait

        def enqueue_and_tell() -> Any:
            try:
                return enqueue()
            except FAILURES:
                raise
            except Exception as error:
                raise RuntimeError(_reason(error)) from error

        def wait_and_tell() -> Any:
            with _translated():
                return wait()

        return replace(call, enqueue=enqueue_and_tell, wait=wait_and_tell)

    return prepared


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except FAILURES:
        raise
    except Exception as error:
        raise RuntimeError(_reason(error)) from error


def _reason(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0].strip()}" if lines else type(error).__name__


__all__ = ["told"]
