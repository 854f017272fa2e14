"""Ranges, ``like=``, host operands, linear algebra and printing of device arrays under NumPy's names."""

from __future__ import annotations

import io

import numpy as np
import pytest
from against_numpy import alike, same

from portagpu import cuda
from portagpu.errors import ArgumentTypeError, ShapeError
from portagpu.runtime.arrays.array import DeviceNDArray

_RNG = np.random.default_rng(14)
A = _RNG.normal(size=(3, 4))
V = _RNG.normal(size=4)


@pytest.mark.one_device
def test_ranges_between_arrays(device):
    same(lambda v: [np.linspace(v, v * 2 + 1, 5), np.linspace(0, v, 4, endpoint=False, axis=1)], V)
    same(lambda v: [np.linspace(v, 3, 1), np.linspace(v, 3, 3, dtype=int), *np.linspace(v, 9, 4, retstep=True)], V)
    same(lambda v: [np.logspace(v, 2, 4), np.logspace(0, v, 3, base=2.0), np.geomspace(np.abs(v), 9, 4)], V)
    same(lambda v: np.geomspace(-np.abs(v), -9, 4, endpoint=False), V)


@pytest.mark.one_device
def test_arrays_like_another(device):
    d = cuda.to_device(V)
    for make in (
        lambda **o: np.zeros((2, 3), **o),
        lambda **o: np.ones(3, np.int8, **o),
        lambda **o: np.full(2, 7, **o),
        lambda **o: np.arange(5, **o),
        lambda **o: np.arange(1.0, 3.0, 0.5, **o),
        lambda **o: np.arange(2, 9, 3, dtype=np.int16, **o),
        lambda **o: np.eye(3, 4, 1, **o),
        lambda **o: np.identity(3, **o),
        lambda **o: np.tri(3, 4, -1, **o),
        lambda **o: np.array([[1, 2], [3, 4]], **o),
        lambda **o: np.array(2.5, ndmin=2, **o),
        lambda **o: np.asarray([1.0, 2.0], **o),
        lambda **o: np.asfortranarray([[1.0, 2.0], [3.0, 4.0]], **o),
        lambda **o: np.ascontiguousarray(5, **o),
    ):
        alike(make(like=d), make())
    assert np.empty(3, like=d).shape == (3,) and np.asarray(d, like=d) is d
    assert np.asfortranarray(cuda.to_device(A), like=d).is_f_contiguous()


@pytest.mark.one_device
def test_host_operands_are_copied(device):
    d, host = cuda.to_device(A), A.T.copy()
    for found, wanted in (
        (d @ host, A @ A.T),
        (host @ d, A.T @ A),
        (d @ [1.0, 2.0, 3.0, 4.0], A @ [1, 2, 3, 4]),
        (np.matmul(host, d), A.T @ A),
        (d @ host.astype(np.float32), A @ A.T.astype(np.float32)),
        (np.add(host.T, d), A + A),
        (d - [1.0, 2.0, 3.0, 4.0], A - [1, 2, 3, 4]),
        (np.dot(host, d), A.T @ A),
        (np.concatenate([d, A]), np.concatenate([A, A])),
        (np.where(A > 0, d, 0), np.where(A > 0, A, 0)),
        (np.einsum("ij,jk", A.T, d), A.T @ A),
    ):
        alike(found, wanted, rtol=1e-6)
    d @= np.eye(4)
    alike(d, A)
    with pytest.raises(ArgumentTypeError, match="scalar"):
        d @ 2
    with pytest.raises(ArgumentTypeError, match="out= of a function of device arrays"):
        host += d.T  # which would write host memory from the device


@pytest.mark.one_device
def test_linear_algebra(device):
    square = _RNG.normal(size=(4, 6, 8, 3))
    same(lambda x: np.linalg.tensorinv(x, ind=2), square, rtol=1e-7, atol=1e-8)
    same(lambda x, b: np.linalg.tensorsolve(x, b), square, _RNG.normal(size=(4, 6)), rtol=1e-7, atol=1e-8)
    same(lambda x, v: [np.matvec(x, v), np.vecmat(v, x.T), np.matvec(x[None], v * 1j)], A, V)
    same(lambda x, v: np.vecmat(v + 1j, x.T + 1j), A, V)
    with pytest.raises(ShapeError):
        np.linalg.tensorinv(cuda.to_device(A), ind=1)


@pytest.mark.one_device
def test_text_files_and_memory(device, tmp_path):
    d = cuda.to_device(A)
    assert np.array_repr(d) == np.array_repr(A) and np.array_str(d) == np.array_str(A)
    assert np.array2string(d, precision=2) == np.array2string(A, precision=2)
    file = io.StringIO()
    np.savetxt(file, d)
    np.savez(tmp_path / "both.npz", d, other=d)
    with np.load(tmp_path / "both.npz") as found:
        np.testing.assert_array_equal(found["other"], A)
    assert np.shares_memory(d, d[1]) and np.may_share_memory(d, d.T)
    assert not np.shares_memory(d[:, ::2], d[:, 1::2]) and not np.shares_memory(d, d.copy())
    assert not np.shares_memory(d, A) and not np.may_share_memory(d, A)


@pytest.mark.one_device
def test_other_functions(device):
    same(np.i0, np.array([[0.0, -0.5, 3.0], [30.0, 500.0, np.nan]]), rtol=1e-13)
    same(np.i0, np.arange(4))
    same(np.sort_complex, V)
    same(np.sort_complex, V - 1j * V[::-1])
    same(np.real_if_close, V + 1e-15j)
    same(np.real_if_close, V + 1j)
    assert isinstance(np.real_if_close(cuda.to_device(V)), DeviceNDArray)
