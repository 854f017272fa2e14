"""Arrays of other libraries in host memory are kernel arguments; program-wide checks come from the environment."""

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import ArgumentTypeError, OutOfBoundsError, SettingsError

pytestmark = pytest.mark.one_device


class Foreign:
    """An array that has nothing but DLPack's protocol, as those of torch and jax have."""

    def __init__(self, array, kind=1, failure=None):
        self.array, self.kind, self.failure = array, kind, failure

    def __dlpack__(self, **keywords):
        if self.failure is not None:
            raise self.failure
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return (self.kind, 0)


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 2 * x[i]


def test_arrays_of_dlpack(device):
    x, y = np.arange(40, dtype=np.float32), np.zeros(40, dtype=np.float32)
    double[2, 32](Foreign(x), Foreign(y))
    cuda.synchronize()
    np.testing.assert_array_equal(y, 2 * x)
    with pytest.raises(ArgumentTypeError, match=r"argument `y`, a .*Foreign, is in the memory of a device"):
        double[2, 32](x, Foreign(y, kind=2))
    with pytest.raises(ArgumentTypeError, match="cannot be shared: needs gradients"):
        double[2, 32](x, Foreign(y, failure=BufferError("needs gradients")))


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_arrays_of_libraries(device, library):
    numbers = pytest.importorskip(library)
    x = numbers.arange(40.0, dtype=numbers.float32)
    y = np.zeros(40, dtype=np.float32)
    double[2, 32](x, y)
    np.testing.assert_array_equal(y, 2 * np.arange(40))
    if library == "torch":
        double[2, 32](y, x)
        cuda.synchronize()
        np.testing.assert_array_equal(x.numpy(), 4 * np.arange(40))


@pytest.mark.parametrize("name", ["PORTAGPU_DEBUG", "PORTAGPU_BOUNDSCHECK"])
def test_checks_of_a_whole_program(device, monkeypatch, name):
    def beyond(x):
        x[cuda.grid(1) + 5] = 1

    monkeypatch.setenv(name, "1")
    with pytest.raises((OutOfBoundsError, IndexError)):
        cuda.jit(beyond)[1, 1](np.zeros(2))
    off = cuda.jit(debug=False, boundscheck=False)(beyond).options
    assert not off.debug and not off.boundscheck
    monkeypatch.setenv(name, "perhaps")
    with pytest.raises(SettingsError, match=name):
        cuda.jit(beyond)
