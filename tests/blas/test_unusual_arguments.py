"""What NumPy's users may pass to products beside plain arrays: other byte orders, masks, subclasses, odd scalars."""

from __future__ import annotations

import array
import ctypes
import numbers
from decimal import Decimal
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import portagpu
from portagpu import blas, cuda, errors, lapack
from portagpu.blas import dgemm
from portagpu.device import working_devices

pytestmark = pytest.mark.one_device

X = np.random.default_rng(3).integers(-9, 10, (90, 90))  # sums are exact in float32; large enough to be shared


@pytest.mark.parametrize("dtype", [">f4", ">f8", ">c8", ">f2"])
def test_other_byte_orders(device, dtype):
    x = X.astype(dtype) if dtype != ">f2" else np.sign(X).astype(dtype)
    native = x.dtype.newbyteorder("=")
    for _ in range(3):  # products that come again take another way
        product = portagpu.matmul(x, x.T)
        assert product.dtype == native
        assert np.array_equal(product, x.astype(np.complex128) @ x.T)
        out = np.ones(x.shape, dtype)
        assert portagpu.matmul(x, x.T, out=out, beta=2) is out
        assert np.array_equal(out, product + native.type(2))
        plain = x.astype(native)
        portagpu.matmul(plain, plain.T, out=out.T)
        assert np.array_equal(out.T, product)
    assert np.array_equal(portagpu.grouped_matmul(x, x[None], [0, len(x)]), x.astype(np.complex128) @ x)


@pytest.mark.parametrize("dtype", [">f4", ">f8", ">c16"])
def test_results_are_in_the_byte_order_of_the_machine(device, dtype):
    """Another one cannot be asked for, by text or dtype; NumPy's functions refuse it, too."""
    swapped = np.dtype(dtype)
    x = X.astype(swapped.newbyteorder("="))
    moved = cuda.to_device(x)
    for wanted in (dtype, swapped):
        for operand in (x, X.astype(swapped), moved):
            with pytest.raises(
                errors.DTypeError, match=f"'{dtype}'.* is no dtype that devices have\\n.*{x.dtype.name}"
            ):
                portagpu.matmul(operand, operand, dtype=wanted)
    for wanted in (x.dtype, swapped.type, x.dtype.name, x.dtype.str):
        for operand in (x, X.astype(swapped)):
            found = portagpu.matmul(operand, operand, dtype=wanted)
            assert found.dtype == x.dtype and np.array_equal(found, X @ X)
        assert portagpu.matmul(moved, moved, dtype=wanted).dtype == x.dtype


def test_other_byte_orders_on_the_device_are_refused(device):
    swapped = cuda.to_device(X.astype(">f4"))
    with pytest.raises(errors.DTypeError, match="operand a is >f4") as caught:
        portagpu.matmul(swapped, swapped)
    assert "on the host" in str(caught.value)


def test_masked_elements_are_refused(device):
    x = np.ones((3, 3), np.float32)
    for arguments in ((np.ma.masked_array(x, mask=np.eye(3)), x), (x, np.ma.masked_array(x, mask=np.eye(3)))):
        with pytest.raises(errors.ArgumentTypeError, match=r"masked elements.*\n.*filled"):
            portagpu.matmul(*arguments)
    assert np.array_equal(portagpu.matmul(np.ma.masked_array(x, mask=False), x), x @ x)


class Tagged(np.ndarray):
    """A subclass of a client's."""


@pytest.mark.parametrize("make", [lambda x: x.view(Tagged), np.ma.masked_array], ids=["subclass", "mask"])
def test_results_are_plain_arrays_also_of_subclasses(device, make):
    """As SciPy's: only what is overwritten is returned as it is."""
    x, a = np.arange(1, 4, dtype=np.float32), np.tri(3, dtype=np.float32) + np.eye(3, dtype=np.float32)
    for dtype in (np.float32, np.int8):  # a copy, and a conversion
        y = make(x.astype(dtype))
        assert type(blas.sgemv(1, a, x, beta=1, y=y)) is np.ndarray
        assert type(blas.strmv(a, y)) is np.ndarray
        assert type(lapack.spotrf(make((a @ a.T).astype(dtype)))[0]) is np.ndarray
        assert type(lapack.spotrf(make((a @ a.T).astype(dtype)[None]))[0]) is np.ndarray
    y = make(x)
    assert blas.strmv(a, y, overwrite_x=1) is y


def test_scalars_beyond_float32_are_refused(device):
    x = np.ones((3, 3), np.float32)
    for value in (1e39, -1e300, (2 - 2.0**-24) * 2.0**127):
        with pytest.raises(errors.ArgumentTypeError, match="too large for the float32"):
            portagpu.matmul(x, x, alpha=value)
    with pytest.raises(errors.ArgumentTypeError, match="beta is"):
        portagpu.matmul(x, x, out=np.ones((3, 3), np.float32), beta=1e39)
    with pytest.raises(errors.ArgumentTypeError, match="too large"):
        portagpu.matmul(x.astype(np.complex64), x.astype(np.complex64), alpha=1e39j)
    most = float(np.finfo(np.float32).max)
    assert portagpu.matmul(x[:1, :1], x[:1, :1], alpha=most) == np.float32(most)
    assert np.isposinf(portagpu.matmul(x, x, alpha=float("inf"))).all()
    if device.capabilities.fp64:
        assert (portagpu.matmul(x.astype(np.float64), x.astype(np.float64), alpha=1e300) == 3e300).all()


def test_scalars_of_bfloat16(device):
    x = np.ones((3, 3), ml_dtypes.bfloat16)
    assert (portagpu.matmul(x, x, alpha=ml_dtypes.bfloat16(0.5)) == 1.5).all()


@pytest.mark.parametrize(
    "dtype, wanted",
    [("longdouble", "float64"), ("clongdouble", "complex128"), ("O", "float64")],
)
def test_hints_lose_no_digits(device, dtype, wanted):
    with pytest.raises(errors.DTypeError) as caught:
        portagpu.matmul(np.ones((2, 2), dtype), np.ones((2, 2), dtype))
    assert f"a.astype(np.{wanted})" in str(caught.value)


def test_hints_for_records_complex_numbers_and_device_arrays(device):
    records = np.zeros((2, 2), [("x", "f4"), ("y", "f4")])
    with pytest.raises(errors.DTypeError, match=r'take one field of the records: a\["x"\]'):
        portagpu.matmul(records, records)
    long = np.ones((2, 2), np.clongdouble)
    with pytest.raises(errors.DTypeError, match="complex128"):
        portagpu.matmul(long, long)
    a, b = cuda.to_device(np.ones((2, 2), np.float32)), cuda.to_device(np.ones((2, 2), np.int8))
    with pytest.raises(errors.DTypeError, match="copy_to_host"):
        portagpu.matmul(a, b)


def test_products_that_no_host_holds(device):
    wide = np.broadcast_to(np.float32(1), (2**44, 1))
    with pytest.raises(errors.OutOfMemoryError, match="no memory for a result"):
        portagpu.matmul(wide, np.ones((1, 2**10), np.float32))


def test_batches_of_transposes(device):
    x = np.random.default_rng(0).integers(-9, 10, (3, 5, 4)).astype(np.float32)
    on_device = cuda.to_device(x)
    wanted = x @ x.transpose(0, 2, 1)
    for view in (
        on_device.mT,
        np.swapaxes(on_device, 1, -1),
    ):
        assert np.array_equal((on_device @ view).copy_to_host(), wanted)
    assert np.broadcast_to(on_device[:1], (2, 5, 4)).shape == (2, 5, 4)
    with pytest.raises(errors.ShapeError, match="two axes"):
        on_device[0, 0].mT  # noqa: B018
    with pytest.raises(errors.ShapeError, match="axes 0 and 3"):
        np.swapaxes(on_device, 0, 3)


@pytest.mark.parametrize("other", ["bool", "int16", "int64", "uint32", "float64", "int8"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64"])
def test_numbers_are_promoted_as_numpy_does(device, dtype, other):
    """A mask or whole numbers times floats, in either order, where NumPy's common dtype is one that products take."""
    x, y = np.sign(X).astype(dtype), (abs(X) % 2).astype(other)
    wanted = np.result_type(x, y)
    for left, right in ((x, y), (y, x), (y[:, :3].T, x)):
        found = portagpu.matmul(left, right)
        assert found.dtype == wanted and np.array_equal(found, left.astype(np.complex128) @ right)


@pytest.mark.parametrize(
    ("left", "right", "told"),
    [
        ("float32", "longdouble", "operand b is "),
        ("float32", "timedelta64[s]", "operand b is timedelta64"),
        ("int64", ml_dtypes.bfloat16, "int64 and bfloat16, which have no common dtype"),
    ],
)
def test_numbers_without_a_product_are_told(device, left, right, told):
    with pytest.raises(errors.DTypeError, match=told):
        portagpu.matmul(np.ones((3, 3), left), np.ones((3, 3)).astype(right))
    with pytest.raises(errors.DTypeError, match="the operands are float32 and int16"):
        portagpu.matmul(cuda.to_device(np.ones((3, 3), np.float32)), cuda.to_device(np.ones((3, 3), np.int16)))


class Table:
    """As those of libraries for tables, which NumPy's functions take."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return self.values


def test_what_numpy_takes_for_an_array(device):
    x = X.astype(np.float32)
    for other in (Table(x), memoryview(x), x.tolist(), x.view(np.recarray)):
        assert np.array_equal(portagpu.matmul(other, x), x @ x)
        assert np.array_equal(portagpu.matmul(x, other), x @ x)
    row = array.array("f", [1, 2, 3])
    assert portagpu.matmul(row, row) == 14
    with pytest.raises(errors.ArgumentTypeError, match="operand a is a str"):
        portagpu.matmul("abc", x)


def test_what_else_numpy_takes_for_arrays(device):
    numbers = (ctypes.c_float * 3)(1, 2, 3)
    assert portagpu.matmul(range(3), np.eye(3)).tolist() == [0, 1, 2]
    assert portagpu.matmul(numbers, np.eye(3, dtype=np.float32)).tolist() == [1, 2, 3]


def test_masks_of_out_are_an_error(device):
    out = np.ma.array(np.eye(3), mask=np.eye(3) > 0)
    with pytest.raises(errors.ArgumentTypeError, match="out has masked elements"):
        portagpu.matmul(np.eye(3), np.eye(3), out=out, beta=1.0)
    out = np.ma.array(np.eye(3))
    assert portagpu.matmul(np.eye(3), np.eye(3), out=out) is out


def test_groups_of_mixed_byte_orders(device):
    a, b = X[:4, :5].astype(">f4"), X[:5, :3].astype("<f4")[None]
    assert np.array_equal(portagpu.grouped_matmul(a, b, [0, 4]), X[:4, :5] @ X[:5, :3])


def test_what_the_host_has_no_memory_for(device):
    tall = np.broadcast_to(np.float32(1), (2**44, 1))
    with pytest.raises(errors.OutOfMemoryError, match="a result"):
        portagpu.grouped_matmul(tall, np.ones((1, 1, 1024), np.float32), [0, 2**44])
    with pytest.raises(errors.OutOfMemoryError, match="a converted operand"):
        portagpu.matmul(tall.T, np.broadcast_to(np.float64(1), (2**44, 1)))
    with pytest.raises(errors.OutOfMemoryError, match="a, converted"):
        dgemm(1, tall.T, np.eye(2))


def test_a_c_that_cannot_be_overwritten(device):
    one = cuda.to_device(np.eye(3))
    with pytest.raises(errors.ArgumentTypeError, match="c is a ndarray; a and b are on the device"):
        dgemm(1, one, one, 1.0, np.eye(3), overwrite_c=1)


def test_a_stream_says_where_arrays_of_the_host_go(device):
    x = X.astype(np.float32)
    stream = cuda.stream()
    others = [d for d in working_devices() if d != device]
    with cuda.select_device(others[0] if others else device):
        for _ in range(3):
            assert np.array_equal(portagpu.matmul(x, x, stream=stream), X @ X)
        assert np.array_equal(portagpu.grouped_matmul(x, x[None], [0, 90], stream=stream), X @ X)


@pytest.mark.parametrize("on_device", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_steps_of_a_single_row_may_be_anything(device, on_device, dtype):
    """They lead nowhere, so that nobody need count with them."""
    base = np.ones((2, 4096), dtype)
    row = base[::1_000_000]
    column = np.ones((4096, 8), dtype)
    out = np.zeros((2, 8), dtype)[::1_000_000]
    put = cuda.to_device if on_device else lambda x: x
    if on_device:
        row, column, out = cuda.to_device(base)[::1_000_000], put(column), cuda.to_device(np.zeros((2, 8), dtype))
        out = out[::1_000_000]
    found = portagpu.matmul(row, column)
    assert np.all(np.asarray(found.copy_to_host() if on_device else found) == 4096)
    found = portagpu.matmul(column.T, row.T)
    assert np.all(np.asarray(found.copy_to_host() if on_device else found) == 4096)
    portagpu.matmul(row, column, out=out)
    assert np.all(np.asarray(out.copy_to_host() if on_device else out) == 4096)


class Opaque(numbers.Number):
    """A number, as it says, that becomes no float."""


class Listing:
    """What is no array, but becomes one."""

    def __array__(self, dtype=None, copy=None):
        return np.ones(3, np.float32)


@pytest.mark.parametrize("name", ["alpha", "beta"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8])
@pytest.mark.parametrize("value", [np.longdouble("1e4000"), Decimal("1e400"), Decimal("-1e400"), 10**400], ids=str)
def test_finite_scalars_never_become_infinite(device, name, dtype, value):
    if isinstance(value, np.longdouble) and np.isinf(value):
        pytest.skip("a longdouble is a double here")
    if dtype == np.float64 and not device.capabilities.fp64:
        pytest.skip("no float64")
    x = np.ones((3, 3), dtype)
    out = np.ones((3, 3), np.int32 if dtype == np.int8 else dtype)
    with pytest.raises(errors.ArgumentTypeError, match=f"{name} is too large for a float"):
        portagpu.matmul(x, x, out=out, **{name: value})
    with pytest.raises(errors.ArgumentTypeError, match=f"{name} is too large for a float"):
        portagpu.grouped_matmul(x, x[None], [0, 3], out=out, **{name: value})


def test_finite_complex_scalars_never_become_infinite(device):
    large = np.longdouble("1e4000")
    if np.isinf(large):
        pytest.skip("a longdouble is a double here")
    x = np.ones((3, 3), np.complex64)
    for value in (np.clongdouble(large), np.clongdouble(1j) * large):
        with pytest.raises(errors.ArgumentTypeError, match="alpha is too large for a float"):
            portagpu.matmul(x, x, alpha=value)


@pytest.mark.parametrize("value", [np.longdouble("inf"), Decimal("Infinity"), np.float16(np.inf), np.inf], ids=repr)
def test_infinite_scalars_are_numbers(device, value):
    x = np.ones((3, 3), np.float32)
    assert np.isposinf(portagpu.matmul(x, x, alpha=value)).all()
    assert np.isnan(portagpu.matmul(x, x, alpha=Decimal("NaN"))).all()


def test_scalars_that_float32_rounds_to_zero(device):
    x = np.ones((3, 3), np.float32)
    assert (portagpu.matmul(x, x, alpha=1e-50) == 0).all()
    assert (portagpu.matmul(x, x, out=np.ones_like(x), beta=1e-50) == 3).all()


@pytest.mark.parametrize(
    "value",
    [
        Decimal("sNaN"),
        np.timedelta64(3, "s"),
        np.timedelta64(2, "D"),
        np.array(np.timedelta64(2, "D")),
        Fraction(10**5000, 10**4700 + 1),
        Opaque(),
    ],
    ids=["sNaN", "seconds", "days", "array", "fraction", "opaque"],
)
@pytest.mark.parametrize("name", ["alpha", "beta"])
def test_numbers_that_are_none_are_told(device, name, value):
    for dtype in (np.float32, np.int8):
        x = np.ones((3, 3), dtype)
        with pytest.raises(errors.ArgumentTypeError, match=f"{name} is ") as caught:
            portagpu.matmul(x, x, out=np.ones((3, 3), np.int32 if dtype == np.int8 else dtype), **{name: value})
        assert "hint:" in str(caught.value)


@pytest.mark.parametrize("on_device", [False, True])
@pytest.mark.parametrize("precision", [np.array(["tf32", "x"]), np.array([]), 0, False, []], ids=repr)
def test_precisions_that_are_no_texts(device, on_device, precision):
    x = np.ones((64, 64), np.float32)
    x = cuda.to_device(x) if on_device else x
    with pytest.raises(errors.UnknownOptionError, match=r"precision .* does not exist"):
        portagpu.matmul(x, x, precision=precision)
    with pytest.raises(errors.UnknownOptionError, match=r"precision .* does not exist"):
        portagpu.grouped_matmul(x, x.reshape((1, 64, 64)), [0, 64], precision=precision)


def test_no_precision_may_be_an_empty_text(device):
    x = np.ones((3, 3), np.float32)
    assert (portagpu.matmul(x, x, precision="") == 3).all()
    assert (portagpu.grouped_matmul(x, x[None], [0, 3], precision="") == 3).all()


SCALARS = [3, 2.0, np.float32(3), np.array(3.0)]


@pytest.mark.parametrize("other", SCALARS, ids=repr)
def test_scalars_beside_device_arrays_are_told(device, other):
    x = cuda.to_device(np.eye(4, dtype=np.float32))
    told = rf"a scalar \({type(other).__name__}\)(.|\n)*hint: .*kernel.*alpha="
    for call in (lambda: portagpu.matmul(x, other), lambda: x @ other, lambda: portagpu.grouped_matmul(x, other, [0])):
        with pytest.raises(errors.ArgumentTypeError, match=f"operand b is {told}"):
            call()
    for call in (lambda: portagpu.matmul(other, x), lambda: portagpu.grouped_matmul(other, x, [0])):
        with pytest.raises(errors.ArgumentTypeError, match=f"operand a is {told}"):
            call()


@pytest.mark.parametrize("other", [[1, 2, 3], (1, 2, 3), range(3), Listing()], ids=lambda x: type(x).__name__)
def test_lists_beside_device_arrays_are_told(device, other):
    x = cuda.to_device(np.eye(3, dtype=np.float32))
    told = f"is a {type(other).__name__}, the other is on the device"
    with pytest.raises(errors.ArgumentTypeError, match=f"operand b {told}") as caught:
        portagpu.matmul(x, other)
    assert "hint: move it: cuda.to_device(np.array(b, a.dtype))" in str(caught.value)
    with pytest.raises(errors.ArgumentTypeError, match=f"operand a {told}"):
        portagpu.matmul(other, x)
    moved = cuda.to_device(np.array(other, x.dtype))  # as the hint says
    assert np.array_equal((x @ moved).copy_to_host(), np.asarray(other))


@pytest.mark.parametrize("on_device", [False, True])
def test_errors_that_say_what_to_do(device, on_device):
    move = cuda.to_device if on_device else np.asarray
    x = move(np.ones((3, 3), np.float32))
    out = np.zeros((3, 3), np.float32)
    out.flags.writeable = False
    out = cuda.to_device(out).as_readonly() if on_device else out
    with pytest.raises(errors.ArgumentTypeError, match=r"read-only\n.*out\.copy\(\)"):
        portagpu.matmul(x, x, out=out)
    copied = out.copy()
    assert portagpu.matmul(x, x, out=copied) is copied
    many, three = move(np.ones((2, 4, 4), np.float32)), move(np.ones((3, 4, 4), np.float32))
    with pytest.raises(errors.ShapeError, match=r"do not broadcast\n.*x\[:, None\]"):
        portagpu.matmul(many, three)
    assert portagpu.matmul(many[:, None], three).shape == (2, 3, 4, 4)


def test_results_of_host_products_are_views(device):
    """As docs/gemm.md says."""
    large, small = (np.full((n, n), 3e38, np.float32) for n in (200, 3))
    for x in (large, small):
        with np.errstate(all="raise"):
            assert np.isinf(portagpu.matmul(x, x)).all()
    found = portagpu.matmul(large, large)
    assert not found.flags.owndata and found.base is not None
    with pytest.raises(ValueError, match="does not own its data"):
        found.resize((300, 300))
    assert portagpu.matmul(*[np.ones((1,) * 32, np.float32)] * 2).ndim == 32


def test_scalars_of_no_axes_are_refused_beside_arrays_of_any(device):
    scalar = np.array(2, np.float32)
    for n in (0, 1, 2, 3):
        x = np.ones((4,) * n, np.float32)
        for operands in ((x, scalar), (scalar, x)):
            with pytest.raises(errors.ShapeError, match="at least one axis"):
                portagpu.matmul(*operands)


def test_results_of_vectors_are_views(device):
    found = portagpu.matmul(np.ones((8, 4), np.float32), np.ones(4, np.float32))
    assert found.shape == (8,) and not found.flags.owndata


def test_signed_and_unsigned_bytes_become_numbers_that_hold_both(device):
    found = portagpu.matmul(np.full((2, 2), 255, np.uint8), np.full((2, 2), -128, np.int8))
    assert found.dtype == np.int16 and (found == 256).all()  # -65280, modulo 2**16
