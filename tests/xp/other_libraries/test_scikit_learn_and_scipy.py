"""array_api_compat, scikit-learn and SciPy on device arrays, in processes that ask for it at their start."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from portagpu import cuda, xp

_BEGIN = """
import warnings
import numpy as np
from portagpu import cuda, xp
from portagpu.runtime.arrays.array import DeviceNDArray

rng = np.random.default_rng(0)

def same(found, expected, rtol=1e-6, atol=1e-6):
    assert isinstance(found, DeviceNDArray), type(found)
    np.testing.assert_allclose(found.copy_to_host(), expected, rtol=rtol, atol=atol)
"""
_LEARN = """
from sklearn import config_context
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge
from sklearn.metrics import accuracy_score, f1_score, r2_score, roc_auc_score
from sklearn.metrics.pairwise import cosine_similarity, euclidean_distances, rbf_kernel
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import MinMaxScaler, StandardScaler

x, y = make_classification(n_samples=200, n_features=10, random_state=0)
y = y.astype(np.int64)
target = x[:, 0] * 2 - x[:, 1]
d, labels, wanted = map(cuda.to_device, (x, y, target))

def fitted(estimator, method, *data):
    with config_context(array_api_dispatch=True):
        return getattr(estimator.fit(*data), method)(data[0])
"""
_MODELS = """
parts = PCA(3, svd_solver="full")
same(np.abs(fitted(parts, "transform", d)), np.abs(fitted(parts, "transform", x)))
same(fitted(Ridge(solver="svd"), "predict", d, wanted), fitted(Ridge(solver="svd"), "predict", x, target))
analysis = LinearDiscriminantAnalysis(solver="svd")
same(fitted(analysis, "predict_proba", d, labels), fitted(analysis, "predict_proba", x, y))
mixture = dict(n_components=2, random_state=0, init_params="random_from_data", reg_covar=1e-3)
same(fitted(GaussianMixture(**mixture), "predict_proba", d), fitted(GaussianMixture(**mixture), "predict_proba", x))
"""
_METRICS = """
for scaler in (StandardScaler(), MinMaxScaler()):
    same(fitted(scaler, "transform", d), fitted(scaler, "transform", x))
with config_context(array_api_dispatch=True):
    guess, guessed = xp.astype(d[:, 1] > 0, xp.int64), (x[:, 1] > 0).astype(np.int64)
    for metric in (accuracy_score, f1_score, roc_auc_score):
        np.testing.assert_allclose(metric(labels, guess), metric(y, guessed))
    np.testing.assert_allclose(r2_score(wanted, d[:, 0]), r2_score(target, x[:, 0]))
    for metric in (euclidean_distances, cosine_similarity, rbf_kernel):
        same(metric(d[:20], d[20:50]), metric(x[:20], x[20:50]))
"""
_SCIPY = """
from scipy import cluster, integrate, signal, special, stats

x, y, v = rng.random((40, 6)) + 0.1, rng.random((40, 6)) + 0.2, rng.random(64)
dx, dy, dv = map(cuda.to_device, (x, y, v))
"""
_TESTS = """
for test in (stats.ttest_ind, stats.pearsonr):
    found, expected = test(dx, dy), test(x, y)
    same(found.statistic, expected.statistic)
    same(found.pvalue, expected.pvalue)
same(stats.rankdata(dx, axis=0), stats.rankdata(x, axis=0))
same(integrate.cumulative_simpson(dx, dx=0.5, axis=0), integrate.cumulative_simpson(x, dx=0.5, axis=0))
same(signal.hilbert(dv), signal.hilbert(v))
same(signal.fftconvolve(dx, dy), signal.fftconvolve(x, y))
"""
_FUNCTIONS = """
same(stats.zscore(dx), stats.zscore(x))
same(stats.skew(dx), stats.skew(x))
same(special.logsumexp(dx, axis=0), special.logsumexp(x, axis=0))
same(special.softmax(dx, axis=1), special.softmax(x, axis=1))
same(special.xlogy(dx, dy), special.xlogy(x, y))
same(integrate.trapezoid(dx, axis=0), integrate.trapezoid(x, axis=0))
same(cluster.vq.whiten(dx), cluster.vq.whiten(x))
"""


def _run(text, device):
    env = os.environ | {"PORTAGPU_DEVICE": str(device.index), "SCIPY_ARRAY_API": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _BEGIN + text + 'print("done")'], capture_output=True, text=True, env=env
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("done")


@pytest.mark.thorough
@pytest.mark.one_device
@pytest.mark.parametrize("text", [_METRICS, _MODELS], ids=["metrics", "models"])
def test_scikit_learn(device, text):
    pytest.importorskip("sklearn", minversion="1.6", reason="scikit-learn is not installed")
    _run(_LEARN + text, device)


@pytest.mark.one_device
@pytest.mark.parametrize("text", [_FUNCTIONS, pytest.param(_TESTS, marks=pytest.mark.thorough)], ids=["some", "others"])
def test_scipy(device, text):
    pytest.importorskip("scipy", minversion="1.16", reason="SciPy with most of its array API is not installed")
    _run(_SCIPY + text, device)


def test_array_api_compat(device):
    compat = pytest.importorskip("array_api_compat", reason="array_api_compat is not installed")
    x = xp.zeros((3, 4))
    assert compat.is_array_api_obj(x) and not compat.is_numpy_array(x)
    assert compat.array_namespace(x, x + 1) is xp
    assert compat.device(x) is x.device and compat.to_device(x, x.device) is x
    assert compat.size(x) == 12 and compat.is_writeable_array(x) and not compat.is_lazy_array(x)
    with pytest.raises(TypeError):
        compat.array_namespace(cuda.to_device(x.copy_to_host()), x.copy_to_host())
