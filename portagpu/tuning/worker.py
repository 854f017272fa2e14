"""Trials in a child process, which may crash or hang without harm.

The child runs ``python -m portagpu.tuning.worker MODULE FUNCTION``: it reads a JSON request a line from its standard
input, calls ``FUNCTION(request)``, and answers with a JSON line. A request that takes too long, or whose call raises,
gets the child killed; the next one starts a new child.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import os
import selectors
import subprocess
import sys
import threading
import time
from types import TracebackType
from typing import Any

_MARK = "portagpu-answer "
_FAILED = "portagpu-failed "
_END_SECONDS = 10.0
_log = logging.getLogger(__name__)


class WorkerDied(Exception):
    """The child ended without an answer, or its call raised."""


class Worker:
    """A child process that answers requests by calling a function."""

    def __init__(self, module: str, function: str, environment: dict[str, str] | None = None) -> None:
        self._command = [sys.executable, "-m", "portagpu.tuning.worker", module, function]
        self._environment = {**os.environ, **(environment or {})}
        self._child: subprocess.Popen[bytes] | None = None
        self._pending = b""

    def ask(self, request: dict[str, Any], limit: float) -> dict[str, Any]:
        """The child's answer. Raises TimeoutError after ``limit`` seconds, `WorkerDied` if the child ends."""
        child = self._running()
        assert child.stdin is not None
        try:
            child.stdin.write(json.dumps(request).encode() + b"\n")
            child.stdin.flush()
        except OSError as error:
            self.close()
            raise WorkerDied(f"the child ended (status {child.poll()})") from error
        try:
            return self._answer(child, time.monotonic() + limit, limit)
        except KeyboardInterrupt:
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
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    self.close()
                    raise TimeoutError(f"no answer within {limit:g} s")
                chunk = os.read(child.stdout.fileno(), 65536)
                if not chunk:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        child.wait(_END_SECONDS)
                    status = child.poll()
                    self.close()
                    raise WorkerDied(f"the child ended (status {status})")
                self._pending += chunk

    def _running(self) -> subprocess.Popen[bytes]:
        if self._child is None or self._child.poll() is not None:
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
        """End the child."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            try:
                child.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:  # stuck in the driver; whenever it comes back, it ends
                _log.warning("process %d does not end; going on without it", child.pid)
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    pipe.close()

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
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def main(module: str, function: str) -> None:
    """The child's loop."""
    _watch_parent(os.getppid())
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what drivers print must not mix with answers
    call = getattr(importlib.import_module(module), function)
    for line in sys.stdin:
        try:
            text = _MARK + json.dumps(call(json.loads(line)))
        except Exception as error:  # the parent starts a new child, and tells the reason
            text = _FAILED + json.dumps(f"{type(error).__name__}: {error}")
        answers.write(text + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
