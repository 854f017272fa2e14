"""Trials in a child process, which may crash or hang without harm.

The child runs ``python -m portagpu.tuning.trials.worker MODULE FUNCTION PARENT``: it reads a JSON request a line from
its standard input, calls ``FUNCTION(request)``, and answers with a JSON line. A request that takes too long, or whose
call raises, gets the child killed; the next one starts a new child.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import json
import logging
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from portagpu.errors import PortaGPUError
from portagpu.tuning.tunables.outcomes import shortened
from portagpu.tuning.tunables.user_faults import blamed, words_of

_MARK = "portagpu-answer "
_FAILED = "portagpu-failed "
_END_SECONDS = 10.0
_LOOK_SECONDS = 0.5
_MOST_SECONDS = 1e8  # that Python's timers surely take
_LONGEST = 4000  # characters of a reason
_log = logging.getLogger(__name__)


class WorkerDied(Exception):
    """The child ended without an answer, or its call raised. ``status`` is that of an ended child, as of Popen."""

    def __init__(self, reason: str, status: int | None = None) -> None:
        super().__init__(reason)
        self.status = status

    @classmethod
    def ended(cls, status: int | None) -> WorkerDied:
        """For a child that ended with a status."""
        try:
            name = f", {signal.Signals(-status).name}" if status is not None and status < 0 else ""
        except ValueError:  # a signal without a name
            name = ""
        return cls(f"the child ended (status {status}{name})", status)


class Worker:
    """A child process that answers requests by calling a function."""

    def __init__(self, module: str, function: str, environment: dict[str, str] | None = None) -> None:
        self._command = [sys.executable, "-m", "portagpu.tuning.trials.worker", module, function, str(os.getpid())]
        self._environment = {**os.environ, **(environment or {})}
        self._child: subprocess.Popen[bytes] | None = None
        self._pending = b""

    def ask(self, request: dict[str, Any], limit: float) -> dict[str, Any]:
        """The child's answer. Raises TimeoutError after ``limit`` seconds, `WorkerDied` if the child ends."""
        child = self._running()
        assert child.stdin is not None
        try:
            child.stdin.write(f"{limit:g} {json.dumps(request)}\n".encode())
            child.stdin.flush()
            return self._answer(child, time.monotonic() + limit, limit)
        except (TimeoutError, WorkerDied):
            raise
        except OSError as error:
            self.close()
            raise WorkerDied.ended(child.poll()) from error
        except BaseException:
            self.close()  # its answer would be taken for that of the next request
            raise

    def _answer(self, child: subprocess.Popen[bytes], deadline: float, limit: float) -> dict[str, Any]:
        assert child.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(child.stdout, selectors.EVENT_READ)
            while True:
                while b"\n" in self._pending:
                    line, _, self._pending = self._pending.partition(b"\n")
                    text = line.decode(errors="replace")
                    if text.startswith(_MARK):
                        answer: dict[str, Any] = json.loads(text.removeprefix(_MARK))
                        return answer
                    if text.startswith(_FAILED):
                        self.close()  # nobody knows what state it is in
                        raise WorkerDied(json.loads(text.removeprefix(_FAILED)))
                left = deadline - time.monotonic()
                if not selector.select(max(0.0, min(left, _LOOK_SECONDS))):
                    # a process that it started may keep the pipe open
                    if child.poll() is not None and not selector.select(0):
                        self.close()
                        raise WorkerDied.ended(child.poll())
                    if left > 0:
                        continue
                    self.close()
                    raise TimeoutError(f"no answer within {limit:g} s")
                chunk = os.read(child.stdout.fileno(), 65536)
                if not chunk:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        child.wait(_END_SECONDS)
                    status = child.poll()
                    self.close()
                    raise WorkerDied.ended(status)
                self._pending += chunk

    def _running(self) -> subprocess.Popen[bytes]:
        if self._child is None or self._child.poll() is not None:
            self.close()  # what the ended one left behind
            self._pending = b""
            self._child = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self._environment,
                start_new_session=True,  # the terminal's Ctrl-C ends the parent, which then ends the child
            )
        return self._child

    def close(self) -> None:
        """End the child, and the processes that trials have started there."""
        child, self._child = self._child, None
        if child is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            try:
                child.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:  # stuck in the driver; whenever it comes back, it ends
                _log.warning("process %d does not end; going on without it", child.pid)
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):  # a request that the child did not take
                        pipe.close()

    def kill(self) -> None:
        """End the child while another thread asks it, which then gets `WorkerDied` and closes."""
        child = self._child
        if child is not None and child.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _watch_parent(parent: int) -> None:
    """End when the parent has: a killed parent closes our input, but a running trial would not notice."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        if os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)  # with the processes that trials have started
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def main(module: str, function: str, parent: int) -> None:
    """The child's loop; ``parent`` is the process that it works for, which may be gone by now."""
    _watch_parent(parent)
    _offer_to_be_killed()
    own = os.getpid()
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w", buffering=1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)  # a trial that reads its input must not take requests
    os.dup2(2, 1)  # what drivers print must not mix with answers
    call = getattr(importlib.import_module(module), function)
    for line in requests:
        limit, _, request = line.partition(" ")
        # a trial that keeps the interpreter's lock keeps `_watch_parent` from noticing that the parent was killed
        seconds = min(float(limit) + _END_SECONDS, _MOST_SECONDS)
        faulthandler.dump_traceback_later(seconds, exit=True, file=nothing)
        try:
            text = _MARK + json.dumps(call(json.loads(request)))
        except Exception as error:  # the parent starts a new child, and tells the reason
            text = _FAILED + json.dumps(shortened(_described(error), _LONGEST))
        if os.getpid() != own:
            os._exit(1)  # a trial has forked: one answer is enough
        faulthandler.cancel_dump_traceback_later()
        answers.write(text + "\n")


def _described(error: Exception) -> str:
    """An exception in words, with the deepest line of the user's file; ours say themselves what is wrong where."""
    text = f"{type(error).__name__}: {words_of(error)}"
    place = None if isinstance(error, PortaGPUError) else blamed(error)
    return text if place is None else f"{text} ({place[0]}:{place[1]})"


def _offer_to_be_killed() -> None:
    """Where memory runs out, Linux is to end the trial, not the tuner."""
    with contextlib.suppress(OSError), Path("/proc/self/oom_score_adj").open("w") as file:
        file.write("1000")


def is_child() -> bool:
    """Whether this process is one that runs trials."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return spec is not None and spec.name == "portagpu.tuning.trials.worker"


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
