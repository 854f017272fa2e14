"""Tests of the runtime that are the same on every back end, for devices of others than the package's first."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import cards
import sycl_devices
import tiny

_TESTS = Path(__file__).parents[1]
DEVICES = (*tiny.records, *cards.records, *sycl_devices.WORKING)


def shared(path):
    """The names of a module of tests/, its tests and fixtures among them, with `DEVICES`."""
    folder, _, name = path.rpartition("/")
    sys.path.insert(0, str(_TESTS / folder))
    module = importlib.import_module(name)
    found = {key: value for key, value in vars(module).items() if not key.startswith("__")}
    found.pop("pytestmark", None)  # of the package's devices
    return {**found, "DEVICES": DEVICES}
