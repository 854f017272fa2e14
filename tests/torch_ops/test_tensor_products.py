"""The benchmark of products of tensors: its figures are of right products, and it says where torch is missing."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from click.testing import CliRunner  # noqa: E402

from portagpu.bench import tensors  # noqa: E402
from portagpu.errors import PortaGPUError  # noqa: E402


def test_each_way_is_told(device, monkeypatch):
    monkeypatch.setattr(tensors, "_TURNS", 1)
    result = CliRunner().invoke(tensors.main, ["--size", "64", "--dtype", "float32"])
    assert result.exit_code == 0, result.output
    line = result.output.splitlines()[-1]
    assert line.startswith("64 float32: torch ") and "portagpu, out= " in line and "(1.000)" in line


def test_a_wrong_product_has_no_figures(device, monkeypatch):
    monkeypatch.setattr(tensors.portagpu, "matmul", lambda a, b, out=None: a * 2)
    with pytest.raises(PortaGPUError, match="is wrong"):
        tensors.measured(16, "float32")
