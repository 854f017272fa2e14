"""Vectors that have two axes: in which order elements are read, what is written, and which shape results have."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg.blas as scipy_blas

from portagpu import blas, cuda
from portagpu.errors import ArgumentTypeError

pytestmark = pytest.mark.one_device

A = np.asfortranarray(np.diag(np.arange(2.0, 8)) + np.triu(np.ones((6, 6)), 1))
BAND = np.asfortranarray([[2.0, 1, 3, 1, 2, 4]])
PACKED = np.arange(1.0, 22)

# of functions m, an array z of six elements, and vectors v (6) and w (3); A, BAND and PACKED as t says where they are
CALLS = {
    "daxpy": lambda m, t, z, v, w: m.daxpy(v, z, a=2.0),
    "daxpy x": lambda m, t, z, v, w: m.daxpy(z, v, a=2.0),
    "daxpy steps": lambda m, t, z, v, w: m.daxpy(v, z, n=2, offx=1, incx=2, incy=-3, a=2.0),
    "dscal": lambda m, t, z, v, w: m.dscal(2.0, z),
    "dcopy": lambda m, t, z, v, w: m.dcopy(v, z),
    "dcopy short": lambda m, t, z, v, w: m.dcopy(w, z, offy=1, incy=2),
    "dswap": lambda m, t, z, v, w: m.dswap(z, v),
    "drot": lambda m, t, z, v, w: m.drot(z, v, 0.6, 0.8),
    "drot written": lambda m, t, z, v, w: m.drot(v, z, 0.6, 0.8, overwrite_x=1, overwrite_y=1),
    "drotm": lambda m, t, z, v, w: m.drotm(z, v, [-1.0, 1, 2, 3, 4], overwrite_x=1),
    "ddot": lambda m, t, z, v, w: m.ddot(v, z),
    "dnrm2": lambda m, t, z, v, w: m.dnrm2(z, n=4),
    "dasum": lambda m, t, z, v, w: m.dasum(z, offx=1, incx=2),
    "idamax": lambda m, t, z, v, w: m.idamax(z),
    "dgemv x": lambda m, t, z, v, w: m.dgemv(1.5, t(A), z),
    "dgemv": lambda m, t, z, v, w: m.dgemv(1.5, t(A), v, 0.5, z),
    "dgemv written": lambda m, t, z, v, w: m.dgemv(1.5, t(A), v, 0.5, z, overwrite_y=1),
    "dsymv": lambda m, t, z, v, w: m.dsymv(1.5, t(A), v, 0.5, z, overwrite_y=1),
    "dsbmv": lambda m, t, z, v, w: m.dsbmv(0, 1.5, t(BAND), v, beta=0.5, y=z, overwrite_y=1),
    "dsbmv x": lambda m, t, z, v, w: m.dsbmv(0, 1.5, t(BAND), z),
    "dgbmv": lambda m, t, z, v, w: m.dgbmv(6, 6, 0, 0, 1.5, t(BAND), v, beta=0.5, y=z, overwrite_y=1),
    "dspmv": lambda m, t, z, v, w: m.dspmv(6, 1.5, t(PACKED), v, beta=0.5, y=z, overwrite_y=1),
    "dspmv ap": lambda m, t, z, v, w: m.dspmv(3, 1.5, z, w),
    "dger": lambda m, t, z, v, w: m.dger(1.5, z, v),
    "dsyr": lambda m, t, z, v, w: m.dsyr(1.5, z),
    "dsyr2": lambda m, t, z, v, w: m.dsyr2(1.5, v, z),
    "dspr x": lambda m, t, z, v, w: m.dspr(6, 1.5, z, t(PACKED)),
    "dspr": lambda m, t, z, v, w: m.dspr(3, 1.5, w, z),
    "dspr2 written": lambda m, t, z, v, w: m.dspr2(3, 1.5, w, w, z, overwrite_ap=1),
    "dtrmv": lambda m, t, z, v, w: m.dtrmv(t(A), z, overwrite_x=1),
    "dtrsv": lambda m, t, z, v, w: m.dtrsv(t(A), z),
    "dtrsv written": lambda m, t, z, v, w: m.dtrsv(t(A), z, overwrite_x=1),
    "dtbmv": lambda m, t, z, v, w: m.dtbmv(0, t(BAND), z, overwrite_x=1),
    "dtbsv": lambda m, t, z, v, w: m.dtbsv(0, t(BAND), z, overwrite_x=1),
    "dtpmv": lambda m, t, z, v, w: m.dtpmv(6, t(PACKED), z, overwrite_x=1),
    "dtpsv": lambda m, t, z, v, w: m.dtpsv(6, t(PACKED), z, overwrite_x=1),
}
COMPLEX = {
    "zdscal": lambda m, t, z, v, w: m.zdscal(2.0, z, overwrite_x=1),
    "zdotc": lambda m, t, z, v, w: m.zdotc(z, v),
    "zhemv": lambda m, t, z, v, w: m.zhemv(1.5, t(A + 0j), v, 0.5, z, overwrite_y=1),
    "zher": lambda m, t, z, v, w: m.zher(1.5, z),
    "zher2": lambda m, t, z, v, w: m.zher2(1.5, z, v),
    "zhpr written": lambda m, t, z, v, w: m.zhpr(3, 1.5, w, z, overwrite_ap=1),
}
LAYOUTS = {
    "rows": lambda z: z.reshape(2, 3),
    "columns": lambda z: z.reshape(2, 3, order="F"),
    "one column": lambda z: z.reshape(6, 1),
    "one row": lambda z: z.reshape(1, 6),
    "every other column": lambda z: np.repeat(z, 2).reshape(2, 6, order="F")[:, ::2],
    "three axes": lambda z: z.reshape(1, 2, 3),
}


def vectors(seed, kind):
    generator = np.random.default_rng(seed)
    z, v, w = (generator.standard_normal(n) for n in (6, 6, 3))
    return [x + 1j * x[::-1] if kind == "z" else x for x in (z, v, w)]


def host(found):
    """Results as NumPy arrays: of the device, of the host, and numbers."""
    several = found if isinstance(found, tuple) else (found,)
    return [np.asarray(x.copy_to_host() if hasattr(x, "copy_to_host") else x) for x in several]


def same(found, wanted):
    return len(found) == len(wanted) and all(
        x.shape == y.shape and np.allclose(x, y, rtol=1e-12, atol=1e-12) for x, y in zip(found, wanted, strict=True)
    )


@pytest.mark.each_value
@pytest.mark.in_turn(1)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", [*CALLS, *COMPLEX])
def test_numpy_arrays(device, name, layout):
    """The call is made, recorded, and made again from the recording: with other numbers each time."""
    call = {**CALLS, **COMPLEX}[name]
    for seed in range(4):
        z, v, w = vectors(seed, name[0])
        theirs, ours = (LAYOUTS[layout](z.copy()) for _ in range(2))
        wanted, found = (call(m, np.asarray, x, v.copy(), w.copy()) for m, x in ((scipy_blas, theirs), (blas, ours)))
        assert same(host(found), host(wanted)) and np.allclose(ours, theirs)
        both = zip(*(x if isinstance(x, tuple) else (x,) for x in (found, wanted)), strict=True)
        for x, y in both:
            assert (x is ours) == (y is theirs)
            if isinstance(y, np.ndarray):
                assert x.flags.f_contiguous == y.flags.f_contiguous


@pytest.mark.each_value
@pytest.mark.in_turn(1)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", [*CALLS, *COMPLEX])
def test_device_arrays(device, name, layout):
    """As NumPy arrays, in either order."""
    call = {**CALLS, **COMPLEX}[name]
    for seed in range(4):
        z, v, w = vectors(seed, name[0])
        theirs = LAYOUTS[layout](z.copy())
        ours = cuda.to_device(theirs)
        assert ours.is_f_contiguous() == theirs.flags.f_contiguous or layout == "every other column"
        wanted = call(scipy_blas, np.asarray, theirs, v.copy(), w.copy())
        found = call(blas, cuda.to_device, ours, cuda.to_device(v), cuda.to_device(w))
        assert same(host(found), host(wanted))
        if ours.is_f_contiguous() == theirs.flags.f_contiguous:
            assert np.allclose(ours.copy_to_host(), theirs)


def test_columns_with_gaps_on_the_device(device):
    """They are written as strided vectors are; what has no flat view, and may only be read, is copied."""
    whole = cuda.to_device(np.ones((4, 3)))
    for n in range(1, 5):
        found = blas.dscal(2.0, whole[:, 1:2])
        assert found.shape == (4, 1)
        assert whole.copy_to_host().tolist() == [[1, 2**n, 1]] * 4
    rows = cuda.to_device(np.ones((2, 3))).as_readonly()
    assert blas.dscal(2.0, rows).copy_to_host().tolist() == [[2, 2, 2]] * 2
    with pytest.raises(ArgumentTypeError, match="read-only"):
        blas.dscal(2.0, rows.T)


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize(
    "make",
    [
        lambda: np.array(3.0),
        lambda: 3.0,
        lambda: [[1, 2, 3], [4, 5, 6]],
        lambda: np.arange(6).reshape(2, 3),
        lambda: np.asmatrix(np.arange(6.0).reshape(2, 3)),
        lambda: np.asmatrix(np.arange(6.0).reshape(2, 3)).T,
        lambda: np.arange(12.0).reshape(4, 3)[::2],
    ],
)
def test_what_becomes_an_array(device, make):
    for _ in range(4):
        theirs, ours = make(), make()
        wanted, found = scipy_blas.dscal(2.0, theirs), blas.dscal(2.0, ours)
        assert same([found], [wanted]) and (found is ours) == (wanted is theirs) and np.array_equal(ours, theirs)


def test_no_elements(device):
    for shape in ((0, 3), (3, 0)):
        assert blas.dscal(2.0, np.zeros(shape)).shape == shape
        assert blas.dscal(2.0, cuda.to_device(np.zeros(shape))).shape == shape
        assert blas.ddot(np.zeros(shape), np.zeros(shape)) == 0


def test_vectors_of_both_layouts_in_one_call(device):
    for seed in range(4):
        x, y, _ = vectors(seed, "d")
        rows, columns = x.reshape(2, 3), y.reshape(3, 2, order="F")
        wanted = scipy_blas.daxpy(rows, columns.copy("F"), a=2.0)
        assert same([blas.daxpy(rows, columns.copy("F"), a=2.0)], [wanted])
        found = blas.daxpy(cuda.to_device(rows), cuda.to_device(columns), a=2.0)
        assert same(host(found), [wanted])
