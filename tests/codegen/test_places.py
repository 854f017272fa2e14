"""The way back from generated C to the Python text."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from portagpu import cuda, errors
from portagpu.backends.opencl.codegen.generate import generate
from portagpu.backends.registry import named
from portagpu.device.ideal_device import IDEAL
from portagpu.dispatch.code.lowering import lower_kernel
from portagpu.dtypes import FLOAT32
from portagpu.ir.types import PYINT, ArrayType, Layout, Scalar
from portagpu.runtime.programs.build_errors import locate


@cuda.jit
def place(x, n):
    i = cuda.grid(1)
    if i < n:
        x[i] = n * 2.0


ARGUMENTS = (ArrayType(Scalar(FLOAT32), 1, Layout.C), PYINT)
STORE = place.source.first_line + 4


def test_c_lines_lead_to_python_lines(device):
    generated = generate(lower_kernel(place.source, ARGUMENTS, device.capabilities), device.capabilities)
    number = next(n for n, text in enumerate(generated.source.splitlines(), 1) if text.strip().startswith("x[i] ="))
    assert f"// {STORE}: x[i] = n * 2.0" in generated.source
    if not generated.has_line_directives:
        assert generated.span_of(number).line == STORE


def test_simulators_get_line_directives(device):
    caps = dataclasses.replace(device.capabilities, line_directives=True)
    generated = generate(lower_kernel(place.source, ARGUMENTS, caps), caps)
    lines = generated.source.splitlines()
    number = next(n for n, text in enumerate(lines) if text.strip().startswith("x[i] ="))
    assert lines[number - 1] == f'#line {STORE} "{__file__}"'
    assert generated.span_of(STORE).line == STORE


@pytest.mark.parametrize(
    "log",
    ["<kernel>:{n}:9: error: no such thing", "/tmp/a.cl:{n}:9: error: no such thing", "{n}:9: error: no such thing"],
)
def test_driver_errors_name_the_python_line(device, log):
    caps = dataclasses.replace(device.capabilities, line_directives=False)
    generated = generate(lower_kernel(place.source, ARGUMENTS, caps), caps)
    number = next(n for n, text in enumerate(generated.source.splitlines(), 1) if text.strip().startswith("x[i] ="))
    error = errors.BuildError("refused")
    error.log = log.format(n=number)
    located = locate(error, generated, named("opencl"))
    assert located.span.line == STORE
    assert "no such thing" in str(located)
    assert located.log == error.log


def test_an_array_passed_twice_is_one_array(device):
    @cuda.jit
    def add_one_twice(a, b):
        i = cuda.grid(1)
        if i < a.size:
            a[i] += 1
            b[i] += 1

    for size in (8, 5000):
        x = np.zeros(size, np.float32)
        add_one_twice[(size + 63) // 64, 64](x, x)
        assert (x == 2).all()


@pytest.mark.parametrize("single", [True, False])
def test_lines_are_right_behind_helpers_with_barriers(single):
    @cuda.jit
    def counted(x, n):
        t = cuda.threadIdx.x
        cuda.syncthreads()
        x[t] = cuda.syncthreads_count(x[t] > n)

    caps = dataclasses.replace(IDEAL, single_barriers=single)
    generated = generate(lower_kernel(counted.source, ARGUMENTS, caps), caps)
    shown = [re.match(r" *// (\d+): ", line) for line in generated.source.split("\n")]
    assert len(shown) == len(generated.lines) and sum(m is not None for m in shown) >= 4
    for found, span in zip(shown, generated.lines, strict=True):
        assert found is None or (span is not None and span.line == int(found[1]))
    assert ("; barrier(" in generated.source) is not single


def test_words_ask_for_no_extension():
    @cuda.jit
    def double(x, n):
        half = n // 2  # half of it, not a double
        x[half] = 1

    @cuda.jit
    def halved(x, n):
        x[0] = np.float16(x[1]) * np.float64(n)

    names = ("cl_khr_fp64", "cl_khr_fp16")
    for kernel, wanted in ((double, False), (halved, True)):
        text = generate(lower_kernel(kernel.source, ARGUMENTS, IDEAL), IDEAL).source
        assert [f"EXTENSION {name} " in text for name in names] == [wanted, wanted]
