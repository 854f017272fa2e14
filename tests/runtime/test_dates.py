"""Dates and spans of time as arguments of kernels."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda, errors

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
