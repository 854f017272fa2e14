"""Processes that tests have started."""

from __future__ import annotations

from pathlib import Path


def is_running(pid):
    """Whether a process runs, and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
