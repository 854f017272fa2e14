"""Kernels of warp groups spill no registers, and the assembler leaves their products asynchronous.

The driver's compiler stands aside: clang makes PTX of the OpenCL C, and CUDA's assembler says what it makes of that.
"""

from __future__ import annotations

import numpy as np
import pytest
from hopper_builds import assembled, launches_of, source_of

from portagpu import cuda
from portagpu.blas.gemm.core.interface import Product
from portagpu.blas.gemm.core.kernel_arguments import Extents, Factors, Parts
from portagpu.blas.gemm.kernels.split_k import fan_of, levels_of
from portagpu.blas.gemm.variants.wgmma.kernels import Mapped
from portagpu.blas.gemm.variants.wgmma.register_kernels import AcrossPlan, multiply_across
from portagpu.blas.gemm.variants.wgmma.register_variant import WarpgroupConfig
from portagpu.blas.gemm.variants.wgmma.variant import WarpgroupVariant


@pytest.mark.parametrize("tile_m, tile_n, stages, consumers, along", [(128, 256, 4, 2, False), (128, 192, 4, 2, True)])
def test_registers_of_clusters(tmp_path, monkeypatch, tile_m, tile_n, stages, consumers, along):
    config = WarpgroupConfig(
        tile_m=tile_m, tile_n=tile_n, stages=stages, consumers=consumers, group=8, splits=1, cluster=2
    )
    a, c = (cuda.device_array((512, 512), np.float16) for _ in range(2))
    b = cuda.device_array((512, 512), np.float16, order="F" if along else "C")
    product = Product(a=a, b=b, c=c, stream=cuda.default_stream())
    ((kernel, _, given),) = launches_of(lambda: WarpgroupVariant().run(config, product), monkeypatch)[-1:]
    said = assembled(source_of(kernel, given, config.threads), config.threads, tmp_path)
    assert "serialized" not in said and "setmaxnreg' ignored" not in said
    assert "0 bytes spill stores, 0 bytes spill loads" in said


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    "consumers, other, stages, turned, splits",
    [(2, 256, 4, True, 1), (2, 256, 4, False, 4), (3, 128, 4, True, 4), (1, 64, 8, False, 1)],
)
def test_registers_of_tf32(tmp_path, consumers, other, stages, turned, splits):
    number, threads = np.int32(1), 128 * (consumers + 1)
    c, words = cuda.device_array((1, 256, 256), np.float32), cuda.device_array(48, np.uint64)
    scratch = cuda.device_array(4, np.float32), cuda.device_array(4, np.int32)
    parts, arrived = scratch if splits > 1 else (number, number)
    plan = AcrossPlan(
        tile_n=other,
        stages=stages,
        consumers=consumers,
        group=8,
        splits=splits,
        fan=fan_of(splits),
        levels=levels_of(splits),
        c_transposed=turned,
        scaled=False,
    )
    given = (words, Mapped(c, number), Mapped(c, number), c, Parts(parts, arrived), number)
    given += (Extents(number, number, number), Factors(np.float32(1), np.float32(0)), plan)
    said = assembled(source_of(multiply_across, given, threads), threads, tmp_path)
    assert "serialized" not in said and "setmaxnreg' ignored" not in said
    assert "0 bytes spill stores, 0 bytes spill loads" in said
