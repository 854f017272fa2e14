"""Expected times: curves through samples, what is kept on disk, and what is taken over by them."""

from __future__ import annotations

import dataclasses
import itertools
import json

import numpy as np
import pytest

import portagpu
from portagpu.accelerate import rates
from portagpu.accelerate.products import PRODUCTS, product_work
from portagpu.accelerate.rates import Curve, Rates
from portagpu.settings import Settings

F4 = np.dtype("float32")
WORKS = [product_work(extents, F4) for extents in ((128, 128, 128), (1024, 1024, 16), (1024, 1024, 1024))]


def test_a_curve_goes_through_its_samples():
    """Of a machine with 1e-9 s a byte and 1e-11 s an operation, and twice that for the small sample."""
    times = [w.bytes * 1e-9 + w.flops * rate for w, rate in zip(WORKS, (2e-11, 1e-11, 1e-11), strict=True)]
    curve = Curve.of(WORKS, times, None)
    assert curve.byte == pytest.approx(1e-9, rel=0.02)  # what the small sample takes longer counts for every call
    for work, seconds in zip((WORKS[0], WORKS[2]), (times[0], times[2]), strict=True):
        assert curve.seconds(work) == pytest.approx(seconds, rel=1e-6)
    huge, middle = product_work((8192, 8192, 8192), F4), product_work((362, 362, 362), F4)
    assert curve.seconds(huge) == pytest.approx(huge.bytes * 1e-9 + huge.flops * 1e-11, rel=0.02)
    assert middle.flops * 1e-11 < curve.seconds(middle) - middle.bytes * 1e-9 < middle.flops * 2e-11
    batch = product_work((128, 128, 128), F4, count=10)
    assert curve.seconds(batch) == pytest.approx(10 * times[0], rel=1e-6)


def test_what_every_call_takes_is_no_byte():
    """Half a millisecond a call, 1e-10 s a byte, 1e-13 s an operation, as on a GPU."""
    times = [5e-4 + w.bytes * 1e-10 + w.flops * 1e-13 for w in WORKS]
    curve = Curve.of(WORKS, times, None)
    assert curve.byte == pytest.approx(1e-10, rel=1e-6)
    tall = product_work((512, 512, 20_000), F4)
    assert curve.seconds(tall) < 2 * (5e-4 + tall.bytes * 1e-10 + tall.flops * 1e-13)


def test_samples_that_contradict_each_other_make_a_curve_that_grows():
    curve = Curve.of(WORKS, [1e-3, 1e-6, 2e-3], None)
    seconds = [curve.seconds(product_work((n, n, n), F4)) for n in (64, 128, 500, 1024, 4096)]
    assert all(0 < a <= b for a, b in itertools.pairwise(seconds))


@pytest.fixture
def found(device, tmp_path):
    """Rates of a folder that has none."""
    return Rates(device, dataclasses.replace(Settings.from_environment(), cache_dir=tmp_path), PRODUCTS)


def fake(monkeypatch, *seconds):
    """Times that are measured: those of NumPy, then those of the device."""
    left = itertools.cycle(seconds)
    monkeypatch.setattr(rates, "_measured", lambda run: next(left))


@pytest.mark.one_device
def test_what_is_measured_is_kept(found, device, tmp_path, monkeypatch):
    assert found.known(WORKS[0]) is None
    fake(monkeypatch, 1e-4, 1e-3, 1e-2, 2e-4, 2e-4, 1e-3)
    assert found.expected(WORKS[2]).numpy == pytest.approx(1e-2)
    assert found.expected(WORKS[2]).device == pytest.approx(1e-3)
    again = Rates(device, dataclasses.replace(Settings.from_environment(), cache_dir=tmp_path), PRODUCTS)
    assert again.known(WORKS[2]) == found.known(WORKS[2])
    stored = json.loads(found.path.read_text())
    assert stored["times"] == {"matmul float32": [[1e-4, 1e-3, 1e-2], [2e-4, 2e-4, 1e-3]]}
    assert np.__version__ in stored["key"]


@pytest.mark.parametrize("damage", ["", "[]", '{"key": "other", "times": {}}', "times", "negative", "short"])
@pytest.mark.one_device
def test_damaged_files_are_measured_anew(damage, found, device, tmp_path, monkeypatch):
    fake(monkeypatch, *[1e-3] * 6)
    found.expected(WORKS[0])
    stored = json.loads(found.path.read_text())
    if damage in ("times", "negative", "short"):
        stored["times"]["matmul float32"] = {"times": 3, "negative": [[-1.0] * 3] * 2, "short": [[1.0], [1.0]]}[damage]
        damage = json.dumps(stored)
    found.path.write_text(damage)
    again = Rates(device, dataclasses.replace(Settings.from_environment(), cache_dir=tmp_path), PRODUCTS)
    assert again.known(WORKS[0]) is None
    fake(monkeypatch, *[2e-3] * 6)
    again.expected(WORKS[0])
    assert json.loads(found.path.read_text())["times"]["matmul float32"][0] == [2e-3] * 3


@pytest.mark.one_device
def test_the_faster_one_computes(device, tmp_path, monkeypatch):
    """By times that are made up: the device gains from some 256 on."""
    monkeypatch.setenv("PORTAGPU_CACHE_DIR", str(tmp_path))
    fake(monkeypatch, 1e-4, 1e-3, 4e-2, 4e-4, 1e-3, 8e-3)
    a, b = np.ones((100, 100), "f4"), np.ones((600, 600), "f4")
    with portagpu.accelerate() as block:
        (a[:50] @ a, a @ b[:100, :100], a @ a, b @ b)
    left, taken = block.report().left, block.report().taken
    assert [row.operands for row in taken] == ["600x600 600x600"] and taken[0].numpy_seconds > 1e-3
    assert {row.why for row in left} == {"too small"} or {row.why for row in left} == {
        "too small",
        "NumPy is as fast, by measured rates",
    }
    assert block.report().gain == pytest.approx(taken[0].numpy_seconds - taken[0].seconds)


@pytest.mark.one_device
def test_samples_are_what_they_say(device):
    """Really measured, once: NumPy and the device compute the same."""
    for sample in PRODUCTS.samples("float32")[:1]:
        np.testing.assert_allclose(sample.numpy(), sample.device())
        assert rates._measured(sample.numpy) > 0
