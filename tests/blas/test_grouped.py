"""Grouped products, in one launch by the tile kernel and group by group."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from own_contexts import native_context

import portagpu
from portagpu import cuda, errors
from portagpu.blas import grouped
from portagpu.blas.gemm.core.interface import Product
from portagpu.blas.gemm.variants.tile.config import TileConfig
from portagpu.blas.gemm.variants.tile.launch import launch_tiles
from portagpu.runtime.execution.context import Context

pytestmark = pytest.mark.one_device

OFFSETS = np.array([0, 0, 5, 40, 40, 41, 90, 90])


def operands(dtype=np.float32, k=30, n=37):
    generator = np.random.default_rng(0)
    a = generator.standard_normal((90, k)).astype(dtype)
    b = generator.standard_normal((len(OFFSETS) - 1, k, n)).astype(dtype)
    wanted = np.concatenate([a[s:e].astype(np.float64) @ b[g] for g, (s, e) in enumerate(pairwise(OFFSETS))])
    bound = (k + 4) * np.finfo(dtype).eps * (np.abs(a).astype(np.float64) @ np.abs(b).max(axis=0).astype(np.float64))
    return a, b, wanted, bound


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
def test_groups(device, dtype):
    a, b, wanted, bound = operands(dtype)
    found = portagpu.grouped_matmul(a, b, OFFSETS)
    assert found.dtype == dtype
    assert np.all(np.abs(found - wanted) <= bound)
    for offsets in (OFFSETS.tolist(), cuda.to_device(OFFSETS), cuda.to_device(OFFSETS.astype(np.int32))):
        found = portagpu.grouped_matmul(cuda.to_device(a), cuda.to_device(b), offsets).copy_to_host()
        assert np.all(np.abs(found - wanted) <= bound)


@pytest.mark.oclgrind
@pytest.mark.parametrize("transposed", [False, True])
def test_one_launch_for_all_groups(device, transposed):
    """The kernel that GPUs run, with rows of groups that begin anywhere in a tile."""
    config = TileConfig(tile_m=32, tile_n=32, tile_k=8, thread_m=4, thread_n=4, group=2)
    a, b, wanted, bound = operands(k=32, n=40)
    old = np.ones_like(wanted, np.float32)
    da, db, c = cuda.to_device(a), cuda.to_device(b), cuda.to_device(old)
    if transposed:
        da = cuda.to_device(np.asfortranarray(a))
        db = cuda.to_device(np.ascontiguousarray(np.swapaxes(b, 1, 2))).transpose((0, 2, 1))
    product = Product(a=da, b=db, c=c, stream=cuda.default_stream(), alpha=2.0, beta=1.0)
    launch_tiles(config, product, cuda.to_device(OFFSETS))
    assert np.all(np.abs(c.copy_to_host() - 2 * wanted - 1) <= 3 * bound + 1e-5)


def test_wrong_offsets(device):
    a, b, _, _ = operands()
    for offsets, error in (
        (OFFSETS[:-1], errors.ShapeError),
        (OFFSETS[::-1], errors.ShapeError),
        (OFFSETS * 2, errors.ShapeError),
        (OFFSETS.astype(float), errors.DTypeError),
    ):
        with pytest.raises(error, match="offsets"):
            portagpu.grouped_matmul(a, b, offsets)
    with pytest.raises(errors.ShapeError):
        portagpu.grouped_matmul(a, b[0], OFFSETS)
    with pytest.raises(errors.ArgumentTypeError):
        portagpu.grouped_matmul(a, b, OFFSETS, beta=1)
    assert grouped.grouped_matmul(a, b, OFFSETS).shape == (90, 37)


def test_masked_offsets_are_refused(device):
    a, b, wanted, bound = operands()
    masked = np.ma.masked_array(OFFSETS, mask=np.arange(len(OFFSETS)) == 2)
    for move in (np.asarray, cuda.to_device):
        with pytest.raises(errors.ArgumentTypeError, match="offsets has masked elements"):
            portagpu.grouped_matmul(move(a), move(b), masked)
    found = portagpu.grouped_matmul(a, b, np.ma.masked_array(OFFSETS))
    assert np.all(np.abs(found - wanted) <= bound)


def test_offsets_of_another_device_are_refused(device):
    a, b, _, _ = operands()
    context = cuda.current_context()
    with Context(device, native_context(device), context.settings) as elsewhere:
        offsets = cuda.to_device(OFFSETS)
        with context:
            for move in (np.asarray, cuda.to_device):
                with pytest.raises(errors.ArgumentTypeError, match="offsets are on another device"):
                    portagpu.grouped_matmul(move(a), move(b), offsets)
        elsewhere.close()


def test_host_results_over_operands(device):
    memory = np.arange(7 * 4, dtype=np.float32).reshape(7, 4)
    b = np.stack([np.eye(4, dtype=np.float32) * (g + 2) for g in range(2)])
    a = memory[:-1]
    wanted = np.concatenate([a[:2] @ b[0], a[2:] @ b[1]])
    result = portagpu.grouped_matmul(a, b, [0, 2, 6], out=memory[1:])  # one row on: groups would read written rows
    assert np.array_equal(result, wanted)
    weights = np.stack([np.full((4, 4), g + 1, np.float32) for g in range(2)])
    wanted = np.concatenate([np.ones((4, 4)) @ weights[0], np.ones((4, 4)) @ weights[1]])
    out = weights.reshape(8, 4)
    assert np.array_equal(portagpu.grouped_matmul(np.ones((8, 4), np.float32), weights, [0, 4, 8], out=out), wanted)


@pytest.mark.parametrize(
    ("offsets", "options", "error"),
    [
        ([[0], [1, 2]], {}, errors.ShapeError),
        ([0, 4, 8], {"beta": np.ones(2)}, errors.ArgumentTypeError),
        ([0, 4, 8], {"alpha": 10**400}, errors.ArgumentTypeError),
    ],
)
def test_wrong_arguments_get_our_errors(device, offsets, options, error):
    with pytest.raises(error):
        portagpu.grouped_matmul(np.ones((8, 4), np.float32), np.ones((2, 4, 4), np.float32), offsets, **options)


@pytest.mark.parametrize("on_device", [False, True])
def test_wrong_outs_are_those_of_matmul(device, on_device):
    """The same class, with the same words."""
    move = cuda.to_device if on_device else np.asarray
    a, b = move(np.ones((8, 4), np.float32)), move(np.ones((1, 4, 5), np.float32))
    readonly = np.zeros((8, 5), np.float32)
    readonly.flags.writeable = False
    readonly = cuda.to_device(readonly).as_readonly() if on_device else readonly
    host = np.zeros((8, 5), np.float32)
    elsewhere = host if on_device else cuda.to_device(host)
    for out in (move(np.zeros((8, 4), np.float32)), move(np.zeros((8, 5))), readonly, elsewhere, [[0]]):
        with pytest.raises(errors.PortaGPUError) as wanted:
            portagpu.matmul(a, b[0], out=out)
        with pytest.raises(type(wanted.value)) as found:
            portagpu.grouped_matmul(a, b, [0, 8], out=out)
        assert str(found.value) == str(wanted.value)


@pytest.mark.parametrize("on_device", [False, True])
def test_precisions_are_those_of_matmul(device, on_device):
    move = cuda.to_device if on_device else np.asarray
    a, b, wanted, _ = operands()
    found = portagpu.grouped_matmul(move(a), move(b), OFFSETS, precision="tf32")
    found = found.copy_to_host() if on_device else found
    assert np.allclose(found, wanted, rtol=1e-2, atol=1e-1)
    for wrong in ("tf33", 3):
        with pytest.raises(errors.UnknownOptionError, match="tf32"):
            portagpu.grouped_matmul(move(a), move(b), OFFSETS, precision=wrong)
