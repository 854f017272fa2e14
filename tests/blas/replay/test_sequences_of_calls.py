"""Random sequences of calls on NumPy arrays, so that some are recorded, made again, or recorded again for others."""

from __future__ import annotations

import random

import numpy as np
import pytest
import scipy.linalg.blas as scipy_blas

from portagpu import blas
from portagpu.blas.replay import calls
from portagpu.device.capabilities import DeviceType
from portagpu.runtime.execution.context import Context

N = 12
FACTORS = (0.0, -0.0, 0, 1.0, True, -1.0, 2.5, -0.75, np.float32(0.3), np.array([1.5]), np.inf, np.nan)
STEPS, LAYOUTS = 400, 3  # of the latter, so many for each routine

# what is called, shapes, whether the last array may be NaN where beta is 0
CALLS = {
    "daxpy": (lambda m, x, y, alpha, **_: m.daxpy(x, y, a=alpha), ((N,), (N,))),
    "daxpy of neighbours": (lambda m, x, alpha, **_: m.daxpy(x[::2], x[1::2], a=alpha), ((2 * N,),)),
    "ddot": (lambda m, x, y, **_: m.ddot(x, y, incx=-2, incy=1, n=N // 2), ((N,), (N,))),
    "ddot of one": (lambda m, x, **_: m.ddot(x, x), ((N,),)),
    "zscal": (lambda m, x, alpha, **_: m.zscal(alpha * (1 - 0.5j), x, n=N - 3, offx=2), ((N,),)),
    "dgemv": (
        lambda m, a, x, y, alpha, beta, own: m.dgemv(alpha, a, x, beta, y, trans=1, overwrite_y=own),
        ((N, N), (N,), (N,)),
    ),
    "dger": (lambda m, x, y, a, alpha, own, **_: m.dger(alpha, x, y, a=a, overwrite_a=own), ((N,), (N,), (N, N))),
    "dgemm": (
        lambda m, a, b, c, alpha, beta, own: m.dgemm(alpha, a, b, beta, c, trans_b=1, overwrite_c=own),
        ((N, N), (N, N), (N, N)),
    ),
    "dtrsv": (lambda m, a, x, own, **_: m.dtrsv(a, x, lower=1, overwrite_x=own), ((N, N), (N,))),
}


def random_array(shape, kind, draw, generator):
    """Numbers in memory that begins anywhere, in either order, some of it read-only, and what lies beside them."""
    begin = draw.choice((0, 0, 16, 48, 120, 4))
    room = np.full(np.prod(shape) * kind.itemsize + 512, 77, np.uint8)
    first = -room.ctypes.data % 128 + begin
    made = np.ndarray(shape, kind, room, first, order=draw.choice("FFC"))
    made[...] = generator.standard_normal(shape) + (8 * np.eye(N) if len(shape) == 2 else 0)
    if draw.random() < 0.2:
        made.flags.writeable = False
    beside = np.r_[room[:first], room[first + made.nbytes :]]
    return made, lambda: np.array_equal(beside, np.r_[room[:first], room[first + made.nbytes :]])


def is_close(found, wanted):
    return np.shape(found) == np.shape(wanted) and np.allclose(found, wanted, rtol=1e-9, atol=1e-9, equal_nan=True)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_sequences_of_calls(device):
    """Results and arguments become SciPy's, nothing beside them is written, and results never change later."""
    mine = calls._recordings.of(Context.for_device(device))
    mine.clear()
    draw, generator = random.Random(23), np.random.default_rng(23)
    kept = []
    for step in range(STEPS):
        name = draw.choice(list(CALLS))
        call, shapes = CALLS[name]
        kind = np.dtype(np.complex128 if name[0] == "z" else np.float64)
        layout = random.Random(f"{name} {draw.randrange(LAYOUTS)}")
        made = [random_array(shape, kind, layout, generator) for shape in shapes]
        ours = [array for array, _ in made]
        options = {"alpha": draw.choice(FACTORS[:-2]), "beta": draw.choice(FACTORS), "own": layout.randrange(2)}
        theirs = [x.copy(order="K") for x in ours]
        for x, copy in zip(ours, theirs, strict=True):
            copy.flags.writeable = x.flags.writeable
        if name in ("dgemv", "dgemm") and options["beta"] == 0 and ours[2].flags.writeable:
            ours[2][...] = np.nan  # which nothing may read
        before = [x.copy() for x in ours]
        found = call(blas, *ours, **options)
        wanted = call(scipy_blas, *theirs, **options)
        told = (step, name, options, [(x.flags.writeable, x.flags.f_contiguous) for x in ours])
        assert is_close(found, wanted), told
        assert all(is_untouched() for _, is_untouched in made), told
        for x, was in zip(ours, before, strict=True):
            if isinstance(found, np.ndarray) and np.shares_memory(found, x):
                assert x.flags.writeable, told
            else:
                assert np.array_equal(x, was, equal_nan=True), told
        if isinstance(found, np.ndarray):
            assert found.flags.writeable and found.dtype == wanted.dtype, told
            kept.append((found, found.copy(), told))
    for found, was, told in kept:
        assert np.array_equal(found, was, equal_nan=True), told
    if device.capabilities.device_type is DeviceType.CPU:
        recorded = {number[0] if isinstance(number[0], str) else number[0][0] for number in mine.known}
        assert len(recorded) >= 5, recorded
