"""`print` in kernels: what arrives at the process's standard output."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import portagpu
from portagpu import cuda
from portagpu.dispatch.code.lowering import lower_kernel
from portagpu.errors import KernelValueError, MissingCapabilityError, PortaGPUWarning, UnsupportedSyntaxError
from portagpu.ir.types import PYINT

TEXT = 'café "quoted" 100% \\ ??( \t|'


@pytest.fixture
def printed(capfd):
    """Runs a kernel and gives the lines that it printed."""

    def run(kernel, *args, grid=1, block=1):
        capfd.readouterr()
        kernel[grid, block](*args)
        cuda.synchronize()
        return capfd.readouterr().out

    return run


def test_numbers_and_texts_are_separated_by_spaces(device, printed):
    @cuda.jit
    def kernel(i, f):
        print(i, 23, 34.75, 321)
        print("hop!", i, -42, TEXT)
        print(f, f > 1, f > 2, True, None)
        print()

    assert printed(kernel, 7, np.float32(1.25)) == (
        f"7 23 34.750000 321\nhop! 7 -42 {TEXT}\n1.250000 True False True None\n\n"
    )


def test_every_integer_type_prints_its_whole_range(device, printed):
    @cuda.jit
    def kernel(a, b, c, d, e, f, g, h):
        print(a, b, c, d, e, f, g, h)

    names = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
    lows = [np.iinfo(n).min for n in names]
    highs = [np.iinfo(n).max for n in names]
    for values in (lows, highs):
        numbers = [np.dtype(n).type(v) for n, v in zip(names, values)]
        assert printed(kernel, *numbers) == " ".join(map(str, values)) + "\n"


def test_each_thread_prints_a_line_of_its_own(device, printed):
    @cuda.jit
    def kernel():
        print(cuda.grid(1), 999)

    lines = printed(kernel, grid=3, block=4).splitlines()
    assert sorted(lines, key=lambda s: int(s.split()[0])) == [f"{i} 999" for i in range(12)]


def test_many_bools(device, printed):
    @cuda.jit
    def kernel(i):
        print(i == 0, i == 1, i == 2, i == 3, i == 4, "last", i)

    assert printed(kernel, 2) == "False False True False False last 2\n"
    assert printed(kernel, 4) == "False False False False True last 4\n"


def test_tuples_and_thread_indices(device, printed):
    @cuda.jit
    def kernel(pair):
        print(cuda.threadIdx, cuda.blockDim, pair, ("a", 1), (pair[0],), sep=";", end="|\n")

    assert printed(kernel, (1, 2.5)) == "(0, 0, 0);(1, 1, 1);(1, 2.500000);('a', 1);(1,)|\n"


def test_f_strings_of_constants(device, printed):
    size, ratio = 16, 0.5

    @cuda.jit
    def kernel():
        print(f"{size} {ratio:.3f} {TEXT[:4]!r} {size:>{size // 4}}")

    assert printed(kernel) == f"16 0.500 {TEXT[:4]!r}   16\n"

    @cuda.jit
    def at_run_time(i):
        print(f"{i}")

    with pytest.raises(UnsupportedSyntaxError, match="not known at compile time"):
        at_run_time[1, 1](3)


def test_device_functions_loops_and_branches_print(device, printed):
    @cuda.jit(device=True)
    def show(i):
        if i % 2:
            print("odd", i)

    @cuda.jit
    def kernel(n):
        for i in range(n):
            show(i)

    assert printed(kernel, 5) == "odd 1\nodd 3\n"


def test_more_values_than_cuda_prints(device, printed):
    @cuda.jit
    def kernel(i):
        print(i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i)

    assert printed(kernel, 3) == " ".join(["3"] * 32) + "\n"

    @cuda.jit
    def too_many(i):
        print(i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i)

    with pytest.warns(PortaGPUWarning, match="cannot print more than 32 items"):
        assert printed(too_many, 3) == " ".join(["%lld"] * 33) + "\n"


def test_a_zero_byte_is_refused(device):
    @cuda.jit
    def kernel():
        print("a\0b")

    with pytest.raises(KernelValueError, match="zero byte"):
        kernel[1, 1]()


def test_devices_without_printf_say_so(device):
    @cuda.jit
    def kernel(i):
        print(i)

    caps = dataclasses.replace(device.capabilities, printf=False)
    with pytest.raises(MissingCapabilityError, match="cannot print"):
        lower_kernel(kernel.source, (PYINT,), caps)


def test_output_comes_before_the_end_of_a_program(device, tmp_path):
    script = tmp_path / "hello.py"
    script.write_text(
        "from portagpu import cuda\n"
        "@cuda.jit\n"
        "def hello():\n"
        "    print('hello', cuda.grid(1))\n"
        f"cuda.select_device({device.index})\n"
        "hello[1, 1]()\n"
        "cuda.synchronize()\n"
        "print('end', flush=True)\n"
    )
    found = [str(Path(portagpu.__file__).parents[1]), *filter(None, sys.path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(found)}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "hello 0\nend\n"
