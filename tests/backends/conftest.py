"""Tests that are about OpenCL alone do not run on other back ends."""

from __future__ import annotations

from pathlib import Path


def pytest_collection_modifyitems(config, items):
    """Leave them out here."""
    here = Path(__file__).parent
    alone = [item for item in items if item.path.parent == here and item.get_closest_marker("opencl")]
    config.hook.pytest_deselected(items=alone)
    items[:] = [item for item in items if item not in alone]
