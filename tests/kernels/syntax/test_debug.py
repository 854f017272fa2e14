"""Exceptions in kernels: raised on the host under ``debug=True``, the end of the thread without."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import KernelTypeError, UnsupportedSyntaxError

pytestmark = [pytest.mark.oclgrind, pytest.mark.one_device]


class OwnError(Exception):
    """With an ``__init__`` that the message alone does not satisfy."""

    def __init__(self, first, second):
        super().__init__(first, second)


def test_the_message_names_the_thread(device):
    @cuda.jit(debug=True, opt=False)
    def kernel(n):
        if cuda.threadIdx.x == 2 and cuda.blockIdx.x == n:
            raise ValueError("no good", 7, n)

    kernel[4, 4](9)
    with pytest.raises(ValueError, match=r"tid=\[0, 0, 2\] ctaid=\[0, 0, 3\]: no good") as caught:
        kernel[4, 4](3)
    assert type(caught.value) is ValueError
    assert caught.value.args[1:] == (7, 3)
    fault = caught.value.kernel_fault
    assert (fault.function, fault.thread, fault.block) == ("kernel", (2, 0, 0), (3, 0, 0))
    assert fault.span.filename == __file__
    assert f"In function 'kernel', file {__file__}, line {fault.span.line}, " in str(caught.value)
    assert 'raise ValueError("no good"' in fault.span.text
    kernel[4, 4](9)  # the context goes on


def test_classes_instances_and_own_exceptions(device):
    known = KeyError("known")

    @cuda.jit(debug=True)
    def kernel(which):
        if which == 0:
            raise RuntimeError
        elif which == 1:
            raise known
        elif which == 2:
            raise OwnError("own", 2.5)
        elif which == 3:
            raise OwnError

    with pytest.raises(RuntimeError, match=r"tid=\[0, 0, 0\] ctaid=\[0, 0, 0\](\n|$)"):
        kernel[1, 1](0)
    with pytest.raises(KeyError, match="known"):
        kernel[1, 1](1)
    for which in (2, 3):
        with pytest.raises(OwnError) as caught:
            kernel[1, 1](which)
        assert caught.value.args[1:] == ((2.5,) if which == 2 else ())


def test_numbers_of_all_types_travel(device):
    @cuda.jit(debug=True)
    def kernel(a, b, c):
        raise ValueError("values", a, b, c, a > b, (a, "text"))

    with pytest.raises(ValueError, match="values") as caught:
        kernel[1, 1](np.int8(-3), np.uint64(2**64 - 1), np.float32(0.1))
    assert caught.value.args[1:] == (-3, 2**64 - 1, float(np.float32(0.1)), False, (-3, "text"))


def test_assert(device):
    def body(x):
        i = cuda.grid(1)
        assert x[i] < 3, "too large"
        x[i] += 1

    x = np.arange(4.0)
    with pytest.raises(AssertionError, match=r"tid=\[0, 0, 3\] ctaid=\[0, 0, 0\]: too large"):
        cuda.jit(debug=True)(body)[1, 4](x)
    x = np.arange(4.0)
    cuda.jit(body)[1, 4](x)
    np.testing.assert_array_equal(x, np.arange(4) + 1)  # not checked


@cuda.jit(device=True)
def checked_half(x):
    if x % 2:
        raise ValueError("odd", x)
    return x // 2, x


@cuda.jit(device=True)
def through(x, out):
    half, _ = checked_half(x)
    out[x] = half
    return half


def _calls(out):
    i = cuda.grid(1)
    half = through(i, out)
    out[i] = half + 10


def test_device_functions_end_the_thread(device):
    out = np.full(4, -1)
    with pytest.raises(ValueError, match=r"In function 'checked_half'.*odd"):
        cuda.jit(debug=True)(_calls)[1, 4](out)
    out = np.full(4, -1)
    cuda.jit(_calls)[1, 4](out)
    np.testing.assert_array_equal(out, [10, -1, 11, -1])


def test_without_debug_raise_ends_the_thread(device):
    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        if i == 1:
            raise ValueError("unheard")
        x[i] = i

    x = np.full(4, -1)
    kernel[1, 4](x)
    np.testing.assert_array_equal(x, [0, -1, 2, 3])


@pytest.mark.parametrize("debug", [False, True])
def test_the_others_still_reach_their_barriers(device, debug):
    @cuda.jit(debug=debug)
    def kernel(x, out):
        tile = cuda.shared.array(8, np.float32)
        i = cuda.grid(1)
        t = cuda.threadIdx.x
        if x[i] < 0:
            raise ValueError("negative")
        for _ in range(3):
            tile[t] = x[i]
            cuda.syncthreads()
            out[i] += tile[7 - t]
            cuda.syncthreads()

    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    kernel[1, 8](x, out)
    np.testing.assert_array_equal(out, 3 * x[::-1])
    x[0] = -1
    if debug:
        with pytest.raises(ValueError, match="negative"):
            kernel[1, 8](x, out)
    else:
        kernel[1, 8](x, out)
        np.testing.assert_array_equal(out[1:7], 6 * np.arange(6, 0, -1))


def test_a_bound_that_was_read_may_steer_a_loop_around_a_barrier(device):
    """The check of ``n[0]`` cannot end the thread here, so it only reports."""

    @cuda.jit(debug=True)
    def kernel(x, n, at):
        tile = cuda.shared.array(4, np.float32)
        t = cuda.threadIdx.x
        tile[t] = x[at + t]
        for _ in range(n[at]):
            cuda.syncthreads()
            x[t] = tile[3 - t] + 1
            cuda.syncthreads()
            tile[t] = x[t]

    x, n = np.arange(4, dtype=np.float32), np.array([2])
    kernel[1, 4](x, n, 0)
    np.testing.assert_array_equal(x, np.arange(4) + 2)
    with pytest.raises(IndexError, match="of bounds of"):
        kernel[1, 4](x, n, 1)


def _divide(out, a, b, which):
    if which == 0:
        out[0] = a // b
    elif which == 1:
        out[0] = a % b
    elif which == 2:
        out[0] = a / b
    else:
        out[0] = divmod(a, b)[1]
    out[1] = 1


@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("kind", [int, float, np.int32, np.uint64, np.float32])
def test_division_by_zero(device, which, kind):
    checked, plain = cuda.jit(debug=True)(_divide), cuda.jit(_divide)
    out, expected = np.zeros(2), np.zeros(2)
    checked[1, 1](out, kind(7), kind(2), which)
    _divide(expected, kind(7), kind(2), which)
    np.testing.assert_array_equal(out, expected)
    out[:] = 0
    with pytest.raises(ZeroDivisionError, match="by zero"):
        checked[1, 1](out, kind(7), kind(0), which)
    np.testing.assert_array_equal(out, 0)  # the thread ended there
    plain[1, 1](out, kind(7), kind(0), which)
    assert out[1] == 1


@pytest.mark.parametrize("index", [3, -3, 2, -4, 2**33, -(2**33)])
@pytest.mark.parametrize("options", [{"debug": True}, {"boundscheck": True}])
def test_subscripts_outside_an_array(device, index, options):
    @cuda.jit(**options)
    def kernel(table, out, row, column):
        out[0] = table[row, column]

    table, out = np.arange(12.0).reshape(3, 4), np.zeros(1)
    try:
        out_of_bounds, expected = False, table[1, index]
    except IndexError:
        out_of_bounds, expected = True, 0
    if not out_of_bounds:
        kernel[1, 1](table, out, 1, index)
        assert out[0] == expected
    else:
        message = rf"index {index} is out of bounds for axis 1 of `table` with shape \(3, 4\)"
        with pytest.raises(IndexError, match=message):
            kernel[1, 1](table, out, 1, index)
    with pytest.raises(IndexError, match=r"for axis 0 of `table`"):
        kernel[1, 1](table, out, np.uint64(2**63 + 1), 0)


@cuda.jit(device=True)
def count_up(counter):
    counter[0] += 1
    return counter[0]


@pytest.mark.parametrize("debug", [False, True])
def test_values_before_several_effects_are_kept_in_order(device, debug):
    @cuda.jit(debug=debug)
    def kernel(x, counter, out):
        a, b, c, d, e = x[0], counter[0], count_up(counter), counter[0], count_up(counter) + x[1] * count_up(counter)
        out[0], out[1], out[2], out[3], out[4] = a, b, c, d, e

    out = np.zeros(5)
    kernel[1, 1](np.array([7.0, 10.0]), np.array([20.0]), out)
    np.testing.assert_array_equal(out, [7, 20, 21, 21, 22 + 10 * 23])


def test_subscripts_of_all_kinds_of_arrays(device):
    constants = np.arange(3)

    @cuda.jit(debug=True)
    def kernel(x, i, which):
        tile = cuda.shared.array(5, np.int32)
        mine = cuda.local.array((2, 3), np.int32)
        dynamic = cuda.shared.array(0, np.int32)
        part = x[2:6]
        if which == 0:
            tile[i] = 1
        elif which == 1:
            mine[1, i] = 1
        elif which == 2:
            dynamic[i] = 1
        elif which == 3:
            x[0] = constants[i]
        elif which == 4:
            part[i] = 1
        elif which == 5:
            x[i] += 1
        elif which == 6:
            cuda.atomic.add(x, i, 1)
        else:
            x[0] = x.shape[i] + mine[0, 0]

    sizes = {0: 5, 1: 3, 2: 8, 3: 3, 4: 4, 5: 7, 6: 7, 7: 1}
    x = np.zeros(7, np.int32)
    names = ("`tile`", "for axis 1 of `mine`", "`dynamic`", "an array", "`part`", "`x`", "`x`", "tuple index")
    for which, name in enumerate(names):
        kernel[1, 1, 0, 32](x, sizes[which] - 1, which)
        kernel[1, 1, 0, 32](x, -sizes[which], which)
        for wrong in (sizes[which], -sizes[which] - 1):
            with pytest.raises(IndexError, match=name):
                kernel[1, 1, 0, 32](x, wrong, which)


def test_an_empty_array_has_no_first_element(device):
    @cuda.jit(debug=True)
    def kernel(x, out):
        out[0] = x[0]

    with pytest.raises(IndexError, match=r"index 0 is out of bounds of `x` with shape \(0,\)"):
        kernel[1, 1](np.zeros(0), np.zeros(1))


def test_debug_launches_wait_and_streams_go_on(device):
    @cuda.jit(debug=True)
    def kernel(x, i):
        x[i] = 1

    stream = cuda.stream()
    x = cuda.to_device(np.zeros(4), stream=stream)
    with pytest.raises(IndexError):
        kernel[1, 1, stream](x, 4)
    kernel[1, 1, stream](x, 3)
    np.testing.assert_array_equal(x.copy_to_host(), [0, 0, 0, 1])


def test_what_cannot_be_raised(device):
    @cuda.jit
    def bare(x):
        raise

    @cuda.jit
    def chained(x):
        raise ValueError("a") from None

    @cuda.jit
    def number(x):
        raise 3  # noqa: B016

    for kernel in (bare, chained):
        with pytest.raises(UnsupportedSyntaxError):
            kernel[1, 1](1)
    with pytest.raises(KernelTypeError, match="only exceptions"):
        number[1, 1](1)
