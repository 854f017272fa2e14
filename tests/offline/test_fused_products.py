"""Kernels of CUDA's GPUs store what an epilogue makes of their sums, and CUDA's assembler takes them."""

from __future__ import annotations

import pytest
from hopper_builds import HOPPER, assembled, launches_of, source_of

from portagpu import cuda
from portagpu.blas.gemm.core.fusion import Fusion
from portagpu.blas.gemm.core.interface import Product
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.selection.registry import VARIANTS

pytestmark = [pytest.mark.one_device(fast=True), pytest.mark.each_value]

_CASES = [
    ("pipelined", "float32", "float32", ""),
    ("doubles", "float64", "float64", ""),
    ("fragments", "float16", "float16", ""),
    ("fragments", "int8", "int32", ""),
    ("warpgroup", "float16", "float16", ""),
    ("warpgroup", "float16", "float32", ""),
    ("whole warpgroup", "float16", "float16", ""),
    ("whole warpgroup", "bfloat16", "bfloat16", ""),
    ("warpgroup", "float32", "float32", "tf32"),
    ("skinny_fragments", "float16", "float16", ""),
]


@cuda.jit(device=True)
def bias_and_residual(value, row, column, bias, residual):
    return max(value + bias[column], 0) + residual[row, column]


@pytest.mark.parametrize("name, dtype, out, precision", _CASES)
def test_kernels_of_cuda(device, tmp_path, monkeypatch, name, dtype, out, precision):
    variant = next(v for v in VARIANTS if v.name == name.removeprefix("whole "))
    m, n, k = (4 if "skinny" in name else 2048 if "whole" in name else 256), 512, 128  # whole: no sum is split
    if "whole" in name:
        n = 2048
    problem = Problem(m=m, n=n, k=k, dtype=dtype, precision=precision)
    config = min(variant.shortlist(problem, HOPPER), key=lambda c: variant.predict(c, problem, HOPPER))
    a, b = cuda.device_array((m, k), dtype), cuda.device_array((k, n), dtype)
    c, bias = cuda.device_array((m, n), out), cuda.device_array(n, out)
    fusion = Fusion(function=bias_and_residual, arguments=(bias, cuda.device_array((m, n), out)))
    product = Product(a=a, b=b, c=c, stream=cuda.default_stream(), precision=precision, fusion=fusion)
    made = launches_of(lambda: variant.run(config, product), monkeypatch)
    kernel, shape, given = made[-1]
    source = source_of(kernel, given, shape.block[0])
    assert "bias_and_residual_(" in source
    said = assembled(source, shape.block[0], tmp_path)
    assert "0 bytes spill stores, 0 bytes spill loads" in said, said
