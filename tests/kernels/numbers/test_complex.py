"""Complex numbers in kernels: operators, parts, promotion, memory, `cmath`; against NumPy in higher precision."""

from __future__ import annotations

import cmath
import dataclasses
import math
import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_samples import supported

from portagpu import cuda
from portagpu.backends.opencl.codegen.generate import generate
from portagpu.device import DeviceRecord
from portagpu.dispatch.code.lowering import lower_kernel
from portagpu.dtypes import COMPLEX64, COMPLEX128, FLOAT32
from portagpu.errors import KernelTypeError, KernelValueError, MissingCapabilityError
from portagpu.ir.types import PYCOMPLEX, ArrayType, Layout, Scalar
from portagpu.ir.verify import verify

COMPLEX = ("complex64", "complex128")
Array = np.ndarray[Any, Any]


def _skip(device: DeviceRecord, name: str) -> bool:
    return name == "complex128" and "float64" not in supported(device)


def _values(name: str) -> Array:
    """Numbers of many sizes, also near the unit circle, where logarithms cancel."""
    random = np.random.default_rng(3)
    real, imag = (random.normal(size=300) * 10 ** random.uniform(-5, 2, 300) for _ in range(2))
    circle = np.exp(2j * np.pi * random.random(100)) * (1 + random.normal(size=100) * 10 ** random.uniform(-8, -1, 100))
    return np.concatenate([real + 1j * imag, circle]).astype(name)


def _awkward(name: str) -> Array:
    """Every pair of special parts."""
    info = np.finfo(name)
    parts = np.array(
        [0, -0.0, 1, -1, 2.5, float(info.max), -float(info.max), float(info.tiny), np.inf, -np.inf, np.nan]
    )
    found = np.empty(parts.size**2, name)
    found.real, found.imag = (p.ravel() for p in np.meshgrid(parts, parts))
    return found


def _check(found: Array, exact: Array, ulps: float, what: str) -> None:
    """Error of both parts together, in ulp of the modulus."""
    info = np.finfo(found.dtype)
    fine = np.isfinite(exact) & (np.abs(exact) < float(info.max)) & (np.abs(exact) > float(info.tiny))
    error = np.abs(found.astype(np.clongdouble) - exact)[fine] / np.abs(exact)[fine] / info.eps
    assert error.size and float(error.max()) <= ulps, f"{what}: {float(error.max())} ulp"


# operators ------------------------------------------------------------------------------------------------------------


@cuda.jit
def arithmetic(a, b, out, equal, codes):
    i = cuda.grid(1)
    if i < a.size:
        x, y = a[i], b[i]
        for n, r in enumerate((x + y, x - y, x * y, x / y, -x, +x, x**2, x**3, x**-1, abs(x) + 0j)):
            codes[n] = r.dtype.num
            out[n, i] = r
        equal[0, i] = x == y
        equal[1, i] = x != y
        equal[2, i] = bool(x)


@pytest.mark.parametrize("left", ("int32", "uint8", "float32", "float64", *COMPLEX))
@pytest.mark.parametrize("right", COMPLEX)
def test_operators_and_promotion(device: DeviceRecord, left: str, right: str) -> None:
    if "float64" not in supported(device):
        return
    a = _values("complex128") if left in COMPLEX else np.abs(_values("complex128"))
    with np.errstate(all="ignore"):
        a, b = a.astype(left), _values(right)[::-1].copy()
    out = np.zeros((10, a.size), np.complex128)
    equal, codes = np.zeros((3, a.size), bool), np.zeros(10, np.int64)
    arithmetic.forall(a.size)(a, b, out, equal, codes)
    wide = a.astype(np.clongdouble), b.astype(np.clongdouble)
    common = np.promote_types(left, right)
    for n, function in enumerate((operator.add, operator.sub, operator.mul, operator.truediv)):
        assert codes[n] == common.num
        with np.errstate(all="ignore"):
            # the product's and the quotient's parts are sums of two rounded terms
            _check(out[n].astype(common), function(*wide), 4, function.__name__)
    np.testing.assert_array_equal(equal[0], a == b)
    np.testing.assert_array_equal(equal[1], a != b)
    np.testing.assert_array_equal(equal[2], a != 0)
    if left in COMPLEX:
        for n, expected in enumerate((-wide[0], wide[0], wide[0] ** 2, wide[0] ** 3, 1 / wide[0], np.abs(wide[0])), 4):
            assert codes[n] == np.dtype(left).num
            _check(out[n].astype(left), np.asarray(expected, np.clongdouble), 8, f"operator {n}")


@pytest.mark.parametrize("name", COMPLEX)
def test_quotients_and_moduli_of_awkward_numbers(device: DeviceRecord, name: str) -> None:
    if _skip(device, name):
        return
    a, b = (v.ravel() for v in np.meshgrid(_awkward(name), _awkward(name)))
    quotients, moduli = np.zeros_like(a), np.zeros(a.size, a.real.dtype)

    @cuda.jit
    def divide(a, b, quotients, moduli):
        i = cuda.grid(1)
        if i < a.size:
            quotients[i] = a[i] / b[i]
            moduli[i] = abs(a[i])

    divide.forall(a.size)(a, b, quotients, moduli)
    with np.errstate(all="ignore"):
        expected = a / b
        np.testing.assert_allclose(moduli, np.abs(a), rtol=4 * np.finfo(name).eps)
    # NumPy multiplies by a reciprocal, which overflows or underflows earlier
    sure = np.isfinite(expected) & (np.abs(expected) > 0) & (np.abs(b) < 1e30) & (np.abs(b) > 1e-30)
    np.testing.assert_allclose(quotients[sure], expected[sure], rtol=8 * np.finfo(name).eps)
    zero = b == 0
    np.testing.assert_array_equal(quotients[zero], expected[zero])


@cuda.jit
def powers(a, b, out):
    i = cuda.grid(1)
    if i < a.size:
        out[i] = a[i] ** b[i]


@given(
    pairs=st.lists(st.tuples(*[st.complex_numbers(min_magnitude=0.01, max_magnitude=20)] * 2), min_size=1, max_size=16)
)
def test_powers(device: DeviceRecord, pairs: list[tuple[complex, complex]]) -> None:
    if "float64" not in supported(device):
        return
    a, b = np.array(pairs).T.copy()
    out = np.zeros_like(a)
    powers.forall(a.size)(a, b, out)
    with np.errstate(all="ignore"):
        exact = a.astype(np.clongdouble) ** b.astype(np.clongdouble)
    scale = 1 + np.abs(b) * (np.abs(np.log(a)) + 4)  # the logarithm's error is multiplied by the exponent
    assert np.all(np.abs(out - exact) <= 16 * np.finfo(float).eps * scale * np.abs(exact))


def test_powers_of_zero_and_to_whole_numbers(device: DeviceRecord) -> None:
    a = np.array([0, 0, 0, 2 + 1j, 2 + 1j, -1, 1j], np.complex64)
    b = np.array([0, 2, -1, 10, -3, 0.5, 100], np.complex64)
    out = np.zeros_like(a)
    powers.forall(a.size)(a, b, out)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(out, a**b, rtol=1e-5, atol=1e-6)


# parts, literals, memory ----------------------------------------------------------------------------------------------

FACTOR = 2 + 1j
TABLE = np.array([1 + 2j, 3, -1j], np.complex64)


@cuda.jit(device=True)
def scaled(z, w):
    return z * w, z.conjugate()


@cuda.jit
def parts(z, r, number, out, real):
    i = cuda.grid(1)
    if i < z.size:
        shared = cuda.shared.array(64, np.complex64)
        local = cuda.local.array(2, np.complex64)
        shared[cuda.threadIdx.x] = z[i]
        local[i % 2] = 1j
        p, q = scaled(shared[cuda.threadIdx.x], FACTOR)
        out[0, i] = p
        out[1, i] = q
        out[2, i] = TABLE[i % 3] + local[i % 2]
        out[3, i] = complex(r[i], 2)
        out[4, i] = complex(z[i]) + complex(1) + (1 + 2j).conjugate()
        out[5, i] = np.complex64(r[i]) * cuda.complex64(2) + number
        out[6, i] = z[i] if r[i] > 0 else 0
        total = 0
        for _ in range(3):
            total += z[i]
        out[7, i] = total
        out[8, i] = np.conj(z[i]) + np.conjugate(r[i])
        out[9, i] = np.sign(z[i])
        real[0, i] = z[i].real
        real[1, i] = z[i].imag
        real[2, i] = np.real(z[i]) + np.imag(z[i])
        real[3, i] = cmath.phase(z[i])
        real[4, i] = np.angle(z[i], deg=True)
        real[5, i], real[6, i] = cmath.polar(z[i])
        real[7, i] = z.real[i] + z.imag[i]
        real[8, i] = r[i].imag
        real[9, i] = np.abs(z[i])


def test_parts_and_memory(device: DeviceRecord) -> None:
    z = _values("complex64")
    r = np.abs(z) - 1
    out, real = np.zeros((10, z.size), z.dtype), np.zeros((10, z.size), r.dtype)
    parts[-(-z.size // 64), 64](z, r, 1.5 - 2j, out, real)
    n = np.arange(z.size)
    expected = (
        *(z * FACTOR, z.conj(), TABLE[n % 3] + 1j, r + 2j, z + (2 - 2j), 2 * r + (1.5 - 2j), np.where(r > 0, z, 0)),
        *(3 * z, z.conj() + r, z / np.abs(z)),
    )
    for k, (found, wanted) in enumerate(zip(out, expected, strict=True)):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6, err_msg=str(k))
    angle = np.angle(z)
    wanted = (z.real, z.imag, z.real + z.imag, angle, np.degrees(angle), np.abs(z), angle, z.real + z.imag, 0 * r)
    for k, (found, one) in enumerate(zip(real, (*wanted, np.abs(z)), strict=True)):
        np.testing.assert_allclose(found, one, rtol=2e-6, atol=1e-7, err_msg=str(k))


def test_strided_and_offset_arrays(device: DeviceRecord) -> None:
    @cuda.jit
    def double(x, y):
        i, j = cuda.grid(2)
        if i < x.shape[0] and j < x.shape[1]:
            y[i, j] = 2 * x[i, j]

    whole = np.arange(2000, dtype=np.float32).reshape(2, 1000)
    x = whole[:, 1:-1].copy().view(np.complex64)[:, 3::2]
    shifted = whole.reshape(-1)[1:-1].view(np.complex64).reshape(27, 37).T  # starts between two complex numbers
    records = np.zeros((40, 30), [("z", np.complex64), ("n", np.int32)])
    records["z"] = np.arange(1200).reshape(40, 30) * 1j
    for array in (x, x.T, shifted, records["z"]):
        y = np.zeros_like(array)
        double[(32, 16), (8, 16)](array, y)
        np.testing.assert_array_equal(y, 2 * array)


def test_signature_and_device_arrays(device: DeviceRecord) -> None:
    @cuda.jit("void(complex64[:], complex64, c8[:])")
    def shift(x, by, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = x[i] + by

    x = cuda.to_device(np.array([1, 2j], np.complex64))
    y = cuda.device_array_like(x)
    shift[1, 2](x, 1, y)
    shift[1, 2](y, 1j, y)
    np.testing.assert_array_equal(y.copy_to_host(), [2 + 1j, 1 + 3j])


# cmath ---------------------------------------------------------------------------------------------------------------

FUNCTIONS = (
    *(cmath.sqrt, cmath.exp, cmath.log, cmath.log10, cmath.sin, cmath.cos, cmath.tan, cmath.sinh, cmath.cosh),
    *(cmath.tanh, cmath.asin, cmath.acos, cmath.atan, cmath.asinh, cmath.acosh, cmath.atanh),
)
UFUNCS = (
    *(np.sqrt, np.exp, np.log, np.log10, np.sin, np.cos, np.tan, np.sinh, np.cosh),
    *(np.tanh, np.arcsin, np.arccos, np.arctan, np.arcsinh, np.arccosh, np.arctanh),
)


@cuda.jit
def functions(z, out):
    i = cuda.grid(1)
    if i < z.size:
        for n, f in enumerate(FUNCTIONS):
            out[n, i] = f(z[i])


@cuda.jit
def of_numpy(z, out):
    i = cuda.grid(1)
    if i < z.size:
        for n, f in enumerate(UFUNCS):
            out[n, i] = f(z[i])
        out[len(UFUNCS), i] = np.expm1(z[i])
        out[len(UFUNCS) + 1, i] = np.log2(z[i])
        out[len(UFUNCS) + 2, i] = np.exp2(z[i])


@pytest.mark.parametrize("name", COMPLEX)
def test_functions(device: DeviceRecord, name: str) -> None:
    """Each is made of a few real functions, for each of which OpenCL promises 4 or 5 ulp."""
    if _skip(device, name):
        return
    z = _values(name)
    out = np.zeros((len(FUNCTIONS), z.size), name)
    functions.forall(z.size)(z, out)
    with np.errstate(all="ignore"):
        for found, ufunc in zip(out, UFUNCS, strict=True):
            _check(found, ufunc(z.astype(np.clongdouble)), 16, ufunc.__name__)
    again = np.zeros((len(FUNCTIONS) + 3, z.size), name)
    of_numpy.forall(z.size)(z, again)
    np.testing.assert_array_equal(again[:-3], out)
    near = np.abs(z) < 5
    with np.errstate(all="ignore"):
        for found, ufunc in zip(again[-3:], (np.expm1, np.log2, np.exp2), strict=True):
            _check(found[near], ufunc(z[near].astype(np.clongdouble)), 64, ufunc.__name__)


def _class(x: Array) -> Array:
    """nan, infinities and zeros with their signs, or finite."""
    zero = np.where(np.signbit(x), "-0", "+0")
    return np.where(
        np.isnan(x), "nan", np.where(np.isinf(x), np.where(x > 0, "inf", "-inf"), np.where(x == 0, zero, ""))
    )


# functions with parts whose sign C99 leaves open: infinities and zeros beside, or from, a nan
_OPEN = frozenset({"sin", "sinh", "cos", "cosh", "arcsin", "arcsinh", "arccos", "arccosh", "arctan", "arctanh"})


@pytest.mark.parametrize("name", COMPLEX)
def test_special_values(device: DeviceRecord, name: str) -> None:
    if _skip(device, name):
        return
    z = _awkward(name)
    out = np.zeros((len(FUNCTIONS), z.size), name)
    functions.forall(z.size)(z, out)
    for found, ufunc in zip(out, UFUNCS, strict=True):
        with np.errstate(all="ignore"):
            expected = ufunc(z)
        one, other = ([_class(v.real), _class(v.imag)] for v in (found, expected))
        if ufunc.__name__ in _OPEN:
            is_open = np.isnan(expected) | np.isnan(z)
            one, other = ([np.where(is_open, np.char.lstrip(p, "+-"), p) for p in v] for v in (one, other))
        if ufunc is np.exp:  # C99 leaves these signs open, cmath's are others than NumPy's
            is_open = np.isneginf(z.real) & ~np.isfinite(z.imag)
            one, other = ([np.where(is_open, np.char.lstrip(p, "+-"), p) for p in v] for v in (one, other))
        # math libraries disagree about arguments whose sine or cosine depends on all digits of the largest float
        fair = ~((np.abs(z.real) > 1e30) & np.isfinite(z.real) | (np.abs(z.imag) > 1e30) & np.isfinite(z.imag))
        if ufunc.__name__ in ("sqrt", "log", "log10") or ufunc.__name__.startswith("arc"):
            fair[:] = True
        if ufunc is np.arccosh:  # C11 corrects C99: the imaginary part is pi / 2; NumPy 2.2 has C99's nan
            fair &= ~((z.real == 0) & np.isnan(z.imag))
        np.testing.assert_array_equal(one[0][fair], other[0][fair], f"{ufunc.__name__}, real part")
        np.testing.assert_array_equal(one[1][fair], other[1][fair], f"{ufunc.__name__}, imaginary part")


@cuda.jit
def more_of_cmath(z, r, out, flags):
    i = cuda.grid(1)
    if i < z.size:
        out[0, i] = cmath.log(z[i], 3)
        out[1, i] = cmath.rect(r[i], 0.5)
        out[2, i] = cmath.sqrt(r[i])
        out[3, i] = cmath.sqrt(-4) + cmath.pi * 1j + cmath.infj.real * 0 if r[i] > 1e30 else cmath.e
        out[4, i] = cmath.exp(1)
        flags[0, i] = cmath.isnan(z[i])
        flags[1, i] = cmath.isinf(z[i])
        flags[2, i] = cmath.isfinite(z[i])
        flags[3, i] = cmath.isclose(z[i], z[i] * (1 + 1e-3), rel_tol=1e-2)
        flags[4, i] = np.isnan(z[i]) or np.isinf(z[i])


@pytest.mark.parametrize("name", COMPLEX)
def test_order_of_numpy(device: DeviceRecord, name: str) -> None:
    if _skip(device, name):
        pytest.skip("no float64")
    parts = (-1.0, 0.0, 1.0, math.inf, math.nan)
    z = np.array([complex(x, y) for x in parts for y in parts], name)
    a, b = (np.ascontiguousarray(x.ravel()) for x in np.meshgrid(z, z))

    @cuda.jit
    def kernel(a: Any, b: Any, flags: Any, chosen: Any) -> None:
        i = cuda.grid(1)
        if i < a.size:
            flags[i, 0] = np.less(a[i], b[i])
            flags[i, 1] = np.less_equal(a[i], b[i])
            flags[i, 2] = np.greater(a[i], b[i])
            flags[i, 3] = np.greater_equal(a[i], b[i])
            chosen[i, 0] = np.maximum(a[i], b[i])
            chosen[i, 1] = np.minimum(a[i], b[i])
            chosen[i, 2] = np.fmax(a[i], b[i])
            chosen[i, 3] = np.fmin(a[i], b[i])

    flags, chosen = np.zeros((a.size, 4), bool), np.zeros((a.size, 4), name)
    kernel[5, 128](a, b, flags, chosen)
    for n, compare in enumerate((np.less, np.less_equal, np.greater, np.greater_equal)):
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(flags[:, n], compare(a, b), err_msg=str(compare))
    for n, choose in enumerate((np.maximum, np.minimum, np.fmax, np.fmin)):
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(chosen[:, n], choose(a, b), err_msg=str(choose))


def test_the_rest_of_cmath(device: DeviceRecord) -> None:
    z = np.array(
        [1 + 2j, -3 - 4j, complex(math.inf, 1), complex(math.nan, 1), complex(math.nan, -math.inf)], np.complex64
    )
    r = np.array([1, -2, 3, -4, 0], np.float32)
    out, flags = np.zeros((5, 5), np.complex64), np.zeros((5, 5), bool)
    more_of_cmath[1, 5](z, r, out, flags)
    np.testing.assert_allclose(out[0, :2], np.log(z[:2]) / math.log(3), rtol=1e-6)
    np.testing.assert_allclose(out[1], r * np.exp(0.5j), rtol=1e-6)
    np.testing.assert_allclose(out[2], np.emath.sqrt(r), rtol=1e-6)
    np.testing.assert_allclose(out[3:], math.e, rtol=1e-6)
    values = [complex(v) for v in z]
    for found, function in zip(flags, (cmath.isnan, cmath.isinf, cmath.isfinite), strict=False):
        np.testing.assert_array_equal(found, [function(v) for v in values])
    np.testing.assert_array_equal(flags[3], [True, True, False, False, False])
    np.testing.assert_array_equal(flags[4], flags[0] | flags[1])


# errors ---------------------------------------------------------------------------------------------------------------


def _less(z, out):
    out[0] = z[0] < 1j


def _floor(z, out):
    out[0] = z[0] // 2


def _to_float(z, out):
    out[0] = float(z[0])


def _stored(z, out):
    out[0] = z[0]


def _math(z, out):
    out[0] = math.sqrt(z[0])


def _math_test(z, out):
    out[0] = math.isnan(z[0])


def _maximum(z, out):
    out[0] = max(z[0], 1).real


def _atomic(z, out):
    cuda.atomic.add(z, 0, 1)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (_less, "no order"),
        (_floor, "`//` on complex"),
        (_to_float, "cannot become float"),
        (_stored, "cannot become float32"),
        (_math, "a real number is needed"),
        (_math_test, "a real number is needed"),
        (_maximum, "no order"),
        (_atomic, "on complex64"),
    ],
)
def test_what_complex_numbers_cannot_do(device: DeviceRecord, function: Any, text: str) -> None:
    with pytest.raises((KernelTypeError, KernelValueError), match=text):
        cuda.jit(function)[1, 1](np.ones(1, np.complex64), np.ones(1, np.float32))


@cuda.jit
def single(z, r, number, out):
    out[0] = cmath.sqrt(z[0]) + cmath.log(z[0], 10) * number + 1j * r[0] + cmath.atan(1j * r[0])
    out[1] = complex(r[0], 1) ** 0.5 + np.logaddexp(r[0], 1.5) + round(r[0], 2)


def test_devices_without_float64(device: DeviceRecord) -> None:
    assert device.capabilities is not None
    caps = dataclasses.replace(device.capabilities, fp64=False)
    array = ArrayType(Scalar(COMPLEX64), 1, Layout.C)
    types = (array, ArrayType(Scalar(FLOAT32), 1, Layout.C), PYCOMPLEX, array)
    program = lower_kernel(single.source, types, caps, wide_index=False, debug=False, block_dim=None)
    verify(program)
    assert "double" not in generate(program, caps).source
    for kind in (Scalar(COMPLEX128), ArrayType(Scalar(COMPLEX128), 1, Layout.C)):
        with pytest.raises(MissingCapabilityError, match="this device has no float64"):
            lower_kernel(single.source, (array, types[1], kind, array), caps, wide_index=False, debug=False)


def test_rect_of_no_radius_is_zero_whatever_the_angle(device):
    @cuda.jit
    def kernel(angles, out):
        i = cuda.grid(1)
        out[i] = cmath.rect(0.0, angles[i])

    angles = np.array([np.nan, np.inf, -np.inf, 0.5])
    out = np.full(4, 7, np.complex128)
    kernel[1, 4](angles, out)
    assert out.tolist() == [cmath.rect(0.0, a) for a in angles] == [0] * 4

    @cuda.jit
    def along_the_axis(radii, out):
        i = cuda.grid(1)
        out[i] = cmath.rect(radii[i], 0.0)

    radii = np.array([np.inf, -np.inf, -2.0, 0.0])
    along_the_axis[1, 4](radii, out)
    assert [str(z) for z in out.tolist()] == [str(cmath.rect(r, 0.0)) for r in radii]


@cuda.jit
def _exp_of_cmath(z: Any, out: Any) -> None:
    for i in range(z.size):
        out[i] = cmath.exp(z[i])


def test_exp_of_cmath_at_infinities(device: DeviceRecord) -> None:
    parts = (-math.inf, -1.0, 0.0, math.inf, math.nan)
    z = np.array([complex(-math.inf, y) for y in parts] + [complex(x, 0.5) for x in parts])
    out = np.zeros(z.size, complex)
    _exp_of_cmath[1, 1](z, out)
    exact = [cmath.exp(value) for value in z.tolist()]
    for found, expected in zip(out.tolist(), exact, strict=True):
        for a, b in ((found.real, expected.real), (found.imag, expected.imag)):
            assert math.isclose(a, b, rel_tol=1e-15) or (math.isnan(a) and math.isnan(b))
            assert math.isnan(b) or math.copysign(1, a) == math.copysign(1, b)
