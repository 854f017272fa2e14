"""The benchmark of products of tensors: its figures are of right products, and it says where torch is missing."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from click.testing import CliRunner  # noqa: E402

from portagpu.bench import tensors  # noqa: E402
from portagpu.bench.method.plan import Method  # noqa: E402
from portagpu.errors import PortaGPUError  # noqa: E402

SHORT = Method(least_rounds=1, least_samples=1, limit_seconds=0, round_seconds=0, sample_seconds=0, warm_up_seconds=0)


def test_each_way_is_told_beside_the_same_form_of_torch(device, monkeypatch):
    monkeypatch.setattr(tensors, "_METHOD", SHORT)
    result = CliRunner().invoke(tensors.main, ["--size", "64", "--dtype", "float32"])
    assert result.exit_code == 0, result.output
    line = result.output.splitlines()[-1]
    assert line.startswith("64 float32: torch, new ") and line.count("(1.000)") >= 2
    assert all(f"; {name} " in line for name in ("torch, out=", "portagpu, new", "portagpu, out="))


def test_a_wrong_product_has_no_figures(device, monkeypatch):
    monkeypatch.setattr(tensors.portagpu, "matmul", lambda a, b, out=None: a * 2)
    with pytest.raises(PortaGPUError, match="is wrong"):
        tensors.measured(16, "float32")
