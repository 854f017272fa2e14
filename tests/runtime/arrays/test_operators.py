"""What Python's operators and NumPy's names do with device arrays, and values that must fit."""

from __future__ import annotations

import copy
import operator
import pickle

import numpy as np
import pytest

import portagpu
from portagpu import cuda, errors

pytestmark = pytest.mark.one_device

BINARY = [
    *(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow),
]
BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod]


def on_device(*values):
    return cuda.to_device(np.array(values, np.float32))


def check(found, expected):
    for one, wanted in zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]:
        assert isinstance(one, cuda.DeviceNDArray) and one.dtype == wanted.dtype and one.shape == wanted.shape
        np.testing.assert_allclose(one.copy_to_host(), wanted, rtol=1e-6)


@pytest.mark.each_value
@pytest.mark.in_turn(1)
@pytest.mark.parametrize("function", [*BINARY, divmod])
@pytest.mark.parametrize("other", [2, 1.5, np.float32(3), np.array([3, 1, 2], np.float32)], ids=repr)
def test_operators_are_numpys(device, function, other):
    host = np.array([1, 2, 3], np.float32)
    array = cuda.to_device(host)
    check(function(array, other), function(host, other))
    check(function(other, array), function(other, host))
    if isinstance(other, np.ndarray):
        check(function(array, cuda.to_device(other)), function(host, other))


@pytest.mark.parametrize("function", BITS)
@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_operators_of_bits(device, function, dtype):
    host, other = np.array([1, 2, 77], dtype), np.array([3, 1, 2], dtype)
    check(function(cuda.to_device(host), cuda.to_device(other)), function(host, other))
    check(function(cuda.to_device(host), 3), function(host, 3))


@pytest.mark.parametrize("function", [operator.neg, operator.pos, abs])
def test_unary_operators(device, function):
    check(function(on_device(1, -2)), function(np.array([1, -2], np.float32)))
    check(~cuda.to_device(np.array([1, -2])), ~np.array([1, -2]))
    check(~cuda.to_device(np.array([True, False])), ~np.array([True, False]))


@pytest.mark.parametrize("function", IN_PLACE)
def test_operators_in_place(device, function):
    host, other = np.array([[1, 7, 3], [9, 5, 4]], np.float32), np.array([2, 4, 3], np.float32)
    array = kept = cuda.to_device(host)
    before = array * 2  # of what the array holds now
    array = function(array, cuda.to_device(other))
    assert array is kept
    check(before, host * 2)
    check(array, function(host, other))
    array[:, 1:] = function(array[:, 1:], 2)
    host[:, 1:] = function(host[:, 1:], 2)
    check(array, host)


def test_operators_in_place_keep_the_kind(device):
    array = cuda.to_device(np.arange(3))
    with pytest.raises(errors.DTypeError, match="float64"):
        array += 1.5
    with pytest.raises(errors.ShapeError):
        array += cuda.to_device(np.ones((2, 3), int))


def test_no_operands(device):
    """They equal no element, and Python refuses the rest."""
    array = on_device(1, 2, 3)
    for other in (None, "x", b"x"):
        assert not (array == other).copy_to_host().any() and (array != other).copy_to_host().all()
        for function in (operator.add, operator.lt, operator.pow, operator.iadd):
            with pytest.raises(TypeError, match=r"unsupported operand|not supported"):
                function(array, other)
    assert 2 in array and 7 not in array


@pytest.mark.parametrize("shape", [(4, 4), (3, 4), (4,), (2, 3, 4)], ids=str)
def test_products_in_place_are_numpys(device, shape):
    host = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    factor = np.arange(16, dtype=np.float32).reshape(4, 4)
    array = kept = cuda.to_device(host)
    array @= cuda.to_device(factor)
    host @= factor
    assert array is kept and np.array_equal(array.copy_to_host(), host)
    if shape == (4, 4):  # what is overwritten is an operand on both sides
        array @= array.T
        assert array is kept and np.array_equal(array.copy_to_host(), host @ host.T)


@pytest.mark.parametrize("factor", [(4, 5), (3, 4), (4,), (2, 4, 4), ()], ids=str)
def test_products_in_place_keep_the_shape(device, factor):
    array, host = cuda.to_device(np.ones((3, 4), np.float32)), np.ones((3, 4), np.float32)
    with pytest.raises(errors.ShapeError):
        array @= cuda.to_device(np.ones(factor, np.float32))
    with pytest.raises(ValueError):
        host @= np.ones(factor, np.float32)
    array @= np.ones((4, 4), np.float32)  # operands of the host are copied
    host @= np.ones((4, 4), np.float32)
    np.testing.assert_array_equal(array.copy_to_host(), host)


def test_truth_is_numpys(device):
    assert bool(on_device(1)) and not bool(on_device(0))
    assert bool(cuda.to_device(np.array([[3]])))
    for values in ((), (0, 0, 0), (1, 2)):
        with pytest.raises(ValueError, match="ambiguous"):
            bool(on_device(*values))


def test_conversions_take_one_element(device):
    assert float(on_device(2.5)) == 2.5
    assert int(on_device(2.5)) == 2
    assert complex(on_device(2.5)) == 2.5
    assert [10, 20, 30][cuda.to_device(np.array(1))] == 20
    for function in (float, int, complex):
        with pytest.raises(errors.ShapeError):
            function(on_device(1, 2))
    with pytest.raises(TypeError):
        [10, 20][on_device(1)]


def test_iteration(device):
    assert list(on_device(1, 2, 3)) == [1, 2, 3]
    host = np.arange(6.0).reshape(3, 2)
    rows = list(cuda.to_device(host))
    assert all(isinstance(row, cuda.DeviceNDArray) for row in rows)
    np.testing.assert_array_equal([row.copy_to_host() for row in rows], host)
    first, second = on_device(4, 5)
    assert (first, second) == (4, 5)
    with pytest.raises(TypeError):
        iter(cuda.to_device(np.array(1.0)))


def test_split(device):
    array = cuda.to_device(np.arange(10, dtype=np.int32))
    parts = list(array.split(4))
    assert [part.size for part in parts] == [4, 4, 2]
    parts[1][:] = -1
    np.testing.assert_array_equal(array.copy_to_host(), [0, 1, 2, 3, -1, -1, -1, -1, 8, 9])
    stream = cuda.stream()
    assert all(part.stream is stream for part in array.split(3, stream))


def test_sizes(device):
    array = cuda.to_device(np.zeros((4, 6), np.float32))
    assert (array.alloc_size, array.nbytes, len(array), array.size) == (96, 96, 4, 24)
    assert array[:, :2].alloc_size == 80
    assert array[:, :2].nbytes == 32
    assert array[:0].alloc_size == 0


def test_numpys_facts(device):
    array = cuda.to_device(np.zeros((4, 6), np.float32))
    assert (np.shape(array), np.ndim(array), np.size(array), np.size(array, 1)) == ((4, 6), 2, 24, 6)


@pytest.mark.parametrize("shift", [1, 3])
def test_overlapping_copies(device, shift):
    host = np.arange(100, dtype=np.float32)
    for target, source in ((np.s_[shift:], np.s_[:-shift]), (np.s_[:-shift], np.s_[shift:])):
        expected = host.copy()
        expected[target] = host[source]
        array = cuda.to_device(host)
        array[target].copy_to_device(array[source])
        np.testing.assert_array_equal(array.copy_to_host(), expected)


def test_an_index_beyond_the_end_is_an_index_error(device):
    with pytest.raises(IndexError):
        on_device(1, 2)[2]
    with pytest.raises(errors.ShapeError):
        on_device(1, 2)[0, 0]


@pytest.mark.parametrize("value", [300, -1, 2**70, float("nan"), "x", None, 1j, [1, 256]])
def test_values_that_do_not_fit_are_refused_as_by_numpy(device, value):
    array = cuda.to_device(np.zeros(2, np.uint8))
    with pytest.raises(errors.PortaGPUError):
        array[:] = value
    np.testing.assert_array_equal(array.copy_to_host(), 0)


def test_arrays_are_converted_whatever_they_hold(device):
    array = cuda.to_device(np.zeros(2, np.uint8))
    array[:] = np.array([1.5, 300])[:1]
    np.testing.assert_array_equal(array.copy_to_host(), 1)
    array[0] = True
    array[1] = 2.75
    np.testing.assert_array_equal(array.copy_to_host(), [1, 2])


def test_to_device_into_an_array(device):
    target = cuda.device_array(3, np.float32)
    assert cuda.to_device(np.arange(3, dtype=np.float32), to=target) is target
    assert cuda.to_device(on_device(5, 6, 7), to=target) is target
    np.testing.assert_array_equal(target.copy_to_host(), [5, 6, 7])
    if device.backend == "opencl":
        cuda.to_device(on_device(8, 9, 10).to_pyopencl(), to=target)
        np.testing.assert_array_equal(target.copy_to_host(), [8, 9, 10])


def test_products_on_a_stream(device):
    host = np.random.default_rng(0).random((70, 70)).astype(np.float32)
    stream = cuda.stream()
    np.testing.assert_allclose(portagpu.matmul(host, host, stream=stream), host @ host, rtol=1e-4)
    array = cuda.to_device(host)
    found = portagpu.matmul(array, array, stream=stream)
    stream.synchronize()
    np.testing.assert_allclose(found.copy_to_host(), host @ host, rtol=1e-4)
    np.testing.assert_allclose(np.dot(array, array[0]).copy_to_host(), host @ host[0], rtol=1e-4)


def test_launches_take_numpys_integers(device):
    @cuda.jit
    def fill(x):
        shared = cuda.shared.array(0, np.float32)
        i = cuda.grid(1)
        if i < x.size:
            shared[cuda.threadIdx.x] = 1
            x[i] = shared[cuda.threadIdx.x]

    found = np.zeros(20, np.float32)
    fill[np.int32(2), np.int64(16), 0, np.int64(64)](found)
    np.testing.assert_array_equal(found, 1)
    fill.forall(np.int64(20), tpb=np.int32(16), sharedmem=np.int64(64))(found)
    fill.forall(0)(found)


def test_signatures_read_like_signatures(device):
    @cuda.jit
    def take(a, b, c, d, e):
        a[0] = b[0, 0] + c[0, 0] + d + e[0]

    host = np.zeros((4, 4), np.float32)
    take[1, 1](host[0], cuda.to_device(host), cuda.to_device(host.T), 3, (1, 2.5))
    arrays = "array(float32, 1d, C), array(float32, 2d, C), array(float32, 2d, F)"
    assert repr(take.signatures) == f"[({arrays}, int64, Tuple(int64, float64))]"


def test_facts_cannot_be_assigned(device):
    array = on_device(1, 2, 3, 4)
    for name, value in (("shape", (2, 2)), ("dtype", np.int32), ("strides", (8,))):
        with pytest.raises(AttributeError):
            setattr(array, name, value)
    np.testing.assert_array_equal(array.copy_to_host(), [1, 2, 3, 4])


def test_copies_are_apart_and_pickles_refused(device):
    array = on_device(1, 2)
    for made in (copy.copy(array), copy.deepcopy(array), copy.deepcopy([array])[0]):
        made[0] = 5
    np.testing.assert_array_equal(array.copy_to_host(), [1, 2])
    with pytest.raises(TypeError, match="copy_to_host"):
        pickle.dumps(array)


def test_indices_may_be_anything_that_is_an_integer(device):
    host = np.arange(6).reshape(2, 3)
    array = cuda.to_device(host)
    for one in (1, np.int8(1), np.array(1), cuda.to_device(np.array(1))):
        np.testing.assert_array_equal(array[one].copy_to_host(), host[1])
        assert array[one, one] == 4
    for wrong in (1.0, "x", [1.5]):
        with pytest.raises(errors.ArgumentTypeError):
            array[wrong]


def test_squeeze_names_axes(device):
    array = cuda.to_device(np.zeros((1, 3, 1)))
    assert array.squeeze().shape == (3,)
    assert array.squeeze(0).shape == (3, 1)
    assert array.squeeze((0, 2)).shape == (3,)
    with pytest.raises(errors.ShapeError):
        array.squeeze(1)


def test_linalg_matmul(device):
    host = np.arange(9, dtype=np.float32).reshape(3, 3)
    array = cuda.to_device(host)
    np.testing.assert_allclose(np.linalg.matmul(array, array).copy_to_host(), host @ host)
