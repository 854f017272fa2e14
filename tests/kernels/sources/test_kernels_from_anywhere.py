"""Kernels from decorators that wrap, from standard input, deeply nested ones, and calls that never end."""

from __future__ import annotations

import functools
import gc
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import UnsupportedSyntaxError
from portagpu.frontend.source.capture import capture

pytestmark = pytest.mark.one_device


def shifted(function):
    """A decorator that keeps the name and the text's place of what it replaces."""

    @functools.wraps(function)
    def inner(x, by=100):
        return x + by

    return inner


def filled(function):
    """The same for a kernel."""

    @functools.wraps(function)
    def inner(out):
        out[0] = 7

    return inner


@cuda.jit(device=True)
@shifted
def plain(x):
    """Replaced."""
    return x


SHIFTED_LAMBDA = cuda.jit(device=True)(shifted(lambda x: x))


def made(text: str):
    """The function ``k`` of a text."""
    names = {"cuda": cuda, "np": np}
    exec(text, names)
    return names["k"]


def test_the_outermost_function_counts(device):
    """What functools.wraps says of the function inside is not what runs."""

    @cuda.jit
    @filled
    def kernel(out):
        out[0] = 1

    @cuda.jit
    def calls(out):
        out[0] = plain(1)
        out[1] = SHIFTED_LAMBDA(2, by=10)

    out = np.zeros(2)
    kernel[1, 1](out)
    assert out[0] == 7
    calls[1, 1](out)
    assert out.tolist() == [101, 12]


PROGRAM = """
import numpy as np
from portagpu import cuda
@cuda.jit
def kernel(out):
    out[0] = f(4)
f = cuda.jit(device=True)(lambda x: x + 1)
out = np.zeros(1)
kernel[1, 1](out)
print(out[0])
"""


def test_a_program_from_a_file_as_standard_input(tmp_path):
    """``python < program.py``: the text is read again."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    with program.open() as opened:
        done = subprocess.run([sys.executable], stdin=opened, capture_output=True, text=True, env=os.environ)
    assert done.stdout == "5.0\n", done.stderr


def test_a_program_from_a_pipe_says_what_to_do():
    """A pipe cannot be read again."""
    done = subprocess.run([sys.executable, "-"], input=PROGRAM, capture_output=True, text=True, env=os.environ)
    assert "SourceUnavailableError" in done.stderr
    assert "cuda.jit(source=text)" in done.stderr


def test_long_texts(device):
    """Sums, `elif` chains and chains of functions that are longer than Python's 1000 frames."""
    limit = sys.getrecursionlimit()
    terms = " + ".join(f"o[{1 + i % 3}]" for i in range(600))
    branches = "".join(f"    elif o[1] == {i}: o[4] = {i}\n" for i in range(2, 500))
    kernel = made(
        f"@cuda.jit\ndef k(o):\n    o[0] = {terms}\n    if o[1] == 0.5: o[4] = -1\n{branches}    else: o[4] = 9\n"
    )
    out = np.array([0.0, 1, 2, 3, 0])
    kernel[1, 1](out)
    assert out.tolist() == [1200, 1, 2, 3, 9]
    chain = "".join(f"@cuda.jit(device=True)\ndef f{i}(x):\n    return f{i - 1}(x) + 1\n" for i in range(1, 120))
    start = "@cuda.jit(device=True)\ndef f0(x):\n    return x\n"
    made(f"{start}{chain}@cuda.jit\ndef k(o):\n    o[0] = f119(o[1])\n")[1, 1](out)
    assert out[0] == 120
    assert sys.getrecursionlimit() == limit


def test_threads_share_the_limit(device):
    """The limit is the process's: the last one to finish puts it back."""
    limit, failures = sys.getrecursionlimit(), []

    def work(number):
        out = np.zeros(2)
        try:
            with cuda.select_device(device):
                made(f"@cuda.jit\ndef k(o):\n    o[0] = {' + '.join([f'(o[1] + {number})'] * 400)}\n")[1, 1](out)
            assert out[0] == 400 * number
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert sys.getrecursionlimit() == limit


@cuda.jit(device=True)
def growing(t):
    """Each call has another type."""
    return growing((t, 1))


@cuda.jit(device=True)
def counting(n: cuda.constexpr):
    """Each call has another constant."""
    return counting(n + 1)


@cuda.jit(device=True)
def factorial(n: cuda.constexpr):
    """Ends while compiling."""
    return 1 if n == 0 else n * factorial(n - 1)


def test_calls_that_never_end(device):
    """Recursion is a typed error, also where no call repeats another; constants may end it."""

    @cuda.jit
    def grows(out):
        out[0] = growing(1)

    @cuda.jit
    def counts(out):
        out[0] = counting(1)

    @cuda.jit
    def inside(out):
        def f(n):
            return f(n - 1)

        out[0] = f(3)

    @cuda.jit
    def ends(out):
        out[0] = factorial(10)

    out = np.zeros(1)
    for kernel in (grows, counts, inside):
        with pytest.raises(UnsupportedSyntaxError, match="calls itself"):
            kernel[1, 1](out)
    ends[1, 1](out)
    assert out[0] == 3628800


def test_tuples_of_tuples_take_indices_at_run_time(device):
    """Captured ones and literal ones."""
    corners = ((0, 1), (2, 3), (4, 5))
    deep = (((1, 2), (3, 4)), ((5, 6), (7, 8)))

    @cuda.jit
    def kernel(out, n):
        for i in range(n):
            out[i] = corners[i][1] * 10 + ((1, 2.5), (3, 4.5), (5, 6.5))[i][i % 2]
        out[3] = deep[n - 2][n - 3][n - 2]

    out = np.zeros(4)
    kernel[1, 1](out, 3)
    assert out.tolist() == [11, 34.5, 55, 6]


def test_threads_parse_one_after_the_other(tmp_path):
    """Python 3.11 raises SystemError where threads parse at once."""
    program = tmp_path / "program.py"
    sums = " + ".join(["(x + 1)"] * 60)
    functions = [f"def f{n}(x):\n    return {sums}\n" for n in range(40)]
    program.write_text("import sys\n" + "".join(functions))
    names: dict = {}
    exec(compile(program.read_text(), str(program), "exec"), names)
    failures = []

    def work():
        try:
            for n in range(40):
                assert capture(names[f"f{n}"]).name == f"f{n}"
        except BaseException as error:
            failures.append(error)

    def let_others_run(phase, info):
        time.sleep(0)

    threshold = gc.get_threshold()
    gc.callbacks.append(let_others_run)  # garbage is collected, and other threads run, in the middle of a tree
    gc.set_threshold(50)
    try:
        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(let_others_run)
    assert not failures
