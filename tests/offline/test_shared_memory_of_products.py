"""What variants take for their shared memory is no less than what their kernels have: else a launch is refused."""

from __future__ import annotations

import random
import zlib
from dataclasses import replace

import pytest
from hopper_builds import HOPPER, generated, launches_of

from portagpu import cuda
from portagpu.blas.gemm.core.interface import Product
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.selection.registry import VARIANTS

pytestmark = [pytest.mark.one_device(fast=True), pytest.mark.each_value]
_VARIANTS = [
    ("pipelined", "float32", ""),
    ("doubles", "float64", ""),
    ("fragments", "float16", ""),
    ("fragments", "int8", ""),
    ("warpgroup", "float16", ""),
    ("warpgroup", "float32", "tf32"),
]
_TRIES, _EACH = 4000, 2


def legal(variant, problem, generator):
    """Configurations with split sums, by chance."""
    found, axes = [], variant.axes(problem, HOPPER)
    for _ in range(_TRIES):
        chosen = {axis.name: generator.choice(axis.values) for axis in axes}
        config = variant.config_type(**chosen)
        if max(chosen.get("split_k", 1), chosen.get("splits", 1)) > 1 and variant.is_legal(config, problem, HOPPER):
            found.append(config)
            if len(found) == _EACH:
                break
    return found


@pytest.mark.one_device(fast=True)
@pytest.mark.parametrize("orders", ["CC", "CF", "FC", "FF"])
@pytest.mark.parametrize("name, dtype, precision", _VARIANTS)
def test_kernels_have_no_more_than_is_told(device, monkeypatch, name, dtype, precision, orders):
    variant = next(one for one in VARIANTS if one.name == name)
    m, n, k = 256, 384, 4096
    out = "int32" if dtype == "int8" else ""
    problem = Problem(m=m, n=n, k=k, dtype=dtype, precision=precision, out=out, a_order=orders[0], b_order=orders[1])
    if not variant.supports(problem, HOPPER):
        pytest.skip("the variant has no such products")
    a = cuda.device_array((m, k), dtype, order=orders[0])
    b = cuda.device_array((k, n), dtype, order=orders[1])
    c = cuda.device_array((m, n), out or dtype)
    product = Product(a=a, b=b, c=c, stream=cuda.default_stream(), precision=precision)
    configs = legal(variant, problem, random.Random(zlib.crc32(f"{name} {dtype} {orders}".encode())))
    assert configs
    for config in configs:
        kernel, shape, given = launches_of(lambda config=config: variant.run(config, product), monkeypatch)[-1]
        told = config.local_memory
        told = told(problem) if callable(told) else told
        assert generated(kernel, given, shape.block[0]).static_shared <= told, config


@pytest.mark.parametrize("orders", ["CC", "CF"])
@pytest.mark.parametrize("name, dtype", [("skinny", "float32"), ("skinny", "float64"), ("skinny_fragments", "float16")])
def test_a_device_with_a_byte_less_is_given_others(device, monkeypatch, name, dtype, orders):
    """Of products with few rows, whose shared memory follows from more than the configuration."""
    variant = next(one for one in VARIANTS if one.name == name)
    m, n, k = 4, 4096, 4096
    problem = Problem(m=m, n=n, k=k, dtype=dtype, a_order=orders[0], b_order=orders[1])
    a, b = cuda.device_array((m, k), dtype, order=orders[0]), cuda.device_array((k, n), dtype, order=orders[1])
    product = Product(a=a, b=b, c=cuda.device_array((m, n), dtype), stream=cuda.default_stream())
    configs = legal(variant, problem, random.Random(zlib.crc32(f"{name} {dtype} {orders}".encode())))
    assert configs
    for config in configs:
        kernel, shape, given = launches_of(lambda config=config: variant.run(config, product), monkeypatch)[0]
        taken = generated(kernel, given, shape.block[0]).static_shared
        assert not variant.is_legal(config, problem, replace(HOPPER, local_memory_static=taken - 1)), config
