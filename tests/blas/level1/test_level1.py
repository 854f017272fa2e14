"""BLAS 1 under SciPy's names: against higher precision, with increments, offsets and canaries, on host and device."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from option_pairs import in_short

from portagpu import blas, cuda, errors

pytestmark = [pytest.mark.one_device, pytest.mark.each_value]

DTYPES = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}
LETTERS = in_short(DTYPES, "s", "z")
NORMS = {"s": "snrm2", "d": "dnrm2", "c": "scnrm2", "z": "dznrm2"}
SUMS = {"s": "sasum", "d": "dasum", "c": "scasum", "z": "dzasum"}
PLACES = [(1, 1, 0, 0), (2, -1, 1, 0), (-2, 1, 0, 3), (-1, -1, 2, 1), (1, 3, 1, 2)]  # incx, incy, offx, offy
SIZES = (0, 1, 2, 7, 64, 130, 257)


def vector(generator, size, dtype):
    found = generator.standard_normal(size)
    if np.dtype(dtype).kind == "c":
        found = found + 1j * generator.standard_normal(size)
    return found.astype(dtype)


def taken(x, n, offset, increment):
    """The vector that BLAS reads."""
    found = x[offset : offset + (n - 1) * abs(increment) + 1 : abs(increment)] if n else x[:0]
    return found[::-1] if increment < 0 else found


def wide(x):
    return x.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble)


def on_host(x):
    return x.copy_to_host() if hasattr(x, "copy_to_host") else x


def planted(x, n, offset, increment):
    """The array with NaN wherever the vector is not."""
    made = np.full(x.size, np.nan, x.dtype)
    taken(made, n, offset, increment)[...] = taken(x, n, offset, increment)
    return made


def cases(letter, on_it):
    """Arrays with NaN in their gaps, and the options that name the vectors in them."""
    generator = np.random.default_rng(7)
    move = cuda.to_device if on_it else np.array
    for n, (incx, incy, offx, offy) in itertools.product(SIZES, PLACES):
        size = 3 * max(n, 1) + 4
        x, y = (vector(generator, size, DTYPES[letter]) for _ in range(2))
        x, y = planted(x, n, offx, incx), planted(y, n, offy, incy)
        options = {"n": n, "offx": offx, "incx": incx, "offy": offy, "incy": incy}
        yield move, x, y, taken(x, n, offx, incx), taken(y, n, offy, incy), options


def check(found, before, n, options, wanted, size, axis="y"):
    """The vector is right to 16 eps of its terms' magnitudes, and nothing beside it was written."""
    offset, increment = options[f"off{axis}"], options[f"inc{axis}"]
    found = on_host(found)
    rest, kept = found.copy(), before.copy()
    taken(rest, n, offset, increment)[...] = 0
    taken(kept, n, offset, increment)[...] = 0
    assert np.array_equal(rest, kept, equal_nan=True)
    error = np.abs(wide(taken(found, n, offset, increment)) - wanted)
    assert (error <= 16 * np.finfo(found.dtype).eps * size).all()


@pytest.mark.parametrize("on_it", [False, True])
@pytest.mark.parametrize("letter", LETTERS)
def test_axpy_copy_and_swap(device, letter, on_it):
    alpha = 0.75 - 0.5j if letter in "cz" else -1.25
    axpy, copy, swap = (getattr(blas, letter + name) for name in ("axpy", "copy", "swap"))
    for move, x, y, xs, ys, options in cases(letter, on_it):
        n = options["n"]
        given = move(y)
        made = axpy(move(x), given, a=alpha, **options)
        assert made is given
        check(made, y, n, options, wide(ys) + alpha * wide(xs), np.abs(ys) + 2 * np.abs(alpha * xs))
        check(copy(move(x), move(y), **options), y, n, options, wide(xs), 0)
        first, second = swap(move(x), move(y), **options)
        check(first, x, n, options, wide(ys), 0, "x")
        check(second, y, n, options, wide(xs), 0)


@pytest.mark.parametrize("on_it", [False, True])
@pytest.mark.parametrize("letter", LETTERS)
def test_scal(device, letter, on_it):
    alpha = 0.75 - 0.5j if letter in "cz" else -1.25
    for move, x, _, xs, _, options in cases(letter, on_it):
        n, placing = options["n"], {name: options[name] for name in ("n", "offx", "incx")}
        wanted = wide(xs) * (alpha if options["incx"] > 0 else 1)  # BLAS leaves the others as they are
        given = move(x)
        made = getattr(blas, f"{letter}scal")(alpha, given, **placing)
        assert made is given
        check(made, x, n, options, wanted, 2 * np.abs(xs), "x")
        if letter in "cz":
            given = move(x)
            made = getattr(blas, {"c": "csscal", "z": "zdscal"}[letter])(0.3, given, **placing)
            wanted = wide(xs) * (DTYPES[letter](0.3) if options["incx"] > 0 else 1)
            check(made, x, n, options, wanted, 2 * np.abs(xs), "x")
            assert np.array_equal(on_host(given), x, equal_nan=True)


@pytest.mark.each_value(thorough=True)
@pytest.mark.parametrize("on_it", [False, True])
@pytest.mark.parametrize("letter", LETTERS)
def test_sums(device, letter, on_it):
    eps = np.finfo(DTYPES[letter]).eps
    for move, x, y, xs, ys, options in cases(letter, on_it):
        n = options["n"]
        for name in ("dotu", "dotc") if letter in "cz" else ("dot",):
            found = on_host(getattr(blas, letter + name)(move(x), move(y), **options))
            left = wide(xs).conj() if name == "dotc" else wide(xs)
            assert abs(found - (left * wide(ys)).sum()) <= 16 * eps * (np.abs(xs) * np.abs(ys)).sum()
        if options["incx"] < 0:
            continue
        placing = {name: options[name] for name in ("n", "offx", "incx")}
        parts = np.abs(wide(xs).real) + np.abs(wide(xs).imag)
        norm, total = np.sqrt((np.abs(wide(xs)) ** 2).sum()), parts.sum()
        results = [getattr(blas, NAMES[letter])(move(x), **placing) for NAMES in (NORMS, SUMS)]
        assert abs(on_host(results[0]) - norm) <= 16 * eps * norm
        assert abs(on_host(results[1]) - total) <= 16 * eps * total
        place = on_host(getattr(blas, f"i{letter}amax")(move(x), **placing))
        assert place == (int(parts.argmax()) if n else -1)
        if not on_it:
            assert type(results[0]) is type(results[1]) is float and type(place) is int
        elif n:
            assert results[0].shape == () and results[0].dtype == np.dtype(DTYPES[letter]).type(0).real.dtype


def test_long_sums_have_few_errors_and_the_same_bits(device):
    """Sums over many blocks, in the same order each time."""
    generator = np.random.default_rng(3)
    for letter in "sd":
        n = 1_000_003
        x, y = vector(generator, n, DTYPES[letter]), vector(generator, n, DTYPES[letter])
        x += 3
        found = [getattr(blas, f"{letter}dot")(x, y) for _ in range(3)]
        assert found[0] == found[1] == found[2]
        eps = np.finfo(DTYPES[letter]).eps
        assert abs(found[0] - (wide(x) * wide(y)).sum()) <= 16 * eps * (np.abs(x) * np.abs(y)).astype(float).sum()
        assert abs(getattr(blas, f"{letter}asum")(x) - np.abs(wide(x)).sum()) <= 16 * eps * n * 3.5
        assert getattr(blas, f"i{letter}amax")(x) == np.abs(x).argmax()
        later = np.zeros(n, DTYPES[letter])
        later[[n - 1, n // 2]] = -1  # of equal ones the first
        assert getattr(blas, f"i{letter}amax")(later) == n // 2


@pytest.mark.parametrize("letter", "sdcz")
def test_norms_at_the_ends_of_the_range(device, letter):
    dtype = DTYPES[letter]
    real = np.finfo(dtype)
    norm = getattr(blas, NORMS[letter])
    for size in (real.max / 64, real.tiny, real.tiny * 8 * real.eps, 1.0):
        x = np.full(1000, size, dtype)
        wanted = np.sqrt(np.longdouble(1000)) * np.longdouble(np.abs(x[0]))
        least = np.longdouble(real.smallest_subnormal)
        assert abs(np.longdouble(norm(x)) - wanted) <= 16 * real.eps * wanted + least
    x = np.zeros(100, dtype)
    x[17] = real.max
    x[18] = real.tiny
    assert norm(x) == real.max
    x[30] = np.inf
    assert norm(x) == np.inf
    x[31] = np.nan
    assert np.isnan(norm(x))
    assert getattr(blas, f"i{letter}amax")(x) == 31


@pytest.mark.parametrize("on_it", [False, True])
@pytest.mark.parametrize("letter", LETTERS)
def test_rotations(device, letter, on_it):
    rot = getattr(blas, {"s": "srot", "d": "drot", "c": "csrot", "z": "zdrot"}[letter])
    c, s = DTYPES[letter](0.6).real, DTYPES[letter](0.8).real
    for move, x, y, xs, ys, options in cases(letter, on_it):
        n, size = options["n"], np.abs(xs) + np.abs(ys)
        given = move(x)
        first, second = rot(given, move(y), c, s, **options)
        assert np.array_equal(on_host(given), x, equal_nan=True)
        check(first, x, n, options, wide(c) * wide(xs) + wide(s) * wide(ys), size, "x")
        check(second, y, n, options, wide(c) * wide(ys) - wide(s) * wide(xs), size)
        first, second = rot(given, move(y), c, s, overwrite_x=1, **options)
        assert first is given
        for flag, h in ((-2, (1, 0, 0, 1)), (-1, (2, 4, 3, 5)), (0, (1, 4, 3, 1)), (1, (2, 1, -1, 5))):
            if letter in "sd":
                rotm = getattr(blas, f"{letter}rotm")
                first, second = rotm(move(x), move(y), [flag, 2, 3, 4, 5], **options)
                check(first, x, n, options, h[0] * wide(xs) + h[1] * wide(ys), 5 * size, "x")
                check(second, y, n, options, h[2] * wide(xs) + h[3] * wide(ys), 5 * size)


def test_rotations_are_made_as_scipys():
    theirs = pytest.importorskip("scipy.linalg.blas")
    generator = np.random.default_rng(5)
    for letter, rtol in (("s", 1e-4), ("d", 1e-9)):
        for _ in range(1000):
            d1, d2, x1, y1 = generator.standard_normal(4) * 10.0 ** generator.integers(-9, 9, 4)
            d1 = abs(d1) if generator.random() < 0.9 else d1
            name = f"{letter}rotmg"
            found = getattr(blas, name)(d1, d2, x1, y1)
            assert found.dtype == DTYPES[letter]
            assert np.allclose(found, getattr(theirs, name)(d1, d2, x1, y1), rtol=rtol)
            found = getattr(blas, f"{letter}rotg")(x1, y1)
            assert type(found[0]) is float
            assert np.allclose(found, getattr(theirs, f"{letter}rotg")(x1, y1), rtol=1e-6, atol=1e-12)
    for a, b in ((3 + 1j, 4), (0, 2j), (1e200, 1e-200j), (2 - 1j, 0), (1e300 + 1e300j, 1e300)):
        c, s = blas.zrotg(a, b)
        assert c.imag == 0 and abs(c) ** 2 + abs(s) ** 2 == pytest.approx(1)
        scale = max(abs(a), abs(b)) if abs(a) < 1e200 else 1e300
        assert abs(c * (b / scale) - s.conjugate() * (a / scale)) <= 1e-15 * (1 + abs(a / scale) + abs(b / scale))
    assert blas.drotg(1.7e308, 1.7e308) == pytest.approx((0.5**0.5, 0.5**0.5))
    for g in (np.nan, complex(0, np.nan), complex(np.inf, np.nan), np.inf):
        assert blas.zrotg(0, g)[0] == 0 and np.isnan(blas.crotg(0, g)[1])


def test_what_is_written(device):
    """Arguments of the dtype that are contiguous are overwritten; others are copied, and never written."""
    x = np.arange(6.0)
    assert blas.daxpy(x, y := np.ones(6)) is y and (y == x + 1).all()
    for other in (np.ones(12)[::2], np.ones(6, np.float32), [1.0] * 6):
        made = blas.daxpy(x, other)
        assert (made == x + 1).all() and (np.asarray(other) == 1).all()
    locked = np.ones(6)
    locked.flags.writeable = False
    assert (blas.dscal(2, locked) == 2).all() and (locked == 1).all()
    assert blas.daxpy(x, x) is x and (x == 2 * np.arange(6)).all()
    moved = cuda.to_device(x)
    assert blas.daxpy(moved, moved) is moved and (moved.copy_to_host() == 2 * x).all()
    with pytest.raises(errors.ArgumentTypeError, match="read-only"):
        blas.dscal(2, moved.as_readonly())


def test_usual_counts_of_elements_are_scipys(device):
    theirs = pytest.importorskip("scipy.linalg.blas")
    x = np.arange(1.0, 8)
    for incx, offx in ((2, 0), (3, 0), (2, 1), (4, 0), (1, 2), (-1, 0), (-2, 1)):
        placing = {"incx": incx, "offx": offx}
        for name in ("dasum", "dnrm2", "idamax"):
            if name != "dnrm2" or incx > 0:
                assert getattr(blas, name)(x, **placing) == pytest.approx(getattr(theirs, name)(x, **placing)), name
        assert (blas.dscal(2, x.copy(), **placing) == theirs.dscal(2, x.copy(), **placing)).all()
        assert (blas.zdscal(2, x + 0j, **placing) == theirs.zdscal(2, x + 0j, **placing)).all()
        placing |= {"incy": incx, "offy": offx}
        assert blas.ddot(x, x, **placing) == theirs.ddot(x, x, **placing)
        assert (blas.daxpy(x, x.copy(), **placing) == theirs.daxpy(x, x.copy(), **placing)).all()
        for found, wanted in zip(blas.drot(x, x, 0, 1, **placing), theirs.drot(x, x, 0, 1, **placing), strict=True):
            assert (found == wanted).all()


def test_fields_of_packed_records(device):
    """Elements between the places of their size: NumPy's are copied, those on the device are refused, not misread."""
    records = np.zeros(50, [("a", np.int32), ("v", np.float64)])
    records["v"] = np.arange(50)
    assert blas.dasum(records["v"]) == np.arange(50).sum()
    assert (blas.daxpy(np.ones(50), records["v"]) == np.arange(50) + 1).all()
    moved = cuda.to_device(records)
    for call in (blas.dasum, lambda x: blas.dscal(2, x), lambda x: blas.ddot(cuda.to_device(np.ones(50)), x)):
        with pytest.raises(errors.LayoutError, match="begin at places that are no multiples of 8 bytes"):
            call(moved["v"])
    assert (moved.copy_to_host() == records).all()


def test_errors(device):
    x = np.ones(5)
    for call, kind, text in (
        (lambda: blas.daxpy(x, x[:3]), errors.ShapeError, "y has 3 elements: room for 3, and 5 are asked for"),
        (lambda: blas.daxpy(x, x, incx=0), errors.ShapeError, "incx is 0"),
        (lambda: blas.daxpy(x, x, offx=9), errors.ShapeError, "offx is 9, and x has 5 elements"),
        (lambda: blas.daxpy(x, x, n=-1), errors.ShapeError, "n of daxpy is -1"),
        (lambda: blas.dnrm2(x, incx=-1), errors.ShapeError, "incx of dnrm2 is -1"),
        (lambda: blas.ddot(x, x * 1j), errors.DTypeError, "ddot takes float64; y is complex128"),
        (lambda: blas.ddot(x, cuda.to_device(x)), errors.ArgumentTypeError, "x is a NumPy array, y is on the device"),
        (lambda: blas.ddot(cuda.to_device(np.ones(3, "f4")), cuda.to_device(x)), errors.DTypeError, "x is float32"),
        (lambda: blas.dswap(x[:4], x[1:]), errors.ArgumentTypeError, "shares memory"),
        (lambda: blas.drotm(x, x, [1, 2]), errors.ShapeError, "param of drotm has shape"),
        (lambda: blas.drotm(x, x, [7, 2, 3, 4, 5]), errors.UnknownOptionError, "the flag of param is 7"),
        (lambda: blas.zdscal(1j, x), errors.ArgumentTypeError, "a is complex"),
        (lambda: blas.daxpy(x, x, n=1.5), errors.ArgumentTypeError, "n is 1.5"),
    ):
        with pytest.raises(kind, match=text):
            call()


@pytest.mark.oclgrind
@pytest.mark.parametrize("letter", "sc")
def test_small_vectors_for_oclgrind(device, letter):
    """Blocks, chunks and their rests, without races and inside of the arrays."""
    generator = np.random.default_rng(11)
    for n in (1, 9, 70):
        x, y = vector(generator, n, DTYPES[letter]), vector(generator, n, DTYPES[letter])
        assert np.allclose(getattr(blas, f"{letter}axpy")(x, y.copy(), a=2), y + 2 * x, rtol=1e-5)
        assert np.isclose(getattr(blas, NORMS[letter])(x), np.linalg.norm(x), rtol=1e-5)
        assert getattr(blas, f"i{letter}amax")(x) == (np.abs(x.real) + np.abs(x.imag)).argmax()
