"""float32 operands in pieces of 16 bits: their sum is the operand, to the bits that the mode promises."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda
from portagpu.blas.gemm.variants.emulated import variant
from portagpu.blas.gemm.variants.emulated.variant import _MODES, _split

pytestmark = [pytest.mark.one_device(fast=True), pytest.mark.each_value]


def pieces_of(x, mode):
    """Pieces as float64 (count, rows, depth), and the scale of each row."""
    found, exponents = _split("a", x, _MODES[mode], cuda.current_context().default_stream)
    count = _MODES[mode].count
    rows, wide = found.shape
    words = found.copy_to_host().reshape(rows, count, wide // count)
    if mode.startswith("bf"):
        values = (words.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        scales = np.zeros(rows, int)
    else:
        values = words.view(np.float16).astype(np.float64)
        scales = exponents.copy_to_host()
    return values.transpose(1, 0, 2), scales


@pytest.mark.parametrize("mode", ["f16x3", "bf16x6"])
@pytest.mark.parametrize("order", ["C", "F", "strided"])
@pytest.mark.parametrize("rows, depth", [(1, 1), (7, 64), (33, 130), (300, 5)])
def test_pieces_add_up(device, mode, order, rows, depth):
    generator = np.random.default_rng(1)
    host = generator.standard_normal((rows, depth)) * np.exp2(generator.integers(-60, 60, (rows, 1)))
    host = host.astype(np.float32)
    host[rows // 2] = 0
    if order == "strided":
        x = cuda.to_device(np.repeat(host, 2, axis=1))[:, ::2]
    else:
        x = cuda.to_device(np.asarray(host, order=order))
    values, scales = pieces_of(x, mode)
    total = values.sum(axis=0)
    assert np.all(total[:, depth:] == 0)
    scaled = host.astype(np.float64) * np.exp2(scales.astype(float))[:, None]
    error = np.abs(total[:, :depth] - scaled)
    if mode == "bf16x6":
        assert np.all(error <= 2.0**-24 * np.abs(scaled))
    else:
        assert np.all(error <= 2.0**-22 * np.abs(scaled) + 2.0**-25)
        largest = np.abs(values[0]).max(axis=1)
        assert np.all((largest == 0) | ((largest >= 2**14) & (largest <= 2**15)))


def test_what_is_not_finite_stays_so(device):
    host = np.ones((4, 64), np.float32)
    host[0, 3], host[1, 4], host[2, 5] = np.inf, -np.inf, np.nan
    for mode in ("f16x3", "bf16x6"):
        values, _ = pieces_of(cuda.to_device(host), mode)
        assert values[0, 0, 3] == np.inf and values[0, 1, 4] == -np.inf and np.isnan(values[0, 2, 5])
        assert np.isfinite(values[:, 3]).all()
        assert np.all(values[1:, :2] == 0)


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_largest_numbers_stay_finite(device, order):
    """Rounded to nearest, they would be infinite as bfloat16."""
    most = np.finfo(np.float32).max
    host = np.zeros((3, 4), np.float32, order=order)
    host[:, 0] = most, -most, np.float32(3.3961775e38)
    values, _ = pieces_of(cuda.to_device(host), "bf16x6")
    assert np.array_equal(values.sum(axis=0)[:, :4], host.astype(np.float64))


@pytest.mark.parametrize("order", ["C", "F"])
def test_long_axes_need_few_blocks_in_other_directions(device, monkeypatch, order):
    """CUDA's devices have 65535 of them."""
    monkeypatch.setattr(variant, "_MOST_BLOCKS", 2)
    host = np.random.default_rng(2).standard_normal((5, 3000)).astype(np.float32)
    values, scales = pieces_of(cuda.to_device(np.asarray(host, order=order)), "f16x3")
    scaled = host.astype(np.float64) * np.exp2(scales.astype(float))[:, None]
    assert np.all(np.abs(values.sum(axis=0)[:, :3000] - scaled) <= 2.0**-22 * np.abs(scaled) + 2.0**-25)
