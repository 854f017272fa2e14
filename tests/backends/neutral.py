"""Tests of the runtime that are the same on every back end, for the one of `tiny`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "runtime"))

import tiny


def shared(name):
    """The names of a module, its tests and fixtures among them, with the devices of `tiny`."""
    module = importlib.import_module(name)
    found = {key: value for key, value in vars(module).items() if not key.startswith("__")}
    found.pop("pytestmark", None)  # of the package's devices
    return {**found, "DEVICES": tiny.records}
