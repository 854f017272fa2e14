"""`cuda.reduce` against NumPy's reductions."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda, errors

pytestmark = pytest.mark.one_device


@cuda.reduce
def total(a, b):
    return a + b


@cuda.reduce
def largest(a, b):
    return max(a, b)


SIZES = (0, 1, 2, 31, 256, 257, 1025, 100_001)


@pytest.mark.each_value
@pytest.mark.in_turn(1)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64", "float32", "float64"])
def test_sum_of_every_size_and_dtype(device, size, dtype):
    values = (np.arange(size) % 7).astype(dtype)
    expected = values.sum(dtype=dtype)  # small integers: exact in every order
    found = total(values)
    assert found == expected
    assert isinstance(found, np.dtype(dtype).type)
    assert total(cuda.to_device(values)) == expected


@pytest.mark.oclgrind
def test_small_reduction(device):
    values = np.arange(300, dtype=np.int32)
    assert total(values) == values.sum()


def test_result_goes_into_a_device_array(device):
    values = np.arange(1000.0)
    result = cuda.to_device(np.full(3, -1.0))
    assert total(values, res=result, init=2) is None
    np.testing.assert_array_equal(result.copy_to_host(), [values.sum() + 2, -1, -1])
    total(values[:0], res=result[1:], init=5)
    np.testing.assert_array_equal(result.copy_to_host(), [values.sum() + 2, 5, -1])


def test_complex_numbers(device):
    values = np.arange(1000) * np.complex64(1 + 2j)
    assert total(values, init=1j) == values.sum() + 1j


def test_size_init_and_stream(device):
    values = np.random.default_rng(0).integers(-100, 100, 5000)
    stream = cuda.stream()
    assert total(values, size=1234, stream=stream) == values[:1234].sum()
    assert total(values, size=0, init=7) == 7
    assert largest(values, init=1000) == 1000
    assert largest(values, init=-1000, stream=stream) == values.max()


def test_strided_and_read_only_sources(device):
    values = np.arange(1000)
    assert total(values[::-3]) == values[::-3].sum()
    assert total(cuda.to_device(values)[1::2]) == values[1::2].sum()
    values.flags.writeable = False
    assert total(values) == values.sum()


def test_lambdas_of_one_line_are_told_apart(device):
    plus, times = cuda.reduce(lambda a, b: a + b), cuda.reduce(lambda a, b: a * b)
    values = np.arange(1.0, 6.0)
    assert plus(values) == 15
    assert times(values, init=1) == 120


def test_lambda_over_several_lines_with_a_captured_name(device):
    bound = 3.0
    clipped = cuda.Reduce(
        lambda a, b: max(
            max(a, b),
            bound,
        )
    )
    assert clipped(np.array([1.0, 2.0])) == 3
    assert clipped(np.array([1.0, 4.0])) == 4


def test_device_function_as_functor(device):
    @cuda.jit(device=True)
    def either(a, b):
        return a | b

    assert cuda.reduce(either)(np.array([1, 4, 16], np.uint8)) == 21


def test_kernels_and_helpers_in_the_functor(device):
    @cuda.jit(device=True)
    def square(x):
        return x * x

    norm = cuda.reduce(lambda a, b: square(a) + square(b))
    assert norm(np.array([3.0]), init=4.0) == 25


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: total(np.zeros((2, 3))), TypeError),
        (lambda: total(np.zeros(3), size=4), ValueError),
        (lambda: total(np.zeros(3), size=1.5), TypeError),
        (lambda: total(np.zeros(3), res=np.zeros(1)), TypeError),
        (lambda: total(np.zeros(3), res=cuda.device_array(0)), ValueError),
        (lambda: cuda.reduce(3), TypeError),
    ],
)
def test_wrong_uses(device, call, kind):
    with pytest.raises(errors.PortaGPUError) as caught:
        call()
    assert isinstance(caught.value, kind)
