"""`vectorize` and `guvectorize` against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import portagpu
from portagpu import cuda, errors, float32, float64, guvectorize, int32, vectorize, void

pytestmark = pytest.mark.one_device


@vectorize(["int32(int32, int32)", "float32(float32, float32)", "float64(float64, float64)"], target="cuda")
def add(a, b):
    return a + b


@vectorize
def lazy(a, b):
    return a * b + 1


@guvectorize([void(float32[:, :], float32[:, :], float32[:, :])], "(m,n),(n,p)->(m,p)", target="cuda")
def matmul(a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[i, j] = 0
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def numbers(*shape, dtype=np.float32):
    return (np.random.default_rng(1).random(shape) * 100).astype(dtype)


SHAPES = [
    *[((5,), (5,)), ((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4))],
    *[((2, 3, 4), (3, 1)), ((), (4,)), ((0, 3), (3,))],
]


@pytest.mark.each_value
@pytest.mark.in_turn(1)
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
@pytest.mark.parametrize("shapes", SHAPES)
def test_broadcasting(device, shapes, dtype):
    a, b = (numbers(*shape, dtype=dtype) for shape in shapes)
    expected = a + b
    found = add(a, b)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(found, expected)
    mixed = add(cuda.to_device(a), b)
    assert isinstance(mixed, cuda.DeviceNDArray)
    np.testing.assert_array_equal(mixed.copy_to_host(), expected)
    np.testing.assert_array_equal(lazy(a, b), a * b + 1)


@pytest.mark.oclgrind
def test_broadcast_stays_in_bounds(device):
    a, b = numbers(3, 1), numbers(1, 5)
    np.testing.assert_array_equal(add(a, b), a + b)


def test_strided_and_transposed_operands(device):
    a, b = numbers(6, 8), numbers(8, 6)
    np.testing.assert_array_equal(add(a[::2, ::-1], b.T[::2]), a[::2, ::-1] + b.T[::2])
    found = add(cuda.to_device(a)[::2, 1:], cuda.to_device(b).T[::2, 1:])
    np.testing.assert_array_equal(found.copy_to_host(), a[::2, 1:] + b.T[::2, 1:])


def test_scalars(device):
    a = numbers(4)
    np.testing.assert_array_equal(add(a, 2), a + 2)
    np.testing.assert_array_equal(add(1.5, cuda.to_device(a)).copy_to_host(), a + np.float32(1.5))
    assert add(3, 4) == 7
    assert isinstance(add(1.0, 2.0), np.float64)
    assert lazy(numbers(3, dtype=np.int32), 2).dtype == np.int32
    assert lazy(numbers(3, dtype=np.int32), 2.5).dtype == np.float64
    np.testing.assert_array_equal(add([1.0, 2.0], (3.0, 4.0)), [4.0, 6.0])


def test_signature_is_chosen_by_exact_then_safe_types(device):
    assert add(np.int32([1]), np.int32([2])).dtype == np.int32
    assert add(np.float32([1]), 1).dtype == np.float32
    assert add(np.int64([1]), np.int64([2])).dtype == np.float64
    assert add(cuda.to_device(np.int16([1])), np.int32([2])).dtype == np.int32
    with pytest.raises(TypeError):
        add(np.array(["text"]), 1)
    with pytest.raises(errors.ArgumentTypeError, match="no signature of `add`"):
        add(np.zeros(3, np.complex64), 1)


def test_complex_numbers(device):
    @vectorize(["complex64(complex64, complex64)", "complex128(complex128, complex128)"])
    def product(a, b):
        return a * b

    z = numbers(5) + np.complex64(1j)
    for function in (product, lazy):
        expected = z * z + (function is lazy)
        found = function(z, cuda.to_device(z))
        assert found.dtype == np.complex64
        np.testing.assert_allclose(found.copy_to_host(), expected, rtol=1e-6)
    assert product(1j, 2.0) == 2j
    assert product(numbers(2, dtype=np.int32), 1).dtype == np.complex128


def test_output_array(device):
    a = numbers(3, 4)
    host, on_device = np.empty((3, 4), np.float32), cuda.device_array((3, 4), np.float32)
    assert add(a, a, out=host) is host
    np.testing.assert_array_equal(host, 2 * a)
    assert add(a, a, on_device) is on_device
    np.testing.assert_array_equal(on_device.copy_to_host(), 2 * a)
    wide = np.zeros((3, 8))
    add(a, a, out=wide[:, ::2])
    np.testing.assert_array_equal(wide[:, ::2], 2 * a)
    assert not wide[:, 1::2].any()


def test_streams(device):
    a, stream = numbers(10_000), cuda.stream()
    x, y = cuda.to_device(a, stream=stream), cuda.device_array(10_000, np.float32, stream=stream)
    add(x, 1, out=y, stream=stream)
    add(y, x, out=y, stream=stream)
    found = y.copy_to_host(stream=stream)
    stream.synchronize()
    np.testing.assert_array_equal(found, (a + 1) + a)
    np.testing.assert_array_equal(add(a, a, stream=stream), a + a)


@pytest.mark.parametrize("size", [1, 2, 3, 1000, 4097])
def test_reduce(device, size):
    values = np.arange(size, dtype=np.int32)
    assert add.reduce(values) == values.sum()
    assert add.reduce(cuda.to_device(values), stream=cuda.stream()) == values.sum()


def test_reduce_along_axes_keeps_the_order(device):
    @vectorize(["int32(int32, int32)"])
    def first(a, b):
        return a + 0 * b

    values = numbers(5, 7, dtype=np.int32)
    np.testing.assert_array_equal(first.reduce(values), values[0])
    np.testing.assert_array_equal(first.reduce(cuda.to_device(values), axis=1).copy_to_host(), values[:, 0])
    with pytest.raises(ValueError, match="identity"):
        add.reduce(values[:0])


def test_attributes(device):
    assert (add.nin, add.nout, add.nargs, add.ntypes, add.types) == (2, 1, 3, 3, ["ii->i", "ff->f", "dd->d"])
    assert add.__name__ == "add"
    limited = vectorize(["float32(float32)"])(lambda x: x + 1)
    limited.max_blocksize = 32
    np.testing.assert_array_equal(limited(numbers(100)), numbers(100) + 1)


def test_device_functions_and_signature_objects(device):
    @cuda.jit(device=True)
    def twice(x):
        return 2 * x

    @cuda.vectorize([float64(float64), float32(float32)])
    def four(x):
        return twice(twice(x))

    np.testing.assert_array_equal(four(numbers(9)), 4 * numbers(9))
    single = vectorize("int32(int32)", target="cuda")(lambda x: x - 1)
    np.testing.assert_array_equal(single(np.arange(3, dtype=np.int32)), [-1, 0, 1])


# guvectorize --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right"), [((5,), (5,)), ((), ()), ((5,), ()), ((), (3,)), ((5, 1), (1, 3)), ((2, 3), (3,)), ((0,), (0,))]
)
def test_loop_dimensions_broadcast(device, left, right):
    a, b = numbers(*left, 2, 4), numbers(*right, 4, 3)
    np.testing.assert_allclose(matmul(a, b), a @ b, rtol=1e-5)
    found = matmul(cuda.to_device(a), b)
    assert isinstance(found, cuda.DeviceNDArray)
    np.testing.assert_allclose(found.copy_to_host(), a @ b, rtol=1e-5)


def test_strided_sub_arrays(device):
    a, b = numbers(3, 8, 4)[:, ::2], numbers(3, 5, 4).transpose(0, 2, 1)
    np.testing.assert_allclose(matmul(a, b), a @ b, rtol=1e-5)
    np.testing.assert_allclose(matmul(cuda.to_device(numbers(3, 8, 4))[:, ::2], b).copy_to_host(), a @ b, rtol=1e-5)


def test_gufunc_outputs(device):
    a, b = numbers(3, 2, 4), numbers(3, 4, 2)
    host, stream = np.zeros((3, 2, 2), np.float32), cuda.stream()
    assert matmul(a, b, host) is host
    np.testing.assert_allclose(host, a @ b, rtol=1e-5)
    on_device = cuda.device_array((3, 2, 2), np.float32)
    assert matmul(a, b, out=on_device, stream=stream) is on_device
    stream.synchronize()
    np.testing.assert_allclose(on_device.copy_to_host(), a @ b, rtol=1e-5)


@guvectorize([(float64[:], float64[:], float64[:])], "(n),(n)->()", target="cuda")
def dot(x, y, r):
    s = 0
    for i in range(len(x)):
        s += x[i] * y[i]
    r[0] = s


def test_scalar_outputs_and_nested_tuples(device):
    assert dot(np.arange(4.0), np.arange(4.0)) == 14
    rows = ((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
    np.testing.assert_array_equal(dot(rows, rows), [14, 77])


def test_scalar_inputs(device):
    @guvectorize(["void(float64[:], float64, float64[:])"], "(n),()->(n)")
    def scaled(x, factor, r):
        for i in range(x.size):
            r[i] = x[i] * factor

    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(scaled(x, [1, 10]), x * [[1], [10]])
    np.testing.assert_array_equal(scaled(x.astype(np.float32), 2), x * 2)


def test_several_outputs(device):
    @guvectorize([void(int32[:], int32[:], float64[:])], "(x)->(x),(x)", target="cuda")
    def both(a, b, c):
        for i in range(a.size):
            b[i] = a[i] * 2
            c[i] = a[i] / 2

    values = np.arange(6, dtype=np.int32).reshape(2, 3)
    doubled, halved = both(values)
    np.testing.assert_array_equal(doubled, values * 2)
    np.testing.assert_array_equal(halved, values / 2)
    assert (doubled.dtype, halved.dtype) == (np.int32, np.float64)


def test_outputs_keep_what_is_not_written(device):
    @guvectorize("(x)->(x)")
    def odd(a, b):
        for i in range(a.size // 2):
            b[2 * i + 1] = a[i]

    target = np.full(6, -1.0)
    odd(np.arange(6.0), out=target)
    np.testing.assert_array_equal(target, [-1, 0, -1, 1, -1, 2])


def test_writable_inputs(device):
    @guvectorize([void(int32[:], int32[:])], "(n)->()", writable_args=("x",))
    def take(x, r):
        r[0] = 0
        for i in range(x.size):
            r[0] += x[i]
            x[i] = 0

    values = np.arange(6, dtype=np.int32).reshape(2, 3)
    np.testing.assert_array_equal(take(values), [3, 12])
    assert not values.any()


def test_fixed_extents_and_missing_ones(device):
    @guvectorize([void(float32[:], float32[:], float32[:])], "(3),(n)->(n)")
    def polynomial(c, x, r):
        for i in range(x.size):
            r[i] = c[0] + x[i] * (c[1] + x[i] * c[2])

    x = np.float32([1, 2])
    np.testing.assert_array_equal(polynomial(np.float32([1, 2, 3]), x), [6, 17])
    with pytest.raises(ValueError, match="3 long"):
        polynomial(np.float32([1, 2]), x)


def test_numbers_and_host_arrays_become_smaller_types(device):
    @guvectorize(["void(int32, int32[:], int32[:])"], "(),(t)->(t)", target="cuda")
    def scaled(a, x, r):
        for i in range(x.size):
            r[i] = a * x[i]

    x = np.arange(4, dtype=np.int64)
    found = scaled(np.int64(3), x)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, x * 3)
    with pytest.raises(TypeError, match="no signature"):
        scaled(cuda.to_device(np.array(3)), x.astype(np.int32))
    with pytest.raises(TypeError, match="no signature"):
        scaled(2.5, x.astype(np.float32))


def test_outputs_without_axes_of_one_input(device):
    @guvectorize(["void(int32[:], int32[:], int32[:])"], "(n),()->(n)", target="cuda")
    def added(x, y, r):
        for i in range(x.size):
            r[i] = x[i] + y[0]

    x, y = np.arange(4, dtype=np.int32), np.array([5], np.int32)
    for out in (np.zeros(4, np.int32), cuda.to_device(np.zeros(4, np.int32))):
        assert added(x, y, out=out) is out
        np.testing.assert_array_equal(out, x + 5)
    with pytest.raises(errors.ShapeError):
        added(x.reshape(1, 4), np.zeros(2, np.int32), out=np.zeros(4, np.int32))


def test_result_types_are_inferred(device):
    @vectorize([(float32, float32), (int32, float64)], target="cuda")
    def product(a, b):
        return a * b

    assert product(np.float32([2]), np.float32([3])).dtype == np.float32
    assert product(np.int32([2]), np.float64([3])).dtype == np.float64


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: dot(np.zeros(3)), TypeError, r"accepts 2 positional.*or 3 positional.*Got 1 positional argument\."),
        (lambda: dot(*[np.zeros(3)] * 4), TypeError, "Got 4 positional arguments"),
        (lambda: dot(np.zeros(3), np.zeros(4)), ValueError, "the axis n"),
        (lambda: dot(np.zeros(3), np.zeros(3), np.zeros(()), out=np.zeros(())), ValueError, "positional and keyword"),
        (lambda: guvectorize([int32(int32[:], int32[:])], "(m)->(m)")(_pair), TypeError, "cannot return values"),
        (lambda: guvectorize("(x)->(x)", nopython=False), TypeError, "nopython flag must be True"),
        (lambda: guvectorize("(x)->(x)", what=1), TypeError, "options are not supported"),
        (lambda: guvectorize("(x->(x)")(_pair), TypeError, "cannot be read"),
        (lambda: guvectorize("(x)->(y)")(_pair), ValueError, "undefined axes in its outputs: y"),
        (lambda: guvectorize([void(int32[:, :], int32[:])], "(m)->(m)")(_pair), TypeError, "does not fit"),
        (lambda: guvectorize("(x),(x)->(x)")(_pair), TypeError, "2 parameters"),
        (lambda: add(np.zeros(3), np.zeros(4)), ValueError, "broadcast"),
        (lambda: add(np.zeros(3)), TypeError, "takes 2"),
        (lambda: add(np.zeros(3), 1, np.zeros(3), out=np.zeros(3)), ValueError, "positional and keyword"),
        (lambda: add(np.zeros(3), 1, out=np.zeros(4)), ValueError, "out= has"),
        (lambda: add(np.zeros(3), 1, out=np.zeros(3, int)), TypeError, "out= is int64"),
        (lambda: add(np.zeros(3), 1, out=[1, 2, 3]), TypeError, "out= is an array"),
        (lambda: vectorize(["float32[:](float32[:])"])(lambda x: x), TypeError, "no signature of a function"),
        (lambda: vectorize(target="fpga"), TypeError, "no target"),
    ],
)
def test_wrong_uses(device, call, kind, message):
    with pytest.raises(errors.PortaGPUError, match=message) as caught:
        call()
    assert isinstance(caught.value, kind)


def _pair(a, b):
    b[0] = a[0]


def test_kernels_cannot_call_them(device):
    @cuda.jit
    def kernel(x):
        x[0] = add(x[0], 1)

    with pytest.raises(portagpu.errors.TypingError):
        kernel[1, 1](np.zeros(1))


def test_errors_show_the_users_line(device):
    @vectorize(["float32(float32)"])
    def wrong(x):
        return x + "text"

    with pytest.raises(errors.KernelError) as caught:
        wrong(numbers(3))
    assert 'x + "text"' in str(caught.value)
