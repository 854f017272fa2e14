"""The warp-group variant and the emulated one: what they choose, what they write, and numbers where a GPU has them."""

from __future__ import annotations

import dataclasses
import itertools

import ml_dtypes
import numpy as np
import pytest
from hopper import HOPPER
from opencl_text import text_of

from portagpu import cuda
from portagpu.blas.gemm.core.interface import Product
from portagpu.blas.gemm.core.kernel_arguments import Extents, Factors, Parts
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.kernels.split_k import fan_of, levels_of
from portagpu.blas.gemm.selection.registry import default_config, precisions, variant_of, variants_for
from portagpu.blas.gemm.variants.emulated.variant import EmulatedVariant
from portagpu.blas.gemm.variants.wgmma.kernels import Exponents, Mapped, WarpgroupPlan, multiply_warpgroups
from portagpu.blas.gemm.variants.wgmma.register_variant import WarpgroupConfig
from portagpu.blas.gemm.variants.wgmma.variant import WarpgroupVariant
from portagpu.runtime.arrays.creation import to_device

pytestmark = [pytest.mark.one_device(fast=True), pytest.mark.each_value]

BEFORE = dataclasses.replace(HOPPER, ptx_target=(8, 0), architecture_ptx=False)
WARPGROUP, EMULATED = WarpgroupVariant(), EmulatedVariant()
SHAPES = [
    (2048, 2048, 2048),
    (4096, 4096, 4096),
    (4096, 4096, 128),
    (1000, 1000, 1000),
    (64, 64, 65536),
    (16, 4096, 11008),
]


@pytest.mark.parametrize("m, n, k", SHAPES)
@pytest.mark.parametrize(
    "dtype, precision", [("float16", ""), ("bfloat16", ""), ("int8", ""), ("float32", "tf32"), ("float32", "f16x3")]
)
def test_choices_are_legal(m, n, k, dtype, precision):
    problem = Problem(m=m, n=n, k=k, dtype=dtype, precision=precision)
    config = default_config(problem, HOPPER)
    variant = variant_of(config)
    assert variant.is_legal(config, problem, HOPPER)
    assert variant.predict(config, problem, HOPPER) > 0
    if isinstance(config, WarpgroupConfig):
        assert config.local_memory <= HOPPER.local_memory_static
        assert config.splits == 1 or config.splits * (128 // problem.itemsize) <= k


def test_large_products_use_large_tiles_and_small_ones_fill_the_device():
    large = default_config(Problem(m=8192, n=8192, k=8192, dtype="float16"), HOPPER)
    assert isinstance(large, WarpgroupConfig) and large.tile_m * large.tile_n >= 128 * 192 and large.splits == 1
    deep = default_config(Problem(m=64, n=64, k=65536, dtype="float16"), HOPPER)
    assert isinstance(deep, WarpgroupConfig) and deep.splits >= 8


@pytest.mark.parametrize("variant", [WARPGROUP, EMULATED])
def test_other_devices_do_without(variant):
    dtype, precision = ("float16", "") if variant is WARPGROUP else ("float32", "f16x3")
    problem = Problem(m=512, n=512, k=512, dtype=dtype, precision=precision)
    assert variant.supports(problem, HOPPER)
    assert not variant.supports(problem, BEFORE)
    for refused in ({"aligned": False}, {"m": 4}, {"c_order": ""}, {"dtype": "float64"}):
        assert not variant.supports(dataclasses.replace(problem, **refused), HOPPER)


def test_precisions_are_those_of_the_device():
    problem = Problem(m=512, n=512, k=512, dtype="float32")
    assert {"f16x3", "bf16x6", "bf16x9", "tf32"} <= set(precisions(problem, HOPPER))
    assert not {"f16x3", "bf16x6", "bf16x9"} & set(precisions(problem, BEFORE))
    assert not variants_for(dataclasses.replace(problem, precision="f16x3"), BEFORE)


# numbers ------------------------------------------------------------------------------------------------------------

DTYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "int8": np.int8, "float32": np.float32}


def laid(host, order, pad):
    """A device matrix in rows (columns, for "F") of a wider array whose gaps hold NaN, or 99."""
    rows = host.T if order == "F" else host
    wide = np.full((rows.shape[0], rows.shape[1] + pad), 99 if rows.dtype == np.int8 else np.nan).astype(rows.dtype)
    wide[:, : rows.shape[1]] = rows
    view = to_device(wide, context=cuda.current_context())[:, : rows.shape[1]]
    return view.T if order == "F" else view


def close(found, a, b, dtype, out, precision):
    wide = a.astype(np.float64) @ b.astype(np.float64)
    if dtype == "int8":
        return np.array_equal(found, wide)
    size = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    unit = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 0.0}[out]
    terms = 2.0**-9 if precision == "tf32" else (a.shape[1] + 8) * 2.0**-23
    return np.all(np.abs(found.astype(np.float64) - wide) <= unit * np.abs(wide) + terms * size)


@pytest.fixture
def context(device):
    if not device.capabilities.architecture_ptx or device.capabilities.ptx_target[0] != 9:
        pytest.skip("this device has no matrix units for warp groups")
    return cuda.current_context()


@pytest.mark.parametrize("m, n, k", [(8, 8, 8), (200, 296, 136), (129, 257, 77), (64, 520, 1000), (300, 40, 4100)])
@pytest.mark.parametrize(
    "dtype, out, precision",
    [
        *(("float16", "float16", ""), ("float16", "float32", ""), ("bfloat16", "bfloat16", ""), ("int8", "int32", "")),
        *(("float32", "float32", "tf32"), ("float32", "float32", "f16x3"), ("float32", "float32", "bf16x6")),
    ],
)
def test_nothing_outside_counts_or_is_written(context, m, n, k, dtype, out, precision):
    """All layouts, in rows that are followed by NaN; what is beside the result stays as it was."""
    generator = np.random.default_rng(m)
    kind = DTYPES[dtype]
    if dtype == "int8":
        a, b = (generator.integers(-90, 90, s).astype(kind) for s in ((m, k), (k, n)))
    else:
        a, b = (generator.standard_normal(s).astype(np.float32).astype(kind) for s in ((m, k), (k, n)))
    target = np.dtype({"bfloat16": ml_dtypes.bfloat16}.get(out, out))
    for a_order, b_order in itertools.product("CF", repeat=2):
        lines = [x.shape[1 if order == "C" else 0] for x, order in ((a, a_order), (b, b_order))]
        pads = [-length % (16 // a.itemsize) + 16 // a.itemsize for length in lines]
        left, right = laid(a, a_order, pads[0]), laid(b, b_order, pads[1])
        pad = -n % (16 // target.itemsize) + 16 // target.itemsize
        around = to_device(np.full((m, n + pad), 77).astype(target), context=context)
        product = Product(a=left, b=right, c=around[:, :n], stream=context.default_stream, precision=precision)
        for variant in (WARPGROUP, EMULATED):
            if not variant.supports(product.problem, context.capabilities):
                continue
            for config in variant.shortlist(product.problem, context.capabilities)[:8]:
                variant.run(config, product)
                whole = around.copy_to_host()
                assert close(whole[:, :n], a, b, dtype, out, precision), config
                assert np.all(whole[:, n:].astype(np.float64) == 77), config


@pytest.mark.parametrize("m, n, k", [(608, 528, 720), (1104, 272, 80), (48, 1040, 2048)])
@pytest.mark.parametrize(
    "dtype, out, precision", [("float16", "float16", ""), ("bfloat16", "float32", ""), ("int8", "int32", "")]
)
def test_blocks_of_a_cluster_share_tiles(context, m, n, k, dtype, out, precision):
    """An odd number of rows of tiles, blocks without a tile of their own, batches, all layouts."""
    if context.capabilities.cluster_size < 2:
        pytest.skip("this device runs no clusters of blocks")
    generator = np.random.default_rng(n)
    kind, target = DTYPES[dtype], np.dtype({"bfloat16": ml_dtypes.bfloat16}.get(out, out))
    draw = (lambda s: generator.integers(-90, 90, s)) if dtype == "int8" else generator.standard_normal
    a, b = draw((2, m, k)).astype(kind), draw((2, k, n)).astype(kind)
    tried = set()
    for a_order, b_order in itertools.product("CF", repeat=2):
        left, right = (
            to_device(x if order == "C" else x.transpose(0, 2, 1).copy(), context=context)
            for x, order in ((a, a_order), (b, b_order))
        )
        left, right = (x if order == "C" else x.transpose(0, 2, 1) for x, order in ((left, a_order), (right, b_order)))
        c = cuda.device_array((2, m, n), target)
        product = Product(a=left, b=right, c=c, stream=context.default_stream, precision=precision)
        shared = [x for x in WARPGROUP.shortlist(product.problem, context.capabilities) if x.cluster == 2]
        for config in shared:
            WARPGROUP.run(config, product)
            whole = c.copy_to_host()
            assert all(close(whole[i], a[i], b[i], dtype, out, precision) for i in range(2)), config
            tried.add((config.tile_m, config.tile_n))
    assert len(tried) >= 6


def warpgroup_text(tile_n, splits=1, cluster=1):
    """The kernel's text for float16."""
    number = np.int32(1)
    c, maps = cuda.device_array((64, 64), np.float16), cuda.device_array(48, np.uint64)
    scratch = (cuda.device_array(64, np.float32), cuda.device_array(64, np.int32)) if splits > 1 else (number, number)
    plan = WarpgroupPlan(
        kind="float16",
        element=np.dtype(np.uint16),
        sums=np.float32,
        tile_m=128,
        tile_n=tile_n,
        stages=4,
        consumers=2,
        group=8,
        splits=splits,
        fan=fan_of(splits),
        levels=levels_of(splits),
        a_transposed=False,
        b_transposed=False,
        columns=64,
        packed="float16",
        wide=64,
        scaled=False,
        exponents=False,
        products=1,
        pieces_a=0,
        pieces_b=0,
        promote=0,
        cluster=cluster,
    )
    given = (maps, Mapped(c, number), Mapped(c, number), c, Parts(*scratch), number, Extents(number, number, number))
    factors, exponents = Factors(np.float32(1), np.float32(0)), Exponents(number, number)
    kernel = cuda.jit(multiply_warpgroups.py_func, cluster=cluster)
    return text_of(kernel, *given, factors, exponents, plan, caps=HOPPER)


def test_clusters_are_there_only_where_they_are_asked_for(device):
    alone, shared = warpgroup_text(256), warpgroup_text(256, cluster=2)
    assert "cluster of" not in alone and ".multicast::cluster" not in alone and "mapa" not in alone
    assert "// cluster of 2 x 1 x 1 blocks" in shared and shared.count(".multicast::cluster") == 2
    assert shared.count("mbarrier.arrive.shared::cluster.b64") == 2
    assert ".release.cluster" not in shared.replace("fence.mbarrier_init.release.cluster", "")  # slow fences


def test_clusters_are_legal_where_parts_of_tiles_are_whole_boxes(device):
    problem = Problem(m=2048, n=2048, k=2048, dtype="float16")
    config = WarpgroupConfig(tile_m=128, tile_n=256, stages=4, consumers=2, group=8, splits=1, cluster=2)
    assert WARPGROUP.is_legal(config, problem, HOPPER)
    assert not WARPGROUP.is_legal(config, problem, dataclasses.replace(HOPPER, cluster_size=1))
    for change in ({"tile_n": 64}, {"tile_n": 192}, {"splits": 2}):
        assert not WARPGROUP.is_legal(dataclasses.replace(config, **change), problem, HOPPER)
    along = dataclasses.replace(problem, b_order="F")
    assert WARPGROUP.is_legal(dataclasses.replace(config, tile_n=64), along, HOPPER)


@pytest.mark.parametrize("tile_n, waits", [(64, 1), (128, 0), (192, 1)])
def test_strips_wait_for_the_drawer_that_they_share(device, tile_n, waits):
    # two drawers take turns: of an odd number of strips, the last of a tile and the first of the next share one
    assert warpgroup_text(tile_n).count("cp.async.bulk.wait_group.read 0;") == 1 + waits


@pytest.mark.parametrize("splits", [1, 8, 32])
def test_split_sums_are_added_by_the_last_of_the_consumers(device, splits):
    text = warpgroup_text(64, splits)
    assert ("membar.gl" in text) == ("atomic_add" in text) == (splits > 1)
