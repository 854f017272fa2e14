"""Every shipped example runs on every device and checks itself."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.oclgrind
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example(path, device):
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main()


def test_all_classics_are_there():
    assert len(EXAMPLES) >= 10
