"""Wrong launches, array operations and products: each call must raise one of our errors."""

from __future__ import annotations

import array
import operator

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


def on_device(*shape, dtype=np.float32):
    return cuda.to_device(zeros(*shape, dtype=dtype))


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
    "array of extended precision": lambda: fill[1, 32](zeros(4, dtype=np.clongdouble), 1),
    "array of text": lambda: fill[1, 32](np.array(["a", "b"]), 1),
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
    "misspelt type in a signature": lambda: cuda.jit("void(flot32[:])"),
    "misspelt option": lambda: cuda.jit(devcie=True),
    "misspelt argument": lambda: fill[1, 1](arary=zeros(4), value=1),
    "argument of a class that begins with a vowel": lambda: fill[1, 1](array.array("d", [1.0]), 1),
    "array of long doubles": lambda: fill[1, 1](zeros(4, dtype=np.longdouble), 1),
    "unknown type in a signature": lambda: cuda.jit("void(float33[:])"),
    "signature of other length": lambda: cuda.jit("void(float32[:])")(fill.py_func),
    "jit of a number": lambda: cuda.jit(3),
    "jit of a builtin": lambda: cuda.jit(len)[1, 1](zeros(4)),
    "kernel with **kwargs": lambda: cuda.jit(_variadic)[1, 1](zeros(4)),
    "unknown device": lambda: cuda.select_device("no such device"),
    "negative shape": lambda: cuda.device_array(-1),
    "array too large": lambda: cuda.device_array(2**50, np.float32),
    "reshape to another size": lambda: cuda.to_device(zeros(4)).reshape(3),
    "copy to another shape": lambda: cuda.to_device(zeros(4)).copy_to_host(zeros(5)),
    "index beyond the end": lambda: cuda.to_device(zeros(4))[7],
    "fancy indexing": lambda: cuda.to_device(zeros(4))[[0, 9]],
    "indexing by floats": lambda: cuda.to_device(zeros(4))[[0.5, 1.5]],
    "use after close": lambda: _closed().copy_to_host(),
    "wrapping a number": lambda: cuda.as_cuda_array(3),
    "product of shapes that do not fit": lambda: portagpu.matmul(zeros(2, 3), zeros(4, 5)),
    "product of integers as floats": lambda: portagpu.matmul(
        zeros(2, 3, dtype=np.int32), zeros(3, 2, dtype=np.int32), dtype=np.float32
    ),
    "product of objects": lambda: portagpu.matmul(zeros(2, 3, dtype=object), zeros(3, 2)),
    "product of long integers times a fraction": lambda: portagpu.matmul(
        zeros(2, 3, dtype=np.int64), zeros(3, 2, dtype=np.int64), alpha=0.5
    ),
    "product of bools times a number": lambda: portagpu.matmul(zeros(2, 3, dtype=bool), zeros(3, 2, dtype=bool), alpha=2),
    "product in an unknown precision": lambda: portagpu.matmul(zeros(2, 3), zeros(3, 2), precision="fast"),
    "product in a precision of another dtype": lambda: portagpu.matmul(
        zeros(2, 3, dtype=np.float64), zeros(3, 2, dtype=np.float64), precision="tf32"
    ),
    "product as an impossible dtype": lambda: portagpu.matmul(zeros(2, 3), zeros(3, 2), dtype=np.int32),
    "product as no dtype": lambda: portagpu.matmul(zeros(2, 3), zeros(3, 2), dtype="nonsense"),
    "product plus nothing": lambda: portagpu.matmul(zeros(2, 3), zeros(3, 2), beta=1),
    "product times text": lambda: portagpu.matmul(zeros(2, 3), zeros(3, 2), alpha="2"),
    "product times a complex number": lambda: portagpu.matmul(zeros(2, 3), zeros(3, 2), alpha=1j),
    "product of integers times a fraction": lambda: portagpu.matmul(
        zeros(2, 3, dtype=np.int8), zeros(3, 2, dtype=np.int8), alpha=0.5
    ),
    "grouped product of matrices": lambda: portagpu.grouped_matmul(zeros(4, 3), zeros(3, 2), [0, 4]),
    "grouped product with too few offsets": lambda: portagpu.grouped_matmul(zeros(4, 3), zeros(2, 3, 2), [0, 4]),
    "grouped product with offsets that descend": lambda: portagpu.grouped_matmul(
        zeros(4, 3), zeros(2, 3, 2), [0, 5, 4]
    ),
    "grouped product with fractional offsets": lambda: portagpu.grouped_matmul(
        zeros(4, 3), zeros(2, 3, 2), [0, 1.5, 4]
    ),
    "product of batches that do not broadcast": lambda: portagpu.matmul(zeros(2, 3, 4), zeros(3, 4, 5)),
    "product of a scalar": lambda: portagpu.matmul(np.float32(2), zeros(3, 4)),
    "product of host and device": lambda: portagpu.matmul(zeros(3, 3), cuda.to_device(zeros(3, 3))),
    "product of a device array and a number": lambda: on_device(3, 3) @ 2,
    "product of a list and a device array": lambda: portagpu.matmul([1, 2, 3], on_device(3, 3)),
    "product of two dtypes on the device": lambda: portagpu.matmul(
        cuda.to_device(zeros(3, 3)), cuda.to_device(zeros(3, 3, dtype=np.float64))
    ),
    "product into a wrong shape": lambda: portagpu.matmul(zeros(2, 3), zeros(3, 4), out=zeros(2, 3)),
    "product into a wrong dtype": lambda: portagpu.matmul(zeros(2, 3), zeros(3, 4), out=zeros(2, 4, dtype=np.float64)),
    "product into a list": lambda: portagpu.matmul(zeros(2, 3), zeros(3, 4), out=[[0] * 4] * 2),
    "product into a read-only array": lambda: portagpu.matmul(
        zeros(1, 1), zeros(1, 1), out=np.frombuffer(bytes(4), np.float32).reshape(1, 1)
    ),
    "product as a dtype of other machines": lambda: portagpu.matmul(zeros(2, 3), zeros(3, 2), dtype=np.dtype(">f4")),
    "product times a span of time": lambda: portagpu.matmul(zeros(2, 3), zeros(3, 2), alpha=np.timedelta64(2, "s")),
    "product of text": lambda: portagpu.matmul("a", zeros(3, 4)),
    "shape that is a float": lambda: cuda.device_array(3.5),
    "no shape": lambda: cuda.device_array(None),
    "shape that is text": lambda: cuda.device_array("34"),
    "shape beyond any memory": lambda: cuda.pinned_array(2**70),
    "array of an unknown dtype": lambda: cuda.device_array(4, "nonsense"),
    "array of a dtype with a shape": lambda: cuda.device_array(4, ("f4", (2,))),
    "array in no order": lambda: cuda.device_array(4, order="K"),
    "array on no stream": lambda: cuda.device_array(4, stream="stream"),
    "view as an unknown dtype": lambda: on_device(4).view("foo"),
    "view as a dtype that does not fit": lambda: on_device(3).view(np.float64),
    "reshape to a float": lambda: on_device(4).reshape(4.0),
    "transpose by text": lambda: on_device(2, 2).transpose("foo"),
    "ravel in no order": lambda: on_device(2, 2).ravel("X"),
    "split of a matrix": lambda: on_device(2, 2).split(2),
    "split into nothing": lambda: on_device(4).split(0),
    "copy to text": lambda: on_device(4).copy_to_host("x"),
    "copy to a list": lambda: on_device(4).copy_to_host([0] * 4),
    "copy to a read-only array": lambda: on_device(4).copy_to_host(np.frombuffer(bytes(16), np.float32)),
    "copy of a ragged list": lambda: on_device(2).copy_to_device([[1], [1, 2]]),
    "assignment of text": lambda: on_device(4).__setitem__(0, "x"),
    "assignment of a complex number": lambda: on_device(4).__setitem__(0, 1j),
    "assignment of a number that does not fit": lambda: on_device(4, dtype=np.uint8).__setitem__(0, 300),
    "assignment of another shape": lambda: on_device(4).__setitem__(slice(2), [1, 2, 3]),
    "slice with a step of zero": lambda: on_device(4)[::0],
    "too many indices": lambda: on_device(4)[0, 0],
    "to_device into a NumPy array": lambda: cuda.to_device(zeros(4), to=zeros(4)),
    "device_array_like of a list": lambda: cuda.device_array_like([1, 2]),
    "truth of several elements": lambda: bool(on_device(3)),
    "float of several elements": lambda: float(on_device(3)),
    "length of a number": lambda: len(on_device()),
    "comparison of shapes that do not fit": lambda: on_device(4) == on_device(3),
        "sum of shapes that do not fit": lambda: on_device(4) + on_device(3),
    "sum with an array of objects": lambda: on_device(4) + np.array([None] * 4),
    "reduction of nothing": lambda: on_device(0).max(),
    "function without implementation": lambda: np.busday_count(on_device(4), on_device(4)),
    "host array without a copy": lambda: np.asarray(on_device(4), copy=False),
    "device beyond the last": lambda: cuda.gpus[99],
    "device by name among the numbers": lambda: cuda.gpus["gpu"],
    "device chosen by a float": lambda: cuda.select_device(0.5),
    "tasks below zero": lambda: fill.forall(-3),
    "tasks that are text": lambda: fill.forall("4"),
    "threads of a block below zero": lambda: fill.forall(4, tpb=-1),
    "configuration that is a slice": lambda: fill[1:32],
    "stream that is a dictionary": lambda: fill[1, 32, {}](zeros(4), 1),
    "shared memory that is a float": lambda: fill[1, 32, 0, 16.0],
    "numpy.matmul with dtype": lambda: np.matmul(on_device(2, 2), on_device(2, 2), dtype=np.float64),
    "numpy.matmul with axes": lambda: np.matmul(on_device(2, 2), on_device(2, 2), axes=[(0, 1)] * 3),
    "sum in place of another kind": lambda: operator.iadd(on_device(4, dtype=np.int32), 0.5),
    "numpy.dot of shapes that do not fit": lambda: np.dot(on_device(2, 2, 2), on_device(2, 3, 2)),
    "product on no stream": lambda: portagpu.matmul(zeros(2, 2), zeros(2, 2), stream="x"),
    "product of device arrays on no stream": lambda: portagpu.matmul(on_device(2, 2), on_device(2, 2), stream="x"),
    "product of a ragged list": lambda: portagpu.matmul([[1], [1, 2]], zeros(2, 2)),
    "product of complex numbers": lambda: portagpu.matmul(on_device(2, 2, dtype=np.complex64), on_device(2, 2)),
}


def _variadic(**kwargs):
    pass


def _closed():
    array = cuda.to_device(zeros(4))
    array.close()
    return array
