"""What comes in the middle of a function: finalisers, signal handlers, and other threads."""

from __future__ import annotations

import inspect
import sys
import threading
from contextlib import contextmanager

_A_WHILE = 1.0  # seconds


@contextmanager
def before_lines(function, actions):
    """Inside, each of ``actions`` is called once: before the line of ``function`` that starts with its key.

    Gives the list of the keys whose actions were called.
    """
    lines, first = inspect.getsourcelines(function)
    numbers = {
        first + next(n for n, line in enumerate(lines) if line.strip().startswith(text)): text for text in actions
    }
    called, before = [], sys.gettrace()

    def of_line(frame, event, arg):
        text = numbers.get(frame.f_lineno)
        if event == "line" and text is not None and text not in called:
            called.append(text)
            sys.settrace(None)
            actions[text]()
            sys.settrace(of_call)
        return of_line

    def of_call(frame, event, arg):
        return of_line if frame.f_code is function.__code__ else None

    sys.settrace(of_call)
    try:
        yield called
    finally:
        sys.settrace(before)


def by_another_thread(action):
    """The action, done by another thread, which is waited for a while: it may need what this thread holds."""

    def run():
        thread = threading.Thread(target=action, daemon=True)
        thread.start()
        thread.join(_A_WHILE)

    return run
