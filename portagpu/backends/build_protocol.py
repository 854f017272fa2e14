"""What a process that compiles for another one shares with it: requests and answers, and its life.

Children that are run as files, without site-packages, import it as a file, too: it imports standard modules alone.
Each request has the lengths of its two parts before them: options and source. An answer has a byte that says that the
compiler was called, a status, what it said and the binary. Where that byte is all, the compiler has ended the process,
with whatever exit status: some call ``exit``. A child ends with its input, with its parent, and after a minute without
work.
"""

from __future__ import annotations

import os
import select
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import BinaryIO

if sys.platform != "win32":
    import resource

REQUEST, ANSWER = struct.Struct("<II"), struct.Struct("<iII")  # lengths of what follows; status first
CALLED = b"\1"
NO_DEVICE = 3  # exit status where the parent's device is not found
_IDLE_SECONDS = 60.0
_LOOK_SECONDS = 0.5

Compile = Callable[[bytes, bytes], tuple[int, bytes, bytes]]
"""Given options and source: a status, 0 where there is a binary, what the compiler said, and the binary."""


def prepare(parent: int) -> None:
    """End with the parent, and leave no core files."""
    _watch_parent(parent)
    _without_core_files()


def serve(compile_: Compile, answers: BinaryIO) -> None:
    """Answer requests until nobody asks."""
    for options, source in requests(os.fdopen(os.dup(0), "rb", buffering=0)):
        answers.write(CALLED)
        answers.flush()
        status, said, binary = compile_(options, source)
        answers.write(ANSWER.pack(status, len(said), len(binary)) + said + binary)
        answers.flush()


def own_output() -> BinaryIO:
    """The way for answers: what drivers print on the standard output must not mix with them."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def _watch_parent(parent: int) -> None:
    """A build that runs when the parent goes would not notice that the input has ended."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_SECONDS)
        os._exit(1)

    if hasattr(os, "getpgid"):
        threading.Thread(target=watch, daemon=True).start()


def _without_core_files() -> None:
    if sys.platform != "win32":
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def requests(source: BinaryIO) -> Iterator[tuple[bytes, bytes]]:
    """Options and source of each request from an unbuffered pipe, until it ends or nobody asks for a minute."""
    while True:
        if sys.platform != "win32" and not select.select([source], [], [], _IDLE_SECONDS)[0]:
            return
        head = _whole(source, REQUEST.size)
        if len(head) < REQUEST.size:
            return
        first, second = REQUEST.unpack(head)
        yield _whole(source, first), _whole(source, second)


def _whole(source: BinaryIO, size: int) -> bytes:
    """So many bytes, fewer only at the end: a pipe gives what it holds, which is at most 64 KiB."""
    parts = []
    while size > 0:
        part = source.read(size)
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
