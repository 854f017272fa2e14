"""`cuda.libdevice`'s Bessel functions against SciPy's: j0 j0f j1 j1f jn jnf, y0 y0f y1 y1f yn ynf."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from portagpu import cuda

# units of rounding of 1, or of the value where that is larger
LIMITS = {"": (16, np.float64), "f": (16, np.float32)}
ARGUMENTS = np.concatenate(
    [
        *([0.0, 1e-30, 1e-9, 0.003, 0.0101, 7.9999, 8.0, 8.0001, 1000.5, np.inf, np.nan], np.linspace(0.02, 60, 300)),
        *([2.404825557695773, 3.8317059702075125, 0.8935769662791675],),
    ]
)


def _skip(device, end):
    if not end and not device.capabilities.fp64:
        pytest.skip("no float64")


def _check(found, exact, units, dtype, name):
    infinite = ~np.isfinite(exact) | ~np.isfinite(found)
    np.testing.assert_array_equal(found[infinite], exact[infinite], err_msg=name)
    size = np.maximum(np.abs(exact), 1)
    with np.errstate(invalid="ignore"):
        errors = np.where(infinite, 0, np.abs(found.astype(np.float64) - exact) / size) / np.finfo(dtype).eps
    worst = errors.argmax()
    assert errors[worst] <= units, f"{name}: {errors[worst]} units at place {worst}: {found.flat[worst]}"


@pytest.mark.parametrize("end", ["", "f"])
@pytest.mark.parametrize("name", ["j0", "j1", "y0", "y1"])
def test_orders_0_and_1(device, name, end):
    _skip(device, end)
    function = getattr(cuda.libdevice, name + end)
    units, dtype = LIMITS[end]

    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = function(x[i])

    x = np.concatenate([ARGUMENTS, -ARGUMENTS]).astype(dtype)
    out = np.zeros_like(x)
    kernel.forall(x.size)(x, out)
    with np.errstate(all="ignore"):
        exact = getattr(special, name)(x.astype(np.float64))
    if name[0] == "y":
        exact[x == 0] = -np.inf
    exact[np.isinf(x)] = np.nan if name[0] == "y" else 0
    if name[0] == "y":
        exact[x == np.inf] = 0
    _check(out, exact, units, dtype, name)
    if name == "j1":
        np.testing.assert_array_equal(np.signbit(out[x == 0]), np.signbit(x[x == 0]))


@pytest.mark.parametrize("end", ["", "f"])
@pytest.mark.parametrize("name", ["jn", "yn"])
def test_other_orders(device, name, end):
    _skip(device, end)
    function = getattr(cuda.libdevice, name + end)
    units, dtype = LIMITS[end]

    @cuda.jit
    def kernel(n, x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = function(n[i], x[i])

    orders, places = np.meshgrid(np.array([0, 1, 2, 3, 7, 20, 63, 128]), ARGUMENTS[np.isfinite(ARGUMENTS)])
    n, x = orders.ravel().astype(np.int32), places.ravel().astype(dtype)
    if name == "jn":
        n, x = np.tile(n, 2), np.concatenate([x, -x])
    out = np.zeros_like(x)
    kernel.forall(x.size)(n, x, out)
    with np.errstate(all="ignore"):
        exact = (special.jn if name == "jn" else special.yn)(n, x.astype(np.float64)).astype(dtype).astype(np.float64)
    _check(out, exact, units * 8, dtype, name)


def test_orders_below_zero_are_nan(device):
    @cuda.jit
    def kernel(out):
        out[0] = cuda.libdevice.jnf(-1, 2.0)
        out[1] = cuda.libdevice.ynf(-1, 2.0)
        out[2] = cuda.libdevice.jnf(5, np.inf)

    out = np.zeros(3, np.float32)
    kernel[1, 1](out)
    np.testing.assert_array_equal(out, [np.nan, np.nan, 0])
