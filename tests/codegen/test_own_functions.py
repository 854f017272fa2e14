"""Functions that some devices have in the project's own words, tried on all."""

from __future__ import annotations

import dataclasses
import math
import re

import numpy as np
import pyopencl as cl
import pytest

from portagpu import cuda
from portagpu.backends.opencl.codegen.generate import generate
from portagpu.backends.opencl.ptx.capabilities import from_ptx
from portagpu.dispatch.code.lowering import lower_kernel
from portagpu.dtypes import FLOAT32
from portagpu.ir.types import ArrayType, Layout, Scalar
from portagpu.runtime.execution.context import Context
from portagpu.runtime.programs.build import build

FLOATS = ArrayType(Scalar(FLOAT32), 1, Layout.C)


@cuda.jit
def complementary(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = math.erfc(x[i])


@pytest.mark.opencl
def test_erfc_of_devices_with_ptx(device):
    """Within OpenCL's 16 units in the last place; only the reciprocal is another one where there is no PTX."""
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, 9.1, 10.5, 1e30, -1e30]
    x = np.concatenate([np.linspace(-6, 9.1, 30_000), np.logspace(-9, 0, 5000), edges]).astype(np.float32)
    expected = np.array([math.erfc(v) for v in x.astype(np.float64)])
    caps = dataclasses.replace(device.capabilities, **from_ptx(True), line_directives=False)
    generated = generate(lower_kernel(complementary.source, (FLOATS, FLOATS), caps), caps)
    source, count = re.subn(r"asm\(\"rcp.*", "inverse = 1.0f / product;", generated.source)
    assert count == 1
    context = Context.for_device(device)
    found, given = cuda.to_device(np.full_like(x, 7)), cuda.to_device(x)
    kernel = cl.Kernel(build(context, source, ()), generated.name)
    arguments = [
        given.buffer if p.name == "x" else found.buffer if p.name == "y" else None for p in generated.parameters
    ]
    cuda.synchronize()
    queue = context.default_stream.queue
    kernel(queue, (x.size,), None, *(np.int32(x.size) if a is None else a for a in arguments))
    y = found.copy_to_host()
    assert np.isnan(y[np.isnan(x)]).all()
    finite = ~np.isnan(x)
    least = float(np.finfo(np.float32).tiny)  # a device may take smaller results for zero
    units = np.abs(y - expected)[finite] / np.maximum(np.spacing(expected.astype(np.float32))[finite], least * 2.0**-23)
    units[expected[finite] < least] *= 2.0**-23
    assert units.max() <= 16
    assert y[x == np.inf] == 0 and y[x == -np.inf] == 2 and y[x == 0].tolist() == [1, 1]
