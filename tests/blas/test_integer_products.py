"""Products of integers and bools: bit by bit NumPy's, sums that wrap around among them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import portagpu
from portagpu import cuda, errors
from portagpu.blas.gemm.core.interface import Product
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.engine import plan_of
from portagpu.blas.gemm.integer_products import WHOLE
from portagpu.blas.gemm.kernels.launch import MOST_TERMS
from portagpu.blas.gemm.selection.registry import default_config
from portagpu.blas.gemm.variants.element.variant import ElementConfig
from portagpu.blas.gemm.variants.skinny.variant import SkinnyConfig, SkinnyVariant
from portagpu.blas.gemm.variants.tile.config import TileConfig
from portagpu.blas.gemm.variants.tile.launch import launch_tiles
from portagpu.device.ideal_device import IDEAL
from portagpu.runtime.execution.context import current_context

pytestmark = [pytest.mark.one_device(fast=True), pytest.mark.each_value]

INTEGERS = tuple(name for name in WHOLE if name != "bool")


def numbers(shape, dtype, seed=0):
    """Any bits: most sums overflow. Bools are rarely true, so that products of them are not all true."""
    generator = np.random.default_rng(seed)
    if dtype == "bool":
        return generator.random(shape) < 0.1
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def check(found, wanted):
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", WHOLE)
@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (5, 3, 7), (70, 90, 130), (2, 300, 200), (300, 1, 200)])
def test_matrices(device, dtype, m, n, k):
    a, b = numbers((m, k), dtype), numbers((k, n), dtype, 1)
    wanted = a @ b
    check(portagpu.matmul(a, b), wanted)
    check((cuda.to_device(a) @ cuda.to_device(b)).copy_to_host(), wanted)


@pytest.mark.parametrize("dtype", ["uint16", "int32", "bool"])
def test_long_sums(device, dtype):
    a, b = numbers((20, MOST_TERMS + 9), dtype), numbers((MOST_TERMS + 9, 17), dtype, 1)
    check(portagpu.matmul(a, b), a @ b)


@pytest.mark.parametrize("dtype", ["int16", "uint64", "bool"])
@given(
    batch=st.sampled_from([(), (3,), (2, 3), (2, 1)]),
    shared=st.booleans(),
    transposes=st.tuples(st.booleans(), st.booleans()),
    step=st.sampled_from([1, 2, -1]),
    on_device=st.booleans(),
)
def test_batches_and_strides(device, dtype, batch, shared, transposes, step, on_device):
    m, n, k = 6, 5, 9
    a = numbers((*batch, k, m) if transposes[0] else (*batch, m, k), dtype)
    own = () if shared else batch
    b = numbers((*own, n, k * 2) if transposes[1] else (*own, k * 2, n), dtype, 1)
    left = a.swapaxes(-1, -2) if transposes[0] else a
    right = (b.swapaxes(-1, -2) if transposes[1] else b)[..., ::step, :][..., :k, :]
    wanted = np.matmul(left, right)
    if on_device:
        a, b = cuda.to_device(a), cuda.to_device(b)
        left = np.swapaxes(a, -1, -2) if transposes[0] else a
        right = (np.swapaxes(b, -1, -2) if transposes[1] else b)[..., ::step, :][..., :k, :]
        check(portagpu.matmul(left, right).copy_to_host(), wanted)
    else:
        check(portagpu.matmul(left, right), wanted)


@pytest.mark.parametrize("dtype", ["uint32", "bool"])
def test_vectors_scalars_and_empty_sums(device, dtype):
    a, x, y = numbers((7, 50), dtype), numbers(50, dtype, 1), numbers(7, dtype, 2)
    for left, right in ((a, x), (y, a), (x, x), (a[:, :0], x[:0]), (a[:0], x)):
        check(np.asarray(portagpu.matmul(left, right)), np.asarray(left @ right))
        check(np.matmul(cuda.to_device(left), cuda.to_device(right)).copy_to_host(), np.asarray(left @ right))
    check(np.dot(cuda.to_device(a), cuda.to_device(x)).copy_to_host(), a @ x)


_PAIRS = [
    *(("int8", "uint8"), ("int8", "int16"), ("uint8", "uint64"), ("int32", "uint32"), ("bool", "int32")),
    *(("uint8", "int16"), ("int64", "uint64"), ("int16", "float32"), ("int64", "float32"), ("bool", "uint16")),
]


@pytest.mark.parametrize("first, second", _PAIRS)
def test_promotion_is_numpys(device, first, second):
    a = numbers((5, 9), first) if "64" not in first + second else numbers((5, 9), "int8").astype(first)
    b = (np.arange(36) - (0 if second[0] == "u" else 7)).reshape(9, 4).astype(second)
    wanted = np.matmul(a, b)
    if wanted.dtype == np.float64 and not device.capabilities.fp64:
        pytest.skip("the device has no float64")
    check(portagpu.matmul(a, b), wanted)
    if wanted.dtype.kind != "f":
        for place in (np.asarray, np.asfortranarray):
            check(portagpu.matmul(cuda.to_device(place(a)), cuda.to_device(b)).copy_to_host(), wanted)


def test_bytes_keep_sums_of_32_bits(device):
    """Narrower than these, sums of products of bytes would be of little use; other backends have int32, too."""
    a, b = numbers((5, 9), "int8"), numbers((9, 4), "int8", 1)
    wanted = a.astype(np.int32) @ b.astype(np.int32)
    check(portagpu.matmul(a, b), wanted)
    check(portagpu.matmul(a, b, dtype="int64"), wanted.astype(np.int64))


@pytest.mark.parametrize("on_device", [False, True])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_out_alpha_and_beta(device, dtype, on_device):
    a, b, out = (numbers((9, 9), dtype, seed) for seed in range(3))
    limits = np.iinfo(dtype)
    alpha, beta = limits.max, limits.min or 3
    one = a.dtype.type
    with np.errstate(over="ignore"):
        wanted = (a @ b) * one(alpha) + out * one(beta)
    if on_device:
        a, b, out = (cuda.to_device(x) for x in (a, b, out))
    assert portagpu.matmul(a, b, out, alpha=alpha, beta=beta) is out
    check(np.asarray(out), wanted)
    portagpu.matmul(a, b, out, alpha=0, beta=3.0)
    with np.errstate(over="ignore"):
        check(np.asarray(out), wanted * one(3))


def test_out_that_overlaps_or_lies_otherwise(device):
    for dtype in ("int64", "bool"):
        a, b = numbers((6, 6), dtype), numbers((6, 6), dtype, 1)
        wanted = a @ b
        wide = cuda.to_device(np.zeros((6, 12), dtype))
        portagpu.matmul(cuda.to_device(a), cuda.to_device(b), wide[:, ::2])
        check(wide.copy_to_host()[:, ::2], wanted)
        assert not wide.copy_to_host()[:, 1::2].any()
        here = cuda.to_device(a)
        portagpu.matmul(here, cuda.to_device(b), here)
        check(here.copy_to_host(), wanted)
        portagpu.matmul(a, b, a)
        check(a, wanted)


def test_wider_results(device):
    a, b = numbers((5, 9), "int32"), numbers((9, 4), "int32", 1)
    wanted = np.matmul(a, b, dtype=np.int64)
    check(portagpu.matmul(a, b, dtype=np.int64), wanted)
    check(portagpu.matmul(cuda.to_device(a), cuda.to_device(b), dtype="int64").copy_to_host(), wanted)
    true = np.ones((3, 300), bool)
    check(portagpu.matmul(true, true.T, dtype=np.int16), np.full((3, 3), 300, np.int16))  # counts


def test_products_that_are_asked_for_again(device):
    """They are recorded the second time, with the arrays that they need on the way."""
    for dtype in ("int32", "bool"):
        for seed in range(4):
            a, b = numbers((33, 20), dtype, seed), numbers((20, 31), dtype, seed + 9)
            left, right = cuda.to_device(a), cuda.to_device(b)
            for _ in range(3):
                check((left @ right).copy_to_host(), a @ b)


def test_other_byte_orders(device):
    a = numbers((4, 5), "int32").astype(">i4")
    check(portagpu.matmul(a, a.T), (a @ a.T).astype("=i4"))


@pytest.mark.parametrize(
    "dtype, options, told",
    [
        ("int32", {"alpha": 0.5}, "alpha is 0.5; products in int32 take whole numbers from -2147483648"),
        ("int16", {"alpha": 40000}, "whole numbers from -32768 to 32767"),
        ("uint64", {"alpha": -1}, "whole numbers from 0 to 18446744073709551615"),
        ("bool", {"alpha": 2}, "products of bools have no factors"),
        ("int32", {"dtype": "float32"}, "products of int32 become int32, not float32"),
        ("int32", {"dtype": "int16"}, "products of int32 become int32, not int16"),
        ("int64", {"precision": "tf32"}, "does not exist for int64"),
    ],
)
def test_wrong_options(device, dtype, options, told):
    a = np.ones((3, 3), dtype)
    for place in (np.asarray, cuda.to_device):
        with pytest.raises((errors.ArgumentTypeError, errors.DTypeError, errors.UnknownOptionError), match=told):
            portagpu.matmul(place(a), place(a), **options)


@pytest.mark.parametrize("dtype", ["int32", "uint16", "bool"])
def test_groups(device, dtype):
    offsets = [0, 0, 5, 30, 31]
    a, b = numbers((31, 20), dtype), numbers((4, 20, 6), dtype, 1)
    wanted = np.concatenate([a[s:e] @ b[g] for g, (s, e) in enumerate(pairwise(offsets))])
    check(portagpu.grouped_matmul(a, b, offsets), wanted)
    check(portagpu.grouped_matmul(cuda.to_device(a), cuda.to_device(b), offsets).copy_to_host(), wanted)


@pytest.mark.oclgrind
@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
def test_tiles(device, dtype):
    """The kernel that GPUs run."""
    a, b, old = numbers((40, 36), dtype), numbers((36, 44), dtype, 1), numbers((40, 44), dtype, 2)
    c = cuda.to_device(old)
    config = TileConfig(tile_m=32, tile_n=32, tile_k=8, thread_m=4, thread_n=4, group=2, split_k=2)
    stream = cuda.default_stream()
    launch_tiles(config, Product(a=cuda.to_device(a), b=cuda.to_device(b), c=c, stream=stream, alpha=3, beta=5), None)
    three, five = old.dtype.type(3), old.dtype.type(5)
    check(c.copy_to_host(), (a @ b) * three + old * five)


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
@pytest.mark.parametrize("along", [False, True])
def test_few_rows_on_gpus(device, dtype, along):
    a, b = numbers((3, 500), dtype), numbers((500, 64), dtype, 1)
    right = cuda.to_device(np.ascontiguousarray(b.T)).T if along else cuda.to_device(b)
    c = cuda.device_array((3, 64), dtype)
    config = SkinnyConfig(threads_x=16, threads_y=8, lines=2 if along else 1, flight=2, splits=2)
    SkinnyVariant().run(config, Product(a=cuda.to_device(a), b=right, c=c, stream=cuda.default_stream()))
    check(c.copy_to_host(), a @ b)


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
@pytest.mark.parametrize("size", [64, 1024])
def test_large_products_get_tiles(device, dtype, size):
    """None of them goes to the kernel that reads both operands again for each element."""
    problem = Problem(m=size, n=size, k=size, dtype=dtype)
    assert not isinstance(plan_of(problem, current_context()).config, ElementConfig)
    assert isinstance(default_config(problem, IDEAL), TileConfig)
