"""Every way to sort rows, also those that a device does not choose by itself."""

from __future__ import annotations

import numpy as np
import pytest
from keys_in_arrays import sample, stable_order

from portagpu import cuda
from portagpu.primitives.sorts import radix_plan
from portagpu.primitives.sorts.ordering import order_of
from portagpu.primitives.sorts.radix_request import Request
from portagpu.primitives.sorts.radix_sort import Method, sort_rows

_ROWS = {
    Method.TINY: (7, 32),
    Method.SMALL: (2, 300),
    Method.ROWS: (2, 1200),
    Method.SWEEP: (2, 2500),
    Method.CHUNKS: (2, 2500),
    Method.SERIAL_ROWS: (3, 700),
    Method.SERIAL_CHUNKS: (2, 9000),
}


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch):
    """Kernels that compile fast, and several tiles of few keys."""
    monkeypatch.setattr(radix_plan, "_MOST_ITEMS", 1)
    monkeypatch.setattr(radix_plan, "_MOST_PAIRS", 1)


@pytest.mark.each_value
@pytest.mark.in_turn(1)
@pytest.mark.one_device
@pytest.mark.parametrize("method", Method, ids=lambda m: m.name)
@pytest.mark.parametrize("asked", ["keys", "places", "values"])
def test_rows(device, method, asked):
    x = sample(np.dtype(np.float16), _ROWS[method])
    bits = x.view(np.uint16)
    order = stable_order(x)
    values = np.arange(x.size, dtype=np.uint32) if asked == "values" else None
    request = Request(
        keys=cuda.to_device(bits.ravel()),
        length=x.shape[1],
        order=order_of(x.dtype),
        values=None if values is None else cuda.to_device(values),
        indexed=asked == "places",
        keeps_keys=asked != "places",
    )
    found = sort_rows(request, method)
    if asked != "places":
        expected = np.take_along_axis(bits, order, 1)
        np.testing.assert_array_equal(found.keys.copy_to_host().reshape(x.shape), expected)
    if asked != "keys":
        origin = 0 if asked == "places" else np.arange(x.shape[0])[:, None] * x.shape[1]
        np.testing.assert_array_equal(found.moved.copy_to_host().reshape(x.shape), order + origin)


@pytest.mark.one_device
@pytest.mark.parametrize("method", [Method.SERIAL_ROWS, Method.SERIAL_CHUNKS], ids=lambda m: m.name)
def test_wide_digits(device, method):
    x = sample(np.dtype(np.float32), (1, 40000))
    request = Request(
        keys=cuda.to_device(x.view(np.uint32).ravel()), length=x.size, order=order_of(x.dtype), indexed=True
    )
    found = sort_rows(request, method)
    np.testing.assert_array_equal(found.moved.copy_to_host(), stable_order(x)[0])
