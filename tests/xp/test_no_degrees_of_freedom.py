"""Variances and covariances of no more elements than are subtracted from their number."""

import warnings

import numpy as np
import pytest

from portagpu import cuda

pytestmark = pytest.mark.one_device
HOST = np.array([[4.0, 6, 3, 3], [1, 2, 3, 2], [5, 5, 5, 5], [np.nan, 1, 2, 7]], np.float32)
MASK = np.array([[1, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]], bool)


def compare(function, operands, **options):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = function(*operands, **options)
    there = {key: cuda.to_device(v) if isinstance(v, np.ndarray) else v for key, v in options.items()}
    found = function(*map(cuda.to_device, operands), **there).copy_to_host()
    np.testing.assert_allclose(found, expected, rtol=1e-5, err_msg=f"{function.__name__} {options}")


@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
def test_variances(device, name):
    for host in (HOST, HOST.astype(np.complex64), np.nan_to_num(HOST).astype(np.int16)):
        for ddof in (0, 1, 2, 3, 4, 5, 2.5):
            compare(getattr(np, name), [host], axis=1, ddof=ddof)
            compare(getattr(np, name), [host], axis=1, ddof=ddof, where=MASK)


def test_covariances(device):
    for host in (HOST[:3], HOST[:1, :1], HOST[:2].astype(np.complex64)):
        for ddof in (0, 1, 3, 4, 6):
            compare(np.cov, [host], ddof=ddof)
    for weights in ([1, 0, 2, 1], [1, 0, 0, 0]):
        for ddof in (0, 1, 2, 9):
            compare(np.cov, [HOST[:3]], ddof=ddof, fweights=np.array(weights))
            compare(np.cov, [HOST[:3]], ddof=ddof, aweights=np.array(weights, np.float32))
