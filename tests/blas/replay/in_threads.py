"""The same work in several threads at once."""

from __future__ import annotations

import threading


def in_threads(work, count=4):
    """Call ``work`` in threads, and wait for them all."""
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
