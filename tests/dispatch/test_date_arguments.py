"""Dates and spans of time as arguments of kernels."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda, errors

pytestmark = pytest.mark.one_device

DATES = np.arange("2005-02", "2005-04", dtype="datetime64[D]")


@cuda.jit
def compare(dates, target, span, same, earlier):
    for i in range(cuda.grid(1), dates.size, cuda.gridsize(1)):
        same[i] = dates[i] == target
        earlier[i] = dates[i] - span


@pytest.mark.parametrize("place", [lambda x: x, cuda.to_device], ids=["host", "device"])
def test_dates_and_spans(device, place):
    same, earlier = place(np.zeros(DATES.size, bool)), place(np.zeros_like(DATES))
    for day, count in ((5, 1), (7, 30)):
        span = np.timedelta64(count, "D")
        compare[2, 16](place(DATES), DATES[day], span, same, earlier)
        np.testing.assert_array_equal(np.asarray(same), DATES[day] == DATES)
        assert earlier.dtype == DATES.dtype
        np.testing.assert_array_equal(np.asarray(earlier), DATES - span)


@pytest.mark.parametrize("place", [lambda x: x, cuda.to_device], ids=["host", "device"])
def test_units_do_not_mix(device, place):
    flags, result, dates = place(np.zeros(DATES.size, bool)), place(np.zeros_like(DATES)), place(DATES)
    compare[2, 16](dates, DATES[0], np.timedelta64(1, "D"), flags, result)
    with pytest.raises(errors.ArgumentTypeError, match=r"`span` is timedelta64\[h\], but `dates` is datetime64\[D\]"):
        compare[2, 16](dates, DATES[0], np.timedelta64(1, "h"), flags, result)
    with pytest.raises(errors.ArgumentTypeError, match="counts of one unit"):
        compare[2, 16](place(DATES.astype("datetime64[s]")), DATES[0], np.timedelta64(1, "D"), flags, result)


def test_nat_is_told(device):
    @cuda.jit
    def kernel(dates, out):
        i = cuda.grid(1)
        out[i] = np.isnat(dates[i])

    dates = np.array(["2001-01-01", "NaT"], "M8[s]")
    out = np.zeros(2, bool)
    kernel[1, 2](dates, out)
    assert out.tolist() == [False, True]


DAY, DAYS = cuda.types.NPDatetime("D"), cuda.types.NPTimedelta("D")


@pytest.mark.parametrize(
    "signatures",
    [(), [(DAY, DAY)], [DAYS(DAY, DAY)], [(cuda.from_dtype(np.dtype("M8[D]")), DAY)]],
    ids=["none", "arguments", "result", "dtype"],
)
@pytest.mark.parametrize("place", [lambda x: x, cuda.to_device], ids=["host", "device"])
def test_vectorized_functions_of_dates(device, signatures, place):
    difference = cuda.vectorize(signatures)(lambda a, b: a - b)
    found = difference(place(DATES), place(DATES[::-1].copy()))
    assert found.dtype == "m8[D]"
    np.testing.assert_array_equal(np.asarray(found), DATES - DATES[::-1])
    found = difference(place(DATES), DATES[3])
    np.testing.assert_array_equal(np.asarray(found), DATES - DATES[3])


def test_vectorized_functions_convert_to_the_declared_unit(device):
    later = cuda.vectorize([(DAY, DAYS)])(lambda a, b: a + b)
    weeks = np.arange(DATES.size).astype("m8[W]")
    found = later(DATES, weeks)
    assert found.dtype == "M8[D]"
    np.testing.assert_array_equal(found, DATES + weeks)
    with pytest.raises(errors.ArgumentTypeError, match=r"a device array of timedelta64\[W\] where timedelta64\[D\]"):
        later(DATES, cuda.to_device(weeks))


def test_results_that_are_no_dates(device):
    before = cuda.vectorize(lambda a, b: a < b)
    assert before(DATES, DATES[3]).tolist() == (DATES[3] > DATES).tolist()
    with pytest.raises(errors.KernelTypeError, match="cannot be told"):
        cuda.vectorize([(DAY, DAY)])(lambda a, b: a * b)


def test_generalized_functions_of_dates(device):
    @cuda.guvectorize([(DAY[:], DAY, DAYS[:])], "(n),()->(n)")
    def since(dates, start, out):
        for n in range(dates.shape[0]):
            out[n] = dates[n] - start

    found = since(DATES, DATES[4])
    assert found.dtype == "m8[D]"
    np.testing.assert_array_equal(found, DATES - DATES[4])


def test_declared_kernels_take_dates(device):
    @cuda.jit(cuda.void(DAY[:], DAYS, DAY[:]))
    def shift(dates, span, out):
        i = cuda.grid(1)
        if i < dates.size:
            out[i] = dates[i] + span

    out = np.zeros_like(DATES)
    shift[2, 32](DATES, np.timedelta64(3, "D"), out)
    np.testing.assert_array_equal(out, DATES + np.timedelta64(3, "D"))
    assert repr(DAY) == "datetime64[D]"
    assert DAYS("5") == np.timedelta64(5, "D")
    assert cuda.types.NPDatetime("10s").dtype == "M8[10s]"
    assert cuda.as_dtype(DAY) == "M8[D]"
    assert cuda.from_dtype("m8[ms]") == cuda.types.NPTimedelta("ms") != cuda.types.NPDatetime("ms")
