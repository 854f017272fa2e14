"""Mistakes that type checkers find before the program runs, one on each line with such a mark."""

from __future__ import annotations

from typing import Any

import numpy as np

import portagpu
from portagpu import cuda, float33, float64, guvectorize, vectorize  # wrong
from portagpu.cuda import libdevice, shered  # wrong
from portagpu.cuda.libdevice import sinff  # wrong
from portagpu.cuda.random import xoroshiro128p_uniform_float16  # wrong


@cuda.jit(devcie=True)  # wrong
def misspelt(x: Any) -> None:
    x[0] = 1


@cuda.jit(debug="yes")  # wrong
def not_a_bool(x: Any) -> None:
    x[0] = 1


@cuda.jit
def kernel(x, n: int) -> None:  # type: ignore[no-untyped-def]
    i = cuda.gird(1)  # wrong
    i, j = cuda.grid(1)  # wrong
    i = cuda.grid(4)  # wrong
    i = cuda.threadIdx.w  # wrong
    tile = cuda.shared.aray(4, float64)  # wrong
    tile = cuda.shared.array(float64)  # wrong
    tile = cuda.shared.array(4, float64, align=16)  # wrong
    cuda.syncthread()  # wrong
    cuda.syncthreads(1)  # wrong
    cuda.atomic.add(tile, 0)  # wrong
    cuda.atomic.ad(tile, 0, 1)  # wrong
    cuda.atomic.add(3, 0, 1)  # wrong
    x[i] = libdevice.sinnf(1.0) + libdevice.sinf()  # wrong
    x[i] = cuda.fp16.haddd(1, 2)  # wrong
    x[i] = cuda.float32x5(1)  # wrong


@vectorize(tagret="cuda")  # wrong
def doubled(x: float) -> float:
    return 2 * x


@guvectorize("(n)->()", writeable_args=())  # wrong
def first(x: Any, out: Any) -> None:
    out[0] = x[0]


host = np.zeros((4, 4), np.float32)
device = cuda.to_devise(host)  # wrong
device = cuda.to_device(host, steam=0)  # wrong
array = cuda.to_device(host)
array.copy_to_hots()  # wrong
array.summ()  # wrong
array @ 3  # wrong
kernel[1, 4](array)  # wrong
kernel[1, 4](array, "four")  # wrong
kernel[1, 4](array, 4, 5)  # wrong
kernel[1, 4](array, number=4)  # wrong
kernel[1](array, 4)  # wrong
kernel[1, 1.5](array, 4)  # wrong
kernel.forall("all")(array, 4)  # wrong
kernel.inspect_opencll()  # wrong
portagpu.matmul(host, host, out=3)  # wrong
portagpu.matmul(host, host, presicion="tf32")  # wrong
portagpu.matmul(host)  # wrong
portagpu.matmull(host, host)  # wrong
cuda.synchronise()  # wrong
cuda.current_context().synchronise()  # wrong
cuda.get_current_device().MAX_THREAD_PER_BLOCK  # wrong
cuda.gpus[0].nmae  # wrong
cuda.stream().sync()  # wrong
cuda.select_device("first", 2)  # wrong
cuda.types.float33  # wrong
