"""``portagpu bench textbook`` whose kernels are planted workloads: in a process of its own, which a test ends.

``planted_bench.py FOLDER WRITES SIGNAL WORDS...``: before the result file is replaced for the so-manyth time, the
process sends itself the signal; 0: never.
"""

from __future__ import annotations

import os
import signal
import sys
from functools import partial
from types import SimpleNamespace

import planted_suite

from portagpu import files
from portagpu.cli import cli
from portagpu.cli.bench import common, textbook

NAMES = ("x", "y", "z")


def plant(folder, replaced=setattr):
    """Put the planted suite in the place of the textbook's."""
    entries = partial(planted_suite.entries, folder=folder, names=NAMES)
    suite = SimpleNamespace(entries=lambda device, options, names: entries(device, options))
    replaced(textbook, "suite", suite)
    replaced(common, "QUICK", planted_suite.METHOD)


def end_at(write, number):
    """End this process by a signal while it writes a file for the so-manyth time."""
    written, synchronise = iter(range(1, 1000)), os.fsync

    def fsync(handle):
        synchronise(handle)
        if next(written) == write:
            os.kill(os.getpid(), number)
            signal.pause()

    files.os = SimpleNamespace(**{**vars(os), "fsync": fsync})


if __name__ == "__main__":
    place, write, number, *words = sys.argv[1:]
    plant(place)
    if int(write):
        end_at(int(write), int(number))
    cli(["bench", "textbook", "--quick", *words], prog_name="portagpu")
