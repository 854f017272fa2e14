"""`portagpu.linalg.eig` and `eigvals`: NumPy and device arrays, streams, what is reported, calls that are recorded."""

import numpy as np
import pytest
from eigen_checks import check_pairs, random_matrices

from portagpu import cuda, linalg
from portagpu.errors import ArgumentTypeError, DTypeError, FactorisationError, ShapeError


@pytest.mark.one_device
def test_numpy_and_device_arrays(device):
    a = random_matrices((2, 4, 3, 3), "float32")
    stream = cuda.stream()
    for matrices in (a, a[0, 0], a[0].swapaxes(-1, -2), a[..., ::-1]):
        for _ in range(3):  # the second one is recorded, the third one made again
            here = linalg.eig(matrices)
            there = linalg.eig(cuda.to_device(matrices), stream=stream)
            stream.synchronize()
            check_pairs(matrices, *here)
            for one, other in zip(here, there, strict=True):
                np.testing.assert_array_equal(one, other.copy_to_host())
            values = linalg.eigvals(cuda.to_device(matrices))
            np.testing.assert_array_equal(linalg.eigvals(matrices), values.copy_to_host())


@pytest.mark.one_device
def test_made_again_for_other_elements(device):
    for seed in range(4):
        for n in (3, 17):
            a = random_matrices((n, n), "complex64", seed)
            check_pairs(a, *(x.copy_to_host() for x in linalg.eig(cuda.to_device(a))))


@pytest.mark.one_device
def test_dtypes(device):
    whole = np.array([[2, 1], [0, 3]])
    for dtype, expected in ((np.int32, np.complex128), (np.float16, np.complex64), (">f4", np.complex64)):
        w, v = linalg.eig(whole.astype(dtype))
        assert w.dtype == v.dtype == expected
        np.testing.assert_array_equal(w, [2, 3])
    with pytest.raises(DTypeError):
        linalg.eig(cuda.to_device(whole))


@pytest.mark.one_device
def test_reports(device):
    a = np.stack([np.eye(3), np.full((3, 3), np.nan)])
    with pytest.raises(FactorisationError, match=r"matrix \(1,\) of the batch has elements that are infinite or NaN"):
        linalg.eig(a)
    for matrices, info in ((a, np.ones(2, np.int32)), (cuda.to_device(a), cuda.to_device(np.ones(2, np.int32)))):
        w, v = linalg.eig(matrices, info=info)
        np.testing.assert_array_equal(np.asarray(info), [0, -1])
        assert np.isnan(np.asarray(w)[1]).all() and np.isnan(np.asarray(v)[1]).all()
    info = cuda.to_device(np.ones(2, np.int32))
    linalg.eigvals(cuda.to_device(np.zeros((2, 0, 0))), info=info)
    np.testing.assert_array_equal(info.copy_to_host(), [0, 0])
    with pytest.raises(ShapeError, match="info has shape"):
        linalg.eigvals(a, info=np.zeros(3, np.int32))
    with pytest.raises(ArgumentTypeError, match="info is not"):
        linalg.eigvals(a, info=np.zeros(2))
    with pytest.raises(ShapeError, match="eig takes square matrices"):
        linalg.eig(np.ones((2, 3)))
