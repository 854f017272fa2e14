"""A program with annotations: strict type checkers accept it, and take values for what each ``assert_type`` says."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import portagpu
from portagpu import cuda, float32, guvectorize, int32, vectorize, void
from portagpu.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32

Floats = NDArray[np.float32] | cuda.DeviceNDArray
TILE = 16


@cuda.jit
def axpy(a: float, x: Floats, y: Floats) -> None:
    i = cuda.grid(1)
    if TYPE_CHECKING:
        assert_type(i, int)
    if i < y.size:
        y[i] += a * x[i]


@cuda.jit(void(float32, float32[:], float32[:]), fastmath=True)
def declared(a: float, x: Floats, y: Floats) -> None:
    y[cuda.grid(1)] = a * x[cuda.grid(1)]


@cuda.jit("int32(int32, int32)", device=True)
def larger(a: int, b: int) -> int:
    return a if a > b else b


@cuda.jit(device=True, inline=True)
def square(x: float) -> float:
    return x * x


@cuda.jit
def everything(x: Floats, counts: Any, states: cuda.DeviceNDArray, scale: cuda.constexpr) -> None:
    row, column = cuda.grid(2)
    tile = cuda.shared.array((TILE, TILE), dtype=float32)
    mine = cuda.local.array(4, np.float32)
    lanes = cuda.local.array(2, cuda.float32x4)
    tile[cuda.threadIdx.y, cuda.threadIdx.x] = x[row, column]
    cuda.syncthreads()
    total = 0.0
    for n in cuda.unroll(range(4)):
        mine[n] = tile[n, 0] * scale
        total += mine[n]
    lanes[0] = cuda.float32x4(1, 2, 3, 4)
    total = cuda.libdevice.sinf(total) + math.sqrt(total) + square(total)
    total = cuda.fma(total, 2.0, 1.0)
    total = cuda.shfl_down_sync(0xFFFFFFFF, total, 16)
    if TYPE_CHECKING:
        assert_type((row, column), tuple[int, int])
        assert_type(cuda.gridsize(3), tuple[int, int, int])
        assert_type(cuda.threadIdx.x, int)
        assert_type(cuda.blockDim.y, int)
        assert_type(cuda.warpsize, int)
        assert_type(tile, NDArray[Any])
        assert_type(cuda.syncthreads(), None)
        assert_type(square(total), float)
        assert_type(cuda.any_sync(0xFFFFFFFF, total > 0), bool)
    bits = cuda.libdevice.sinf(total).view(np.int32)
    old = cuda.atomic.add(counts, (row,), bits)
    cuda.atomic.max(counts, 0, old)
    cuda.cg.this_grid().sync()
    if xoroshiro128p_uniform_float32(states, row) < cuda.selp(total > 1, 0.5, 0.25):
        x[row, column] = larger(cuda.popc(row), cuda.laneid)


@vectorize
def squared_error(x: float, y: float) -> float:
    return (x - y) ** 2


@vectorize([float32(float32, float32), "float64(float64, float64)"], target="cuda")
def product(x: float, y: float) -> float:
    return x * y


@guvectorize([void(float32[:], float32[:])], "(n)->()", fastmath=True)
def summed(x: Any, out: Any) -> None:
    for value in x:
        out[0] += value


@cuda.reduce
def largest(a: int, b: int) -> int:
    return max(a, b)


def main() -> None:
    host = np.arange(256, dtype=np.float32)
    stream, start, end = cuda.stream(), cuda.event(), cuda.event()
    x = cuda.to_device(host, stream=stream)
    y = cuda.device_array_like(x)
    assert_type(y, cuda.DeviceNDArray)
    y[:] = 1
    start.record(stream)
    axpy[2, 128, stream](2.0, x, y)
    axpy[(2, 1), (128, 1, 1)](2.0, host, y)
    axpy[2, 128, 0, 1024](a=2.0, x=x, y=y)
    axpy.forall(256)(2.0, x, y)
    declared.configure(2, 128)(2.0, x, y)
    end.record(stream)
    stream.synchronize()
    assert_type(start.elapsed_time(end), float)
    assert_type(y.copy_to_host(), np.ndarray[Any, Any])
    assert_type(y[2:5], cuda.DeviceNDArray)
    assert_type(y.reshape(16, 16) @ y.reshape(16, 16), cuda.DeviceNDArray)
    assert_type(portagpu.matmul(x, y), cuda.DeviceNDArray)
    matrix = host.reshape(16, 16)
    assert_type(portagpu.matmul(matrix, matrix, alpha=2.0, precision="tf32"), NDArray[Any])
    assert_type(portagpu.matmul([[1.0, 2.0]], [[3.0], [4.0]], dtype=np.float64), NDArray[Any])
    assert_type(portagpu.grouped_matmul(matrix, host.reshape(1, 16, 16), [0, 16]), NDArray[Any])
    errors = squared_error(x, y)
    print(errors, product(host, host), summed(host), largest(host), cuda.reduce(lambda a, b: a + b)(x))
    with cuda.pinned(host), cuda.defer_cleanup():
        states = create_xoroshiro128p_states(256, seed=1)
    everything[(1, 1), (TILE, TILE)](x.reshape(16, 16), cuda.to_device(np.zeros(16, np.int32)), states, 3)
    kernels: list[cuda.Dispatcher] = [axpy, everything]
    print(
        kernels,
        cuda.get_current_device().WARP_SIZE,
        cuda.gpus[0].name,
        len(cuda.gpus),
        int32(3),
        portagpu.intp,
        cuda.types.intp,
    )
    assert larger.py_func(1, 2) == 2
    cuda.synchronize()


if __name__ == "__main__":
    main()
