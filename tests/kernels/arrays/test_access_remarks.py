"""What the compiler says about accesses that waste a GPU's time. It tells of GPUs only, so the IR is asked here."""

from __future__ import annotations

import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from portagpu import cuda
from portagpu.device import DeviceType
from portagpu.errors import PortaGPUPerformanceWarning
from portagpu.ir.analysis.memory_access import findings
from portagpu.runtime.execution.context import current_context
from portagpu.runtime.performance_warnings import advise
from portagpu.runtime.programs.launch_shape import LaunchShape

matrix = np.zeros((64, 64), np.float32)
vector = np.zeros(64, np.float32)


def found(function, *args):
    kernel = cuda.jit(function)
    kernel.specialize(*args)
    overload = next(iter(kernel.specialize(*args).overloads.values()))
    return findings(kernel.program(overload.signature, current_context(), wide=False))


def rows(a):
    i, j = cuda.grid(2)
    if i < a.shape[0] and j < a.shape[1]:
        a[i, j] = 1


def columns(a):
    i, j = cuda.grid(2)
    if j < a.shape[0] and i < a.shape[1]:
        a[j, i] = 1


def own_row(a, x):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    for k in range(a.shape[1]):
        x[i] += a[i, k]


def grid_stride(x):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        x[i] *= 2


def every_sixteenth(x):
    x[cuda.threadIdx.x * 16] = 1


def gathered(x, y):
    i = cuda.grid(1)
    x[i] = y[int(x[i])]


def transposed(a):
    tile = cuda.shared.array((32, 32), cuda.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = a[y, x]
    cuda.syncthreads()
    a[y, x] = tile[x, y]


def transposed_padded(a):
    tile = cuda.shared.array((32, 33), cuda.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = a[y, x]
    cuda.syncthreads()
    a[y, x] = tile[x, y]


def doubles(x, n):
    i = cuda.grid(1)
    x[i] = i / n


def singles(x, n):
    i = cuda.grid(1)
    x[i] = x[i] * 0.5 + n


@pytest.mark.parametrize(
    ("function", "args", "expected"),
    [
        (rows, (matrix,), ["uncoalesced access"]),
        (rows, (np.asfortranarray(matrix),), []),
        (rows, (matrix[::2, ::2],), ["uncoalesced access"]),
        (columns, (matrix,), []),
        (columns, (np.asfortranarray(matrix),), ["uncoalesced access"]),
        (columns, (matrix[::2],), []),
        (own_row, (matrix, vector), ["uncoalesced access"]),
        (grid_stride, (vector,), []),
        (every_sixteenth, (vector,), ["uncoalesced access"]),
        (gathered, (vector, vector), []),
        (transposed, (matrix,), ["bank conflicts"]),
        (transposed_padded, (matrix,), []),
        (singles, (vector, 2), []),
    ],
)
def test_findings(device, function, args, expected):
    assert [f.text.split(":")[0] for f in found(function, *args)] == expected


def test_silent_double_precision(device):
    (finding,) = found(doubles, vector, 3)
    assert finding.text.startswith("float64 arithmetic") and finding.only_slow_double
    assert "i / n" in finding.span.text
    assert not found(doubles, vector.astype(np.float64), 3)


class _Gpu:
    """A context as `advise` sees it: a GPU whose float64 arithmetic has a rate."""

    def __init__(self, double):
        own = current_context().capabilities
        self.capabilities = replace(
            own, device_type=DeviceType.GPU, measured_gflops=1000.0, measured_gflops_double=double, compute_units=1
        )
        self.settings = SimpleNamespace(warnings=True)


def told(context, block, function, *args):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        advise(context, LaunchShape((1000, 1, 1), block, 0), (), found(function, *args))
    assert all(w.category is PortaGPUPerformanceWarning for w in caught)
    return [str(w.message) for w in caught]


def test_warnings_say_where_and_how_to_silence_them(device):
    (text,) = told(_Gpu(0.0), (16, 16, 1), rows, matrix)
    assert text.startswith("test_access_remarks.py:") and "uncoalesced" in text and "PORTAGPU_WARNINGS=0" in text
    assert not told(_Gpu(0.0), (1, 256, 1), rows, matrix)  # no threads that follow each other along x


def test_double_precision_is_worth_a_warning_where_it_is_slow(device):
    assert len(told(_Gpu(1000 / 32), (64, 1, 1), doubles, vector, 3)) == 1
    assert not told(_Gpu(500.0), (64, 1, 1), doubles, vector, 3)
    assert not told(_Gpu(0.0), (64, 1, 1), doubles, vector, 3)
