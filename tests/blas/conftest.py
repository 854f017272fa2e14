"""Tests of routines: nearly every one compiles kernels of its own for each value of its parameters."""

import pytest

_IN_TURN = {"factorisations", "level1", "level2", "level3", "replay", "variants"}


def pytest_itemcollected(item):
    """Functions of neighbours have one engine: each meets some of the values, and all with ``--thorough``."""
    if item.path.parent.name in _IN_TURN and not item.get_closest_marker("in_turn"):
        item.add_marker(pytest.mark.in_turn(4))
