"""Medians of rows with infinities: the middle element, or the mean of two, whatever stands beside them."""

import itertools

import numpy as np
import pytest

from portagpu import cuda

pytestmark = pytest.mark.one_device


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_medians(device, dtype):
    if dtype is np.float64 and not device.capabilities.fp64:
        pytest.skip("no float64")
    for extent in range(1, 5):
        rows = np.array(list(itertools.product([-np.inf, -1.5, 0.25, 3, np.inf, np.nan], repeat=extent)), dtype)
        for name in ("median", "nanmedian"):
            function = getattr(np, name)
            with np.errstate(invalid="ignore"):
                sorted_rows = np.sort(rows, axis=1)
                count = (~np.isnan(rows)).sum(axis=1) if name == "nanmedian" else extent
                count = np.broadcast_to(count, len(rows))
                low, high = (np.maximum(count - 1, 0) // 2)[:, None], (count // 2)[:, None]
                pair = [np.take_along_axis(sorted_rows, np.minimum(n, extent - 1), 1)[:, 0] for n in (low, high)]
                expected = ((pair[0].astype(np.float64) + pair[1]) / 2).astype(dtype)
            if name == "median":
                expected[np.isnan(rows).any(axis=1)] = np.nan
            np.testing.assert_array_equal(function(cuda.to_device(rows), axis=1).copy_to_host(), expected)
            np.testing.assert_array_equal(function(cuda.to_device(rows.T.copy()), axis=0).copy_to_host(), expected)
