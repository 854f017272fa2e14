"""Tests of the kernel language. Parameters are mostly dtypes in some folders, and different subjects in others."""

import pytest

_OF_DTYPES = {"arrays", "intrinsics", "library", "numbers", "threads"}


def pytest_itemcollected(item):
    """Functions of neighbours meet different dtypes, and all with ``--thorough``."""
    if item.path.parent.name in _OF_DTYPES and not item.get_closest_marker("in_turn"):
        item.add_marker(pytest.mark.in_turn(3))
