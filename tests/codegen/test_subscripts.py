"""Subscripts whose sign the conditions on their path decide are bare; all others count from the end, as Python's do."""

from __future__ import annotations

from types import FunctionType, SimpleNamespace

import numpy as np
import pytest

from portagpu import cuda
from portagpu.backends.opencl.codegen.generate import generate
from portagpu.device.ideal_device import IDEAL
from portagpu.dispatch.code.lowering import lower_kernel
from portagpu.dtypes import INT32, UINT32
from portagpu.ir.types import ArrayType, Layout, Scalar

PLANE = ArrayType(Scalar(INT32), 2, Layout.C)
NUMBERS = ArrayType(Scalar(INT32), 1, Layout.C)
UNSIGNED = ArrayType(Scalar(UINT32), 1, Layout.C)

# what decides the sign, each written as users do -----------------------------------------------------------------


@cuda.jit
def stencil(old, new):
    x, y = cuda.grid(2)
    if 0 < y < old.shape[0] - 1 and 0 < x < old.shape[1] - 1:
        new[y, x] = old[y - 1, x] + old[y + 1, x] + old[y, x - 1] + old[y, x + 1]


@cuda.jit
def from_builtin(a, b):
    if cuda.threadIdx.x > 0:
        b[cuda.threadIdx.x] = a[cuda.threadIdx.x - 1]


@cuda.jit
def other_branch(a, b):
    i = cuda.grid(1)
    if i == 0:
        b[i] = 0
    elif i < 2:
        b[i] = a[i - 1]
    else:
        b[i] = a[i - 2]


@cuda.jit
def returned(a, b):
    i = cuda.grid(1)
    if i < 3 or i >= a.size:
        return
    b[i] = a[i - 3]


@cuda.jit
def operand(a, b):
    i = cuda.grid(1)
    if i > 0 and a[i - 1] > 0:
        b[i] = a[i - 1] if not i < 1 else 0


@cuda.jit
def insertion(a, b):
    """The loop's condition, with a variable that the loop changes behind its use."""
    i = cuda.grid(1)
    j = i - 1
    while j >= 0 and a[j] > b[i]:
        b[i] = a[j]
        j -= 1


@cuda.jit
def downwards(a, b):
    i = cuda.grid(1)
    if i > 0:
        for j in range(i - 1, -1, -1):
            b[i] += a[j]


@cuda.jit
def distance(a, b):
    i = cuda.grid(1)
    if i - 5 >= 0 and i + 1 < a.size:
        b[i] = a[i - 5] + a[i + 1]


DECIDED = [stencil, from_builtin, other_branch, returned, operand, insertion, downwards, distance]

# what does not -----------------------------------------------------------------------------------------------------


@cuda.jit
def other_way(a, b):
    i = cuda.grid(1)
    if i > 0:
        b[i] = 1
    else:
        b[i] = a[i - 1]


@cuda.jit
def assigned_since(a, b):
    i = cuda.grid(1)
    if i > 0:
        i = i - 2
        b[i] = a[i]


@cuda.jit
def assigned_in_loop(a, b):
    i = k = cuda.grid(1)
    if i > 0:
        for _ in range(3):
            b[k] += a[i]
            i = i - 1


@cuda.jit
def either(a, b):
    i = cuda.grid(1)
    if i > 0 or a.size > 3:
        b[i] = a[i - 1]


@cuda.jit
def other_leaves(a, b):
    """The branch that leaves is the one in which the variable is known; the other one sets it."""
    i = cuda.grid(1)
    if i > 2:
        return
    else:
        i = -i - 1
    b[i] = 1


@cuda.jit
def one_too_few(a, b):
    i = cuda.grid(1)
    if i > 0:
        b[i] = a[i - 2]


@cuda.jit
def after_loop(a, b):
    j = cuda.grid(1)
    while j >= 0:
        j -= 2
    b[j] = 1


UNDECIDED = [other_way, assigned_since, assigned_in_loop, either, other_leaves, one_too_few, after_loop]


def text(kernel):
    kind = PLANE if kernel is stencil else NUMBERS
    return generate(lower_kernel(kernel.source, (kind, kind), IDEAL), IDEAL).source


def wraps(source):
    return "pg_wrap_index" in source or "< 0 ?" in source


@pytest.mark.parametrize("kernel", DECIDED, ids=lambda k: k.__name__)
def test_bare_where_conditions_decide(kernel):
    assert not wraps(text(kernel))


@pytest.mark.parametrize("kernel", UNDECIDED, ids=lambda k: k.__name__)
def test_wrapped_where_they_do_not(kernel):
    assert wraps(text(kernel))


def test_unsigned_differences_say_nothing_of_their_terms():
    @cuda.jit
    def kernel(u, b):
        i = int(u[0])
        if u[0] - np.uint32(1) >= np.uint32(0):  # always, also for 0
            b[i - 1] = 1

    assert wraps(generate(lower_kernel(kernel.source, (UNSIGNED, NUMBERS), IDEAL), IDEAL).source)


ATOMIC = SimpleNamespace(add=lambda array, place, value: array.__setitem__(place, array[place] + value))


def each_thread(kernel, a, b):
    """The kernel's Python function, called once for each thread of a block with a thread for each element of ``a``."""
    for thread in range(a.size):
        names = SimpleNamespace(grid=lambda axes, t=thread: t, threadIdx=SimpleNamespace(x=thread), atomic=ATOMIC)
        FunctionType(kernel.py_func.__code__, {**kernel.py_func.__globals__, "cuda": names})(a, b)


@pytest.mark.parametrize("kernel", [k for k in (*DECIDED, *UNDECIDED) if k is not stencil], ids=lambda k: k.__name__)
def test_results_are_pythons(device, kernel):
    a = np.array([3, -1, 4, 1, -5, 9, 2, 6], np.int32)
    b = np.array([2, 7, 1, 8, 2, 8, 1, 8], np.int32)
    found, expected = b.copy(), b.copy()
    kernel[1, 8](a, found)
    each_thread(kernel, a, expected)
    assert found.tolist() == expected.tolist()


# threads that a return or a branch keeps from a loop with barriers still ask for its condition on some devices ------


def _returned_before_a_loop(a, out):
    i = cuda.grid(1)
    s = cuda.shared.array(8, np.int32)
    s[i] = a[i]
    k = 0
    cuda.syncthreads()
    if i == 0:
        return
    while k < s[i - 1]:
        k += 1
        cuda.syncthreads()
    out[i] = k


def _loop_in_a_branch(a, out):
    i = cuda.grid(1)
    s = cuda.shared.array(8, np.int32)
    s[i] = a[i]
    k = 0
    cuda.syncthreads()
    if i > 0:
        for _ in range(s[i - 1]):
            k += 1
            cuda.syncthreads()
        out[i] = k


@pytest.mark.parametrize("function", [_returned_before_a_loop, _loop_in_a_branch], ids=lambda f: f.__name__[1:])
def test_conditions_of_loops_with_barriers(device, function):
    out = np.zeros(8, np.int32)
    cuda.jit(function)[1, 8](np.full(8, 3, np.int32), out)
    assert out.tolist() == [0] + [3] * 7


# numbers that are cut to fit: hashes, whose signs nothing promises ----------------------------------------------------


@cuda.jit
def cut_to_a_key(x, out):
    i = cuda.grid(1)
    key = np.int32(x[i] & 0xFFFFFFFF)
    cuda.atomic.add(out, key, i + 1)


@cuda.jit
def hashed(x, out):
    i = cuda.grid(1)
    h = np.int32((x[i] * 2654435761) & 0xFFFFFFFF)
    cuda.atomic.add(out, h >> 28, i + 1)


@cuda.jit
def product_of_int32(x, out):
    i = cuda.grid(1)
    h = np.int32(i + 5) * np.int32(1640531527)
    cuda.atomic.add(out, h >> 28, i + 1)


@cuda.jit
def congruential(x, out):
    i = cuda.grid(1)
    s = np.int32(i + 1)
    for _ in range(3):
        s = s * np.int32(1664525) + np.int32(1013904223)
        if s > 0 or s < 0:
            cuda.atomic.add(out, s >> 28, 1)


@cuda.jit
def shifted_out(x, out):
    i = cuda.grid(1)
    cuda.atomic.add(out, np.int32(np.int64(i) << 31) >> 30, 1)
    cuda.atomic.add(out, np.int32(np.int64(3000000000 + i)) >> 29, 1)


@pytest.mark.parametrize(
    "kernel", [cut_to_a_key, hashed, product_of_int32, congruential, shifted_out], ids=lambda k: k.__name__
)
@pytest.mark.parametrize("checked", [False, True], ids=["", "checked"])
def test_hashes_count_from_the_end_where_they_are_negative(device, kernel, checked):
    """Nothing outside of the array is written."""
    x = np.array([-1, -2, 0, 3, 7, 11, -5, 2**40 + 1], np.int64)
    around = np.zeros(16 * 3, np.int64)
    expected = np.zeros(16, np.int64)
    memory = cuda.to_device(around)
    made = cuda.jit(kernel.py_func, boundscheck=checked)
    with np.errstate(over="ignore"):
        each_thread(kernel, x, expected)
    made[1, x.size](x, memory[16:32])
    found = memory.copy_to_host()
    assert found[16:32].tolist() == expected.tolist()
    assert not found[:16].any() and not found[32:].any()


@cuda.jit
def steps_that_wrap(out):
    i = cuda.grid(1)
    step = np.int32(i * 1000000000 + 1200000000)
    other = np.int32(i + 1) * np.int32(1500000000)
    for _ in range(10, 0, step // 100000000):
        out[0, i] += 1
    for _ in range(0, 10, other // 100000000):
        out[1, i] += 1


def test_loops_go_the_way_of_a_step_that_wraps(device):
    out = np.zeros((2, 4), np.int64)
    steps_that_wrap[1, 4](out)
    with np.errstate(over="ignore"):
        steps = (np.arange(4) * 1000000000 + 1200000000).astype(np.int32)
        others = np.arange(1, 5, dtype=np.int32) * np.int32(1500000000)
    assert out[0].tolist() == [len(range(10, 0, int(s) // 100000000)) for s in steps]
    assert out[1].tolist() == [len(range(0, 10, int(s) // 100000000)) for s in others]
