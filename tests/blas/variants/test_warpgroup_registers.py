"""TF32 with an operand across k from registers: numbers with the instructions emulated, banks, and what is compiled."""

from __future__ import annotations

import itertools

import hopper_threads
import numpy as np
import pytest
from test_warpgroups import HOPPER, WARPGROUP

from portagpu import cuda
from portagpu.blas.gemm.core.interface import Product
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.variants.wgmma import register_variant, variant
from portagpu.blas.gemm.variants.wgmma.kernels import WarpgroupPlan, multiply_warpgroups
from portagpu.blas.gemm.variants.wgmma.register_kernels import AcrossPlan, multiply_across
from portagpu.blas.gemm.variants.wgmma.register_variant import WarpgroupConfig
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.creation import to_device

pytestmark = [pytest.mark.one_device(fast=True), pytest.mark.each_value]


class Emulated:
    """What a product enqueues, done at once: maps are arrays of the host, c and scratch memory host copies."""

    def __init__(self, monkeypatch, registers) -> None:
        self.banks = {}
        self.kernel = multiply_across if registers else multiply_warpgroups
        module = register_variant if registers else variant
        monkeypatch.setattr(module, "tensor_maps", self)
        monkeypatch.setattr(module, "_kernel", lambda threads, cluster=1: self)

    def of(self, stream, *boxes):
        self.maps = {}
        for number, box in enumerate(boxes):
            host = box.array.copy_to_host()
            host = np.ascontiguousarray(np.swapaxes(host, -1, -2) if box.transposed else host)
            self.maps[16 * number] = (host if host.ndim == 3 else host[None], box.box)
        return self.maps

    def __getitem__(self, launch):
        grid, threads, _ = launch

        def on_host(x):
            if isinstance(x, tuple) and not isinstance(x, AcrossPlan | WarpgroupPlan):
                return type(x)(*map(on_host, x))
            return x.copy_to_host() if isinstance(x, DeviceNDArray) else x

        def run(maps, a, b, c, parts, *args):
            self.c = maps[32][0]
            parts = on_host(parts)
            self.banks = hopper_threads.launch(
                self.kernel, grid, threads, maps, a, b, self.c, parts, *map(on_host, args)
            )
            assert not np.any(parts.arrived)

        return run


def placed(host, order, context):
    if order == "C":
        return to_device(host, context=context)
    axes = (0, 2, 1) if host.ndim == 3 else (1, 0)
    return to_device(np.ascontiguousarray(host.transpose(axes)), context=context).transpose(axes)


def run(monkeypatch, shape, orders, config, alpha=1.0, beta=0.0, batch=()):
    """The result of a configuration, and what it should be; integers, so that both are exact."""
    m, n, k = shape
    context = cuda.current_context()
    generator = np.random.default_rng(m + n + k)
    a, b, c = (generator.integers(-8, 8, batch + s).astype(np.float32) for s in ((m, k), (k, n), (m, n)))
    product = Product(
        a=placed(a, orders[0], context),
        b=placed(b, orders[1], context),
        c=to_device(c, context=context),
        stream=context.default_stream,
        alpha=alpha,
        beta=beta,
        precision="tf32",
    )
    assert WARPGROUP.is_legal(config, product.problem, HOPPER)
    emulated = Emulated(monkeypatch, config.registers)
    WARPGROUP.run(config, product)
    wanted = alpha * (a @ b) + beta * c
    return emulated, emulated.c.reshape(wanted.shape), wanted


def config_of(orders, first, second, consumers, splits=1, stages=2, m_is_first=None):
    """A configuration whose tile has ``first`` rows of the operand that comes through registers."""
    by_rows = orders == "FF" if m_is_first is None else m_is_first
    tile_m, tile_n = (first, second) if by_rows else (second, first)
    return WarpgroupConfig(
        tile_m=tile_m, tile_n=tile_n, stages=stages, consumers=consumers, group=2, splits=splits, registers=True
    )


@pytest.mark.parametrize("orders", ["CC", "FF"])
@pytest.mark.parametrize(
    "shape, second, consumers", [((40, 72, 36), 32, 1), ((100, 72, 104), 64, 2), ((64, 68, 8), 96, 1)]
)
def test_numbers(monkeypatch, orders, shape, second, consumers):
    config = config_of(orders, 64 * consumers, second, consumers, stages=3)
    _, found, wanted = run(monkeypatch, shape, orders, config)
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("orders", ["CC", "FF"])
def test_every_access_touches_each_bank_once(monkeypatch, orders):
    emulated, found, wanted = run(monkeypatch, (64, 64, 64), orders, config_of(orders, 64, 64, 1))
    assert np.array_equal(found, wanted)
    assert emulated.banks
    for touched in emulated.banks.values():
        assert len(touched) == 16
        banks = [(word + i) % 32 for word, i in itertools.product(touched.values(), range(2))]
        assert sorted(banks) == list(range(32))


@pytest.mark.thorough
@pytest.mark.parametrize("shape, by_rows", [((72, 40, 40), True), ((40, 72, 40), False)])
def test_of_two_operands_across_k_the_smaller_is_copied(monkeypatch, shape, by_rows):
    config = config_of("FC", 64, 32, 1, m_is_first=by_rows)
    _, found, wanted = run(monkeypatch, shape, "FC", config)
    assert np.array_equal(found, wanted)


@pytest.mark.thorough
@pytest.mark.parametrize("orders, splits", [("CC", 2), ("FF", 3)])
def test_scaled_batches_with_split_sums(monkeypatch, orders, splits):
    config = config_of(orders, 64, 32, 1, splits=splits)
    _, found, wanted = run(monkeypatch, (36, 40, 100), orders, config, alpha=2.0, beta=-1.0, batch=(2,))
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("splits, shape, tiles", [(1, (100, 40, 104), (128, 96, 2)), (4, (40, 72, 132), (64, 64, 1))])
def test_operands_along_k_come_from_shared_memory(monkeypatch, splits, shape, tiles):
    tile_m, tile_n, consumers = tiles
    config = WarpgroupConfig(tile_m=tile_m, tile_n=tile_n, stages=3, consumers=consumers, group=2, splits=splits)
    _, found, wanted = run(monkeypatch, shape, "CF", config, alpha=0.5, beta=2.0)
    assert np.array_equal(found, wanted)


def test_defaults_transpose_nothing_where_one_operand_lies_along_k():
    for a_order, b_order in itertools.product("CF", repeat=2):
        problem = Problem(m=4096, n=4096, k=4096, dtype="float32", precision="tf32", a_order=a_order, b_order=b_order)
        best = min(WARPGROUP.shortlist(problem, HOPPER), key=lambda c, p=problem: WARPGROUP.predict(c, p, HOPPER))
        assert best.registers == ((a_order, b_order) != ("C", "F"))
        # both ways are legal, and in the search space
        ways = {c.registers for c in WARPGROUP.shortlist(problem, HOPPER)}
        assert ways == ({False} if (a_order, b_order) == ("C", "F") else {False, True})


def test_only_tf32_needs_registers():
    for dtype in ("float16", "bfloat16", "int8", "uint8"):
        problem = Problem(m=512, n=512, k=512, dtype=dtype)
        assert not any(c.registers for c in WARPGROUP.shortlist(problem, HOPPER))
        axis = next(axis for axis in WARPGROUP.axes(problem, HOPPER) if axis.name == "registers")
        assert axis.values == (False,)
