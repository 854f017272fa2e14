"""Arrays of other libraries in host memory are kernel arguments; program-wide checks come from the environment."""

import numpy as np
import pytest

import portagpu
from portagpu import cuda
from portagpu.device.capabilities import DeviceType
from portagpu.errors import (
    ArgumentTypeError,
    KernelTypeError,
    MemoryNotSharedError,
    OutOfBoundsError,
    PortaGPUError,
    SettingsError,
)

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
        double[2, 32](x, Foreign(y, kind=10))  # a device of ROCm
    with pytest.raises(ArgumentTypeError, match="cannot be shared: needs gradients"):
        double[2, 32](x, Foreign(y, failure=BufferError("needs gradients")))


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_arrays_of_libraries(device, library):
    numbers = pytest.importorskip(library)
    x = numbers.arange(40.0, dtype=numbers.float32)
    if library == "jax.numpy":  # which takes a GPU's memory where it finds one
        jax = pytest.importorskip("jax")
        x = jax.device_put(x, jax.devices("cpu")[0])
    y = np.zeros(40, dtype=np.float32)
    double[2, 32](x, y)
    np.testing.assert_array_equal(y, 2 * np.arange(40))
    if library == "torch":
        double[2, 32](y, x)
        cuda.synchronize()
        np.testing.assert_array_equal(x.numpy(), 4 * np.arange(40))


@cuda.jit
def scale(x, y, factor):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        y[i, j] = factor * x[i, j]


def test_strided_bfloat16_and_read_only_memory(device):
    x, y = np.arange(24, dtype=np.float32).reshape(6, 4), np.zeros((4, 12), np.float32)
    scale[1, (8, 8)](Foreign(x.T), Foreign(y[:, ::2]), 3)
    np.testing.assert_array_equal(y[:, ::2], 3 * x.T)
    assert not y[:, 1::2].any()
    x.flags.writeable = False
    with pytest.raises(KernelTypeError, match="read-only"):
        scale[1, (8, 8)](Foreign(x), Foreign(x), 3)


def test_arrays_without_axes_are_numbers(device):
    x, y = np.ones((3, 3), np.float32), np.zeros((3, 3), np.float32)
    scale[1, (4, 4)](x, y, Foreign(np.array(3, np.int32)))
    np.testing.assert_array_equal(y, 3 * x)


def test_an_array_that_comes_twice_and_ones_that_share_elements(device):
    """Two buffers over the same memory would be undefined."""
    x = np.arange(40, dtype=np.float32)
    both = Foreign(x)
    double[2, 32](both, both)
    np.testing.assert_array_equal(x, 2 * np.arange(40))
    double[1, 8](Foreign(x[:8]), Foreign(x[8:16]))
    np.testing.assert_array_equal(x[8:16], 4 * np.arange(8))
    double[1, 8](x[:8], Foreign(x[16:24]))
    np.testing.assert_array_equal(x[16:24], 4 * np.arange(8))


def test_copies_and_wrappers(device):
    x, y = np.arange(40, dtype=np.float32), np.zeros(40, np.float32)
    moved = cuda.to_device(Foreign(x))
    np.testing.assert_array_equal(moved.copy_to_host(), x)
    target = Foreign(y)
    assert moved.copy_to_host(target) is target
    np.testing.assert_array_equal(y, x)
    assert cuda.device_array_like(target).shape == (40,)
    double[2, 32](cuda.In(Foreign(x)), cuda.Out(target))
    np.testing.assert_array_equal(y, 2 * x)
    if device.capabilities.device_type is DeviceType.CPU:
        double[2, 32](x[::-1].copy(), cuda.as_cuda_array(target))
        cuda.synchronize()
        np.testing.assert_array_equal(y, 2 * x[::-1])
    else:
        with pytest.raises(MemoryNotSharedError, match="to_device"):
            cuda.as_cuda_array(target)


def test_products(device):
    x, out = np.arange(12, dtype=np.float32).reshape(3, 4), np.zeros((3, 3), np.float32)
    target = Foreign(out)
    np.testing.assert_array_equal(portagpu.matmul(Foreign(x), Foreign(x.T)), x @ x.T)
    assert portagpu.matmul(Foreign(x), x.T, target) is target
    np.testing.assert_array_equal(out, x @ x.T)
    with pytest.raises(ArgumentTypeError, match=r"operand b, a .*Foreign, is in the memory of a device"):
        portagpu.matmul(x, Foreign(x.T, kind=10))  # a device of ROCm


@pytest.mark.parametrize(
    "text, hint",
    [
        ("Can't export tensors that require gradient", r"x.detach\(\)"),
        ("Can't export tensors with the conjugate bit set", r"x.resolve_conj\(\)"),
        ("Can't export tensors with layout other than torch.strided", r"x.to_dense\(\)"),
        ("something else", "pass a NumPy array of it"),
    ],
)
def test_arrays_that_are_more_than_memory(device, text, hint):
    told = Foreign(np.zeros(3), failure=BufferError(text))
    for use in (cuda.to_device, cuda.from_dlpack, lambda x: double[1, 1](x, x), lambda x: portagpu.matmul(x, x)):
        with pytest.raises(PortaGPUError, match=rf"(?s){text}.*{hint}"):
            use(told)


def test_tensors_of_torch(device):
    """As users write them; the protocol's own rules are above."""
    torch = pytest.importorskip("torch")
    x = torch.arange(24.0).reshape(6, 4).bfloat16().T
    y = torch.zeros((4, 6), dtype=torch.bfloat16)
    scale[1, (8, 8)](x, y, torch.tensor(2.0))
    assert torch.equal(y, 2 * x)
    with pytest.raises(ArgumentTypeError, match="detach"):
        scale[1, (8, 8)](torch.nn.Parameter(torch.ones(4, 6)), y, 1.0)
    moved = cuda.to_device(np.arange(4.0))
    if device.capabilities.device_type is DeviceType.CPU:
        shared = torch.as_tensor(moved)
        shared[0] = 7
        assert moved.copy_to_host().tolist() == [7, 1, 2, 3]
    elif moved.context.driver.shares_addresses:
        assert torch.as_tensor(moved).tolist() == [0, 1, 2, 3]  # NumPy's way, where this torch has no CUDA
    else:
        with pytest.raises(MemoryNotSharedError):
            torch.as_tensor(moved)


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
