"""Builds in a child process, where a driver's compiler may end the process that calls it.

The child, which a back end names (see `portagpu.backends.build_protocol`), is started by the first program that no
cache has, serves later ones, and ends with this process. What it compiles is handed back as a binary, so that nothing
is compiled twice. A compiler that dies may do so of what it did before, in the same process: only a child that has
built nothing else proves that it is the program. One that does not end within a time is ended.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO

from portagpu.backends.build_protocol import ANSWER, CALLED, NO_DEVICE, REQUEST
from portagpu.settings import build_seconds_wanted

_END_SECONDS = 5.0
_SPARE = 2  # children that wait for more: several threads may compile at a time
_log = logging.getLogger(__name__)


class CompilerDied(Exception):
    """The compiler ended its process, or did not end in time (``late``); the message says how."""

    late = False


class NoBuilder(Exception):
    """No child process can be started, or it does not find the device."""


@dataclass(frozen=True, slots=True)
class Built:
    """What the driver made of a program; ``status`` is OpenCL's, 0 where there is a binary."""

    status: int
    said: str
    binary: bytes


class Builder:
    """One child process."""

    def __init__(self, key: str, command: Sequence[str]) -> None:
        self.key = key
        self.owner = os.getpid()
        self.has_built = False  # anything
        self._late = False  # whether it was ended for taking too long
        self._messages: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  the child's, while it lives
        self._child = subprocess.Popen(
            [sys.executable, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
            start_new_session=True,  # the terminal's Ctrl-C is for this process, which then ends the child
        )

    def build(self, source: str, options: str, seconds: float) -> Built | None:
        """The program, or None where the child had ended for want of work; it has so many seconds, 0 for any number.

        Raises `CompilerDied`, and `NoBuilder` where the child does not find the device.
        """
        watch = threading.Timer(seconds, self._end_late) if seconds else None
        if watch is not None:
            watch.daemon = True
            watch.start()
        try:
            return self._built(source, options, seconds)
        finally:
            if watch is not None:
                watch.cancel()

    def _end_late(self) -> None:
        self._late = True
        with contextlib.suppress(OSError):
            self._child.kill()

    def _built(self, source: str, options: str, seconds: float) -> Built | None:
        child, parts = self._child, (options.encode() + b"\0", source.encode())
        assert child.stdin is not None and child.stdout is not None
        try:
            with contextlib.suppress(BrokenPipeError):  # its end is seen below
                child.stdin.write(REQUEST.pack(*map(len, parts)) + b"".join(parts))
                child.stdin.flush()
            called = child.stdout.read(len(CALLED)) == CALLED
            head = child.stdout.read(ANSWER.size)
            if len(head) == ANSWER.size:
                self.has_built = True
                status, said, size = ANSWER.unpack(head)
                return Built(status, child.stdout.read(said).decode(errors="replace"), child.stdout.read(size))
        except BaseException:
            self.close()  # its answer would be taken for that of the next request
            raise
        status = child.wait()
        said = self._said()
        self.close()
        cause = f"it did not end within {seconds:g} s (PORTAGPU_BUILD_SECONDS)" if self._late else _cause(status)
        died = CompilerDied(f"{cause}{f'; {said}' if said else ''}")
        died.late = self._late
        if called or self._late:
            raise died
        if status == 0:
            return None
        if status > 0 and sys.platform != "win32":  # Python's own end: crashes are signals
            raise NoBuilder(f"exit status {status}" + (", no such device" if status == NO_DEVICE else f": {said}"))
        raise died

    def _said(self) -> str:
        """The last lines that the child wrote to its error output."""
        self._messages.seek(0)
        lines = self._messages.read()[-4000:].decode(errors="replace").splitlines()
        return " | ".join(line.strip() for line in lines if line.strip())[-600:]

    @property
    def serves(self) -> bool:
        """Whether it is this process's, and has not ended."""
        return self.owner == os.getpid() and self._child.poll() is None

    def close(self) -> None:
        """End the child; of a child of another process, from before a fork, nothing but the object."""
        child = self._child
        if self.owner != os.getpid():
            child.returncode = 0
            return
        for pipe in (child.stdin, child.stdout, self._messages):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        with contextlib.suppress(OSError):
            child.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):  # stuck in the driver
            child.wait(_END_SECONDS)


def _cause(status: int) -> str:
    try:
        return signal.Signals(-status).name if status < 0 else f"exit status {status}"
    except ValueError:  # a signal without a name
        return f"signal {-status}"


class Builders:
    """The children of a back end; ``command`` gives what Python is to run, from a device's key."""

    def __init__(self, command: Callable[[str], Sequence[str]]) -> None:
        self._command = command
        self.waiting: list[Builder] = []
        atexit.register(self.close)

    def build(self, key: str, source: str, options: tuple[str, ...], separator: str = " ") -> Built:
        """Build a program for the device with this key in a child process.

        Raises `CompilerDied` where the driver's compiler ended it, `NoBuilder` where there can be no such process.
        """
        seconds, is_again = build_seconds_wanted(), False
        while True:
            builder = self._started(key) if is_again else self._taken(key)
            has_built = builder.has_built
            try:
                result = builder.build(source, separator.join(options), seconds)
            except CompilerDied as error:
                if not has_built or error.late:
                    raise
                _log.info("the driver's compiler died: %s; a new process tries again", error)
                is_again = True
                continue
            if result is not None:
                self.waiting.append(builder)
                while len(self.waiting) > _SPARE:
                    self.waiting.pop(0).close()
                return result

    def _taken(self, key: str) -> Builder:
        """A builder of one's own: finalisers and signal handlers may build, too, in the middle of another build."""
        while True:
            try:
                found = self.waiting.pop()
            except IndexError:
                break
            if found.key == key and found.serves:
                return found
            found.close()
        return self._started(key)

    def _started(self, key: str) -> Builder:
        if not sys.executable:
            raise NoBuilder("Python does not know its own program")
        try:
            return Builder(key, self._command(key))
        except OSError as error:
            raise NoBuilder(str(error)) from error

    def close(self) -> None:
        """End the children that wait for work."""
        while self.waiting:
            self.waiting.pop().close()
