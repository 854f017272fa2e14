"""The bulk variant: what it computes, with bulk copies emulated, what is shared out, and when it is chosen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hopper_threads import Cuda, launch

from portagpu import cuda
from portagpu.blas import bulk_variant
from portagpu.blas.bulk_kernels import TILE_K, BulkPlan, add_products, multiply_bulk
from portagpu.blas.bulk_variant import BulkConfig, BulkVariant, Share, share_out
from portagpu.blas.problem import Problem
from portagpu.blas.registry import default_config
from portagpu.blas.share_kernels import part_of, parts_of, share_of, share_start
from portagpu.blas.variant import Product
from portagpu.blas.vectors import vector_type
from portagpu.codegen.program import generate
from portagpu.cuda import arguments
from portagpu.device.ideal import IDEAL
from portagpu.ir.types import ConstantType
from portagpu.ir.verify import verify

HOPPER = replace(
    IDEAL,
    local_memory_static=231424,
    compute_units=132,
    clock_mhz=1980,
    max_work_group_size=1024,
    max_work_item_sizes=(1024, 1024, 64),
    preferred_multiple=32,
)
BULK = BulkVariant()
LAYOUTS = [(a, b) for a in (False, True) for b in (False, True)]


# numbers --------------------------------------------------------------------------------------------------------------


def add_outer(acc, rows, columns, turn):
    """`add_products`, faster on the host."""
    acc += np.outer(np.concatenate(rows[turn]), np.concatenate(columns[turn]))


def operand_of(host, along_k, box):
    """The map of a matrix (batch, x, k): as it lies in memory, and the tile there."""
    return (host, box) if along_k else (host.transpose(0, 2, 1), box[::-1])


def emulated(a, b, c, plan, share, order, alpha=1.0, beta=0.0):
    """Run the kernel, blocks in some order; c, with gaps after its rows, becomes the result."""
    tile_m, tile_n = plan.tile_m, plan.tile_n
    maps = {
        0: operand_of(a, plan.a_along_k, (tile_m, TILE_K)),
        16: operand_of(b.transpose(0, 2, 1), plan.b_along_k, (tile_n, TILE_K)),
    }
    blocks = len(order)
    parts = np.full(2 * blocks * tile_m * tile_n, np.nan, np.float32)
    arrived = np.zeros(blocks, np.int32)
    batch, m, n = a.shape[0], a.shape[1], b.shape[2]
    pitch = c.shape[2]
    numbers = (m, n, a.shape[2], int(batch > 1), int(batch > 1), pitch, m * pitch)
    numbers += (share.whole, share.least, share.more, np.float32(alpha), np.float32(beta))
    given = (maps, c.reshape(-1), parts, arrived, *numbers, Cuda(0, 1, 1, {}).float32x4, plan)
    banks = launch(multiply_bulk, blocks, 384, *given, order=order, instead={"add_products": add_outer})
    assert not arrived.any()
    return banks


@pytest.mark.parametrize(
    "a_along, b_along, tile, order",
    [
        (True, False, (128, 256), (0, 1, 2, 3)),
        (True, True, (256, 128), (2, 3, 1, 0)),
        (False, True, (128, 256), (3, 2, 1, 0)),
        (False, False, (256, 128), (1, 0, 3, 2)),
    ],
)
def test_shared_tiles(a_along, b_along, tile, order):
    """Two tiles of three steps for four blocks: two or three of them add to each tile, whoever comes last."""
    tile_m, tile_n = tile
    m, n, k = tile_m + 6, 20, 70
    generator = np.random.default_rng(3)
    a, b = (generator.standard_normal((1, *shape)).astype(np.float32) for shape in ((m, k), (k, n)))
    c = np.full((1, m, n + 4), 77, np.float32)
    c[:, :, :n] = np.nan  # must not be read
    plan = BulkPlan(tile_m, tile_n, 2, 8, a_along, b_along)
    share = share_out(2, 3, 4)
    assert share == Share(0, 1, 2)
    banks = emulated(a, b, c, plan, share, order)
    for touched in banks.values():
        for first in (0, 8):  # of eight threads that read or write 16 bytes each, none waits for another's bank
            words = {word for thread, word in touched.items() if thread % 16 // 8 * 8 == first}
            assert len({word // 4 % 8 for word in words}) == len(words)
    found = c.copy()
    exact = a.astype(np.float64) @ b
    assert np.all(np.abs(found[:, :, :n] - exact) <= 2.0**-23 * k * (np.abs(a).astype(np.float64) @ np.abs(b)))
    assert np.all(found[:, :, n:] == 77)


def test_sums_do_not_depend_on_who_comes_last():
    generator = np.random.default_rng(4)
    a, b = (generator.standard_normal((1, *shape)).astype(np.float32) for shape in ((9, 70), (70, 8)))
    found = []
    for order in ((0, 1, 2), (2, 1, 0)):
        c = np.zeros((1, 9, 8), np.float32)
        emulated(a, b, c, BulkPlan(128, 256, 3, 8, True, False), share_out(1, 3, 3), order)
        found.append(c)
    assert np.array_equal(found[0], found[1])


def test_batches_scaling_and_whole_tiles():
    """Three products in turns of two blocks, more steps than places in the ring."""
    generator = np.random.default_rng(5)
    a, b = (generator.standard_normal((3, *shape)).astype(np.float32) for shape in ((16, 70), (70, 12)))
    c = generator.standard_normal((3, 16, 12)).astype(np.float32)
    exact = 1.5 * (a.astype(np.float64) @ b) - 0.5 * c
    emulated(a, b, c, BulkPlan(128, 256, 2, 4, True, False), Share(3, 0, 0), (0, 1), 1.5, -0.5)
    assert np.allclose(c, exact, atol=1e-4)


@cuda.jit
def one_k(a, b, c, vector: cuda.constexpr):
    acc = cuda.local.array((16, 8), vector.dtype)
    rows = cuda.local.array((2, 4), vector)
    columns = cuda.local.array((2, 2), vector)
    for i in cuda.unroll(range(4)):
        rows[1, i] = cuda.vload(a, i * 4, 4, aligned=True)
    for j in cuda.unroll(range(2)):
        columns[1, j] = cuda.vload(b, j * 4, 4, aligned=True)
    for i in cuda.unroll(range(16)):
        for j in cuda.unroll(range(8)):
            acc[i, j] = c[i, j]
    add_products(acc, rows, columns, 1)
    for i in cuda.unroll(range(16)):
        for j in cuda.unroll(range(8)):
            c[i, j] = acc[i, j]


def test_products_of_one_k(device):
    generator = np.random.default_rng(6)
    a, b, c = (generator.standard_normal(shape).astype(np.float32) for shape in (16, 8, (16, 8)))
    found = cuda.to_device(c)
    one_k[1, 1](cuda.to_device(a), cuda.to_device(b), found, vector_type("float32", 4))
    assert np.allclose(found.copy_to_host(), c + np.outer(a, b), atol=1e-5)


@pytest.mark.parametrize("m, n, k", [(8, 8, 8), (200, 296, 136), (129, 260, 77), (520, 1000, 1000), (1030, 2052, 515)])
def test_numbers_on_a_device_that_has_the_units(device, m, n, k):
    context = cuda.current_context()
    if not context.capabilities.architecture_ptx or context.capabilities.ptx_target[0] != 9:
        pytest.skip("this device has no bulk copies")
    generator = np.random.default_rng(m)
    a, b = (generator.standard_normal(shape).astype(np.float32) for shape in ((m, -(-k // 4) * 4), (k, n)))
    result = cuda.to_device(np.full((m, n + 4), 77, np.float32))
    product = Product(
        a=cuda.to_device(a)[:, :k], b=cuda.to_device(b), c=result[:, :n], stream=context.default_stream, alpha=2.0
    )
    a = a[:, :k]
    bound = 2.0**-22 * (k + 4) * (np.abs(a).astype(np.float64) @ np.abs(b))
    for config in BULK.candidates(product.problem, context.capabilities):
        BULK.run(config, product)
        found = result.copy_to_host()
        assert np.all(np.abs(found[:, :n] - 2 * (a.astype(np.float64) @ b)) <= bound), config
        assert np.all(found[:, n:] == 77), config


# shares ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tiles, steps, blocks", [(512, 128, 132), (128, 64, 132), (7, 3, 5), (3, 1, 8), (10, 4, 5)])
def test_every_step_has_one_block(tiles, steps, blocks):
    share = share_out(tiles, steps, blocks)
    assert share.whole % blocks == 0 and tiles - share.whole < blocks
    seen = np.zeros((tiles - share.whole, steps), int)
    for block in range(blocks):
        first, after = (share_start.py_func(x, share.least, share.more) for x in (block, block + 1))
        seen.reshape(-1)[first:after] += 1
        assert all(share_of.py_func(step, share.least, share.more) == block for step in range(first, after))
    assert np.all(seen == 1)


@cuda.jit
def list_parts(found, steps, least, more):
    block = np.int32(cuda.blockIdx.x)
    for part in range(parts_of(block, steps, least, more)):
        tile, begin, end = part_of(block, part, steps, least, more)
        for step in range(begin, end):
            cuda.atomic.add(found, (tile, step), 1)


def test_parts_cover_the_tiles(device):
    for tiles, steps, blocks in ((116, 128, 132), (7, 3, 10), (3, 1, 8)):
        share = share_out(tiles, steps, blocks)
        found = cuda.to_device(np.zeros((tiles, steps), np.int32))
        list_parts[blocks, 1](found, np.int32(steps), np.int32(share.least), np.int32(share.more))
        assert np.all(found.copy_to_host() == 1)


# text and rules -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("a_along, b_along", LAYOUTS)
def test_text(device, a_along, b_along):
    c, maps, arrived = (cuda.device_array(64, dtype) for dtype in (np.float32, np.uint64, np.int32))
    numbers = (*map(np.int32, (8,) * 5), np.uint32(8), np.uint32(8), *map(np.int32, (8,) * 3), np.float32(1))
    given = (maps, c, c, arrived, *numbers, np.float32(0), vector_type("float32", 4))
    given += (BulkPlan(128, 256, 3, 8, a_along, b_along),)
    names, fixed = multiply_bulk.source.parameters, multiply_bulk.source.constexpr
    types = tuple(
        ConstantType(a) if n in fixed else arguments.argument_type(a, alias=False)
        for n, a in zip(names, given, strict=True)
    )
    program = multiply_bulk.lowered(types, HOPPER)
    verify(program)
    text = generate(program, HOPPER).source
    assert text.count("cp.async.bulk.tensor.3d") == 2
    assert text.count("setmaxnreg.dec.sync.aligned.u32 72;") == text.count("setmaxnreg.inc.sync.aligned.u32 216;") == 1
    # those who turn lines wait for each other; workers do before and while they count their block
    assert text.count("barrier.sync.aligned %0, %1;") == (3 if a_along or b_along else 2)


class Noted:
    """In place of the kernel: notes the grid and the arguments."""

    def __getitem__(self, shape):
        self.grid = shape[0]
        return lambda *given: setattr(self, "given", given)


@pytest.mark.parametrize("a_order, b_order, batch, shared", [("C", "C", 0, 1), ("F", "C", 0, 0), ("C", "F", 3, 1)])
def test_launches(device, monkeypatch, a_order, b_order, batch, shared):
    """The kernel gets what it says it takes: maps of tiles as they lie in memory, and one block for each unit."""
    outer = (batch,) if batch else ()
    noted, boxes = Noted(), []

    def note(stream, *found):
        boxes.extend(found)
        return cuda.device_array(32, np.uint64)

    monkeypatch.setattr(bulk_variant, "_kernel", noted)
    monkeypatch.setattr(bulk_variant.tensor_maps, "of", note)
    x, y = (cuda.device_array((*outer, 512, 512), np.float32) for _ in "ab")
    turned = (0, 2, 1) if batch else (1, 0)
    a, b = x if a_order == "C" else x.transpose(turned), y if b_order == "C" else y.transpose(turned)
    c = cuda.device_array((*outer, 512, 512), np.float32)
    config = BulkConfig(tile_m=128, tile_n=256, stages=3, group=8, shared=shared)
    BULK.run(config, Product(a=a, b=b, c=c, stream=cuda.current_context().default_stream))
    names, fixed = multiply_bulk.source.parameters, multiply_bulk.source.constexpr
    types = tuple(
        ConstantType(a) if n in fixed else arguments.argument_type(a, alias=False)
        for n, a in zip(names, noted.given, strict=True)
    )
    verify(multiply_bulk.lowered(types, HOPPER))
    given = dict(zip(names, noted.given, strict=True))
    units, tiles = cuda.current_context().capabilities.compute_units, 8 * (batch or 1)
    assert noted.grid == (units if shared and tiles % units else min(units, tiles))
    assert given["whole"] == (tiles - tiles % units if shared else tiles)
    assert [(box.box, box.swizzle) for box in boxes] == [
        ((128, 32), 128) if a_order == "C" else ((32, 128), 0),
        ((256, 32), 128) if b_order == "F" else ((32, 256), 0),
    ]
    assert given["apart_a"] == given["apart_b"] == bool(batch)


def test_choices():
    """Large products of operands in C order; all else as without the variant."""
    for n in (2048, 4096, 8192):
        problem = Problem(m=n, n=n, k=n, dtype="float32")
        config = default_config(problem, HOPPER)
        assert isinstance(config, BulkConfig)
        assert BULK.is_legal(config, problem, HOPPER) and BULK.predict(config, problem, HOPPER) > 0
        assert config in set(BULK.candidates(problem, HOPPER))
        for other in ({"b_order": "F"}, {"a_order": "F"}, {"k": 128}, {"m": 512, "n": 512}, {"dtype": "float64"}):
            assert not isinstance(default_config(replace(problem, **other), HOPPER), BulkConfig)


def test_limits():
    problem = Problem(m=512, n=512, k=512, dtype="float32")
    assert BULK.supports(problem, HOPPER)
    assert all(BULK.supports(replace(problem, a_order=a, b_order=b), HOPPER) for a in "CF" for b in "CF")
    for refused in ({"aligned": False}, {"c_order": ""}, {"a_order": ""}, {"dtype": "float16"}, {"precision": "tf32"}):
        assert not BULK.supports(replace(problem, **refused), HOPPER)
    assert not BULK.supports(problem, replace(HOPPER, ptx_target=(8, 0), architecture_ptx=False))
    deep = BulkConfig(tile_m=256, tile_n=128, stages=4, group=8, shared=1)
    assert BULK.is_legal(deep, problem, HOPPER)
    assert not BULK.is_legal(deep, replace(problem, b_order="F"), HOPPER)  # both turned: no memory for four places
    assert not BULK.is_legal(replace(deep, tile_n=256), problem, HOPPER)
