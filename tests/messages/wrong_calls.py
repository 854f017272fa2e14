"""Wrong launches, array operations and products: each call must raise one of our errors."""

from __future__ import annotations

import numpy as np

import portagpu
from portagpu import cuda


@cuda.jit
def fill(x, value):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = value


@cuda.jit
def shaped(x, n: cuda.constexpr):
    a = cuda.local.array(n, np.float32)
    a[0] = 1
    x[0] = a[0]


@cuda.jit("void(float32[:], int32)")
def declared(x, n):
    x[0] = n


@cuda.jit(block_dim=(8, 1, 1))
def for_eight(x):
    x[cuda.threadIdx.x] = 1


@cuda.jit(device=True)
def helper(x):
    return x


def zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


CASES = {
    "kernel without configuration": lambda: fill(zeros(4), 1),
    "only one configuration value": lambda: fill[1](zeros(4), 1),
    "grid of zero blocks": lambda: fill[0, 32](zeros(4), 1),
    "grid from true division": lambda: fill[4 / 2, 32](zeros(4), 1),
    "four-dimensional block": lambda: fill[1, (2, 2, 2, 2)](zeros(4), 1),
    "negative block": lambda: fill[1, -1](zeros(4), 1),
    "block too large": lambda: fill[1, 10**6](zeros(4), 1),
    "negative shared memory": lambda: fill[1, 32, 0, -1](zeros(4), 1),
    "too much shared memory": lambda: fill[1, 32, 0, 2**30](zeros(4), 1),
    "stream of a wrong type": lambda: fill[1, 32, "stream"](zeros(4), 1),
    "too few arguments": lambda: fill[1, 32](zeros(4)),
    "too many arguments": lambda: fill[1, 32](zeros(4), 1, 2),
    "unknown keyword": lambda: fill[1, 32](zeros(4), valeu=1),
    "list argument": lambda: fill[1, 32]([1, 2, 3], 1),
    "string argument": lambda: fill[1, 32](zeros(4), "one"),
    "dict argument": lambda: fill[1, 32](zeros(4), {}),
    "integer beyond 64 bits": lambda: fill[1, 32](zeros(4), 2**70),
    "array of objects": lambda: fill[1, 32](np.array([None, 1]), 1),
    "array of complex numbers": lambda: fill[1, 32](zeros(4, dtype=np.complex64), 1),
    "array of dates": lambda: fill[1, 32](zeros(4, dtype="M8[s]"), 1),
    "foreign byte order": lambda: fill[1, 32](zeros(4, dtype=">f4"), 1),
    "unhashable compile-time argument": lambda: shaped[1, 1](zeros(4), [1]),
    "compile-time argument of a wrong kind": lambda: shaped[1, 1](zeros(4), 2.5),
    "array of another dtype than declared": lambda: declared[1, 1](zeros(4, dtype=np.float64), 1),
    "array of other axes than declared": lambda: declared[1, 1](zeros(4, 4), 1),
    "block other than fixed": lambda: for_eight[1, 16](zeros(16)),
    "device function launched": lambda: helper[1, 1](zeros(4)),
    "device function called on the host": lambda: helper(1),
    "intrinsic called on the host": lambda: cuda.grid(1),
    "read-only result": lambda: fill[1, 32](cuda.Out(np.frombuffer(b"12345678", np.float32)), 1),
    "In around a list": lambda: cuda.In([1, 2]),
    "unknown option": lambda: cuda.jit(fast_math=True),
    "unreadable signature": lambda: cuda.jit("void(float32[:"),
    "unknown type in a signature": lambda: cuda.jit("void(float33[:])"),
    "signature of other length": lambda: cuda.jit("void(float32[:])")(fill.py_func),
    "jit of a number": lambda: cuda.jit(3),
    "jit of a builtin": lambda: cuda.jit(len)[1, 1](zeros(4)),
    "lambda kernel": lambda: cuda.jit(lambda x: None)[1, 1](zeros(4)),
    "kernel with *args": lambda: cuda.jit(_variadic)[1, 1](zeros(4)),
    "unknown device": lambda: cuda.select_device("no such device"),
    "negative shape": lambda: cuda.device_array(-1),
    "array too large": lambda: cuda.device_array(2**50, np.float32),
    "reshape to another size": lambda: cuda.to_device(zeros(4)).reshape(3),
    "copy to another shape": lambda: cuda.to_device(zeros(4)).copy_to_host(zeros(5)),
    "index beyond the end": lambda: cuda.to_device(zeros(4))[7],
    "fancy indexing": lambda: cuda.to_device(zeros(4))[[0, 1]],
    "use after close": lambda: _closed().copy_to_host(),
    "wrapping a number": lambda: cuda.as_cuda_array(3),
    "product of shapes that do not fit": lambda: portagpu.matmul(zeros(2, 3), zeros(4, 5)),
    "product of integers": lambda: portagpu.matmul(zeros(2, 3, dtype=np.int32), zeros(3, 2, dtype=np.int32)),
    "product of batches that do not broadcast": lambda: portagpu.matmul(zeros(2, 3, 4), zeros(3, 4, 5)),
    "product of a scalar": lambda: portagpu.matmul(np.float32(2), zeros(3, 4)),
    "product of host and device": lambda: portagpu.matmul(zeros(3, 3), cuda.to_device(zeros(3, 3))),
    "product of two dtypes on the device": lambda: (
        cuda.to_device(zeros(3, 3)) @ cuda.to_device(zeros(3, 3, dtype=np.float64))
    ),
    "product into a wrong shape": lambda: portagpu.matmul(zeros(2, 3), zeros(3, 4), out=zeros(2, 3)),
    "product into a wrong dtype": lambda: portagpu.matmul(zeros(2, 3), zeros(3, 4), out=zeros(2, 4, dtype=np.float64)),
    "product into a list": lambda: portagpu.matmul(zeros(2, 3), zeros(3, 4), out=[[0] * 4] * 2),
    "product of text": lambda: portagpu.matmul("a", zeros(3, 4)),
    "ufunc without implementation": lambda: np.sin(cuda.to_device(zeros(4))),
}


def _variadic(*args):
    pass


def _closed():
    array = cuda.to_device(zeros(4))
    array.close()
    return array
