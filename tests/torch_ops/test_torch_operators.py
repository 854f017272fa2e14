"""Operators of torch: what their functions get, what they return, and whose memory the kernels use."""

import pickle
import threading

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from operator_kernels import axpy, fill, multiply, scale_rows, total  # noqa: E402

import portagpu.torch  # noqa: E402
from portagpu.device.capabilities import DeviceType  # noqa: E402
from portagpu.runtime.arrays.host_memory import SMALL  # noqa: E402

Tensor = torch.Tensor


@portagpu.torch.op("portagpu_tests::axpy", outputs={"out": "x"})
def add(a: float, x: Tensor, y: Tensor, out: Tensor) -> None:
    axpy.forall(out.numel())(a, x, y, out)


def test_five_lines(device):
    x, y = torch.randn(3000), torch.randn(3000)
    torch.testing.assert_close(add(2.0, x, y), 2 * x + y)
    torch.testing.assert_close(torch.ops.portagpu_tests.axpy(2.0, x, y=y), 2 * x + y)
    assert add.name == "portagpu_tests::axpy" and add.__name__ == "add"


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32", "uint8", "complex64"])
def test_dtypes(device, dtype):
    if dtype == "float64" and not device.capabilities.fp64:
        pytest.skip("the device has no float64")
    kind = getattr(torch, dtype)
    x, y = torch.arange(1, 40).to(kind), torch.arange(40, 1, -1).to(kind)
    found = add(2.0, x, y)
    assert found.dtype == kind
    torch.testing.assert_close(found, (2 * x + y).to(kind))


@portagpu.torch.op("portagpu_tests::scale", outputs={"out": "x"})
def scale(x, factor: float, out):
    scale_rows[(-(-x.shape[0] // 8), -(-x.shape[1] // 8)), (8, 8)](x, factor, out)


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "strided", "expanded", "reversed", "conjugate"])
def test_layouts(device, layout):
    x = torch.randn(40, 60)
    views = {
        "contiguous": x,
        "transposed": x.T,
        "strided": x[1::3, ::2],
        "expanded": x[:1].expand(30, 60),
        "reversed": x.flip(0),
        "conjugate": torch.randn(20, 20, dtype=torch.complex64).conj(),
    }
    given = views[layout]
    found = scale(given, 3.0)
    torch.testing.assert_close(found, 3 * given)
    assert not x.isnan().any()


def test_memory_is_used_in_place(device):
    """On devices that use the host's memory: kernels get the tensors' addresses."""
    seen = []

    @portagpu.torch.op("portagpu_tests::in_place", outputs={"out": "x"}, mutates="y")
    def in_place(x, y, out):
        seen.append((x.data_ptr(), y.data_ptr(), out.data_ptr()))
        scale_rows[(50, 10), (8, 8)](x, 2.0, out)
        scale_rows[(50, 10), (8, 8)](out, 2.0, y)

    x, y = torch.randn(400, 80), torch.zeros(400, 80)
    assert x.nbytes > SMALL
    out = in_place(x, y)
    assert seen == [(x.data_ptr(), y.data_ptr(), out.data_ptr())]
    torch.testing.assert_close(out, 2 * x)
    torch.testing.assert_close(y, 4 * x)


def test_parameters_and_tensors_that_need_gradients(device):
    x = torch.nn.Parameter(torch.ones(5))
    with torch.no_grad():
        found = add(2.0, x, x)
    assert found.tolist() == [3.0] * 5 and not found.requires_grad


def test_several_results_of_other_shapes_and_dtypes(device):
    @portagpu.torch.op(
        "portagpu_tests::several",
        outputs={
            "sums": lambda x: x.new_empty((x.shape[0],)),
            "flags": lambda x, n: torch.zeros(n, dtype=torch.int32),
        },
    )
    def several(x, n: int, flags, sums):
        fill.forall(sums.numel())(sums, 2)
        fill.forall(2)(flags[:2], 7)

    sums, flags = several(torch.randn(6, 4), 3)
    assert sums.tolist() == [2.0] * 6
    assert flags.dtype == torch.int32 and flags.tolist() == [7, 7, 0]


def test_results_without_axes_and_empty_ones(device):
    @portagpu.torch.op("portagpu_tests::total", outputs={"out": lambda x: x.new_empty(())})
    def sum_of(x, out):
        total[1, 1](x, out)

    found = sum_of(torch.arange(5.0))
    assert found.shape == () and found.item() == 10
    assert add(1.0, torch.empty(0), torch.empty(0)).shape == (0,)


@portagpu.torch.op("portagpu_tests::fill_", outputs={}, mutates=("x",))
def fill_(x: Tensor, value: float = 3.0, *, twice: bool = False) -> None:
    fill.forall(x.numel())(x, 2 * value if twice else value)


def test_in_place(device):
    for size in (5, SMALL):
        x = torch.zeros(2 * size)
        assert fill_(x[::2]) is None
        assert x._version == 1
        assert x[::2].eq(3).all() and x[1::2].eq(0).all()
        fill_(x, 1.5, twice=True)
        assert x.eq(3).all()


def test_optional_arguments_and_lists(device):
    @portagpu.torch.op("portagpu_tests::optional", outputs={"out": lambda xs: torch.zeros_like(xs[0])})
    def optional(xs: list[Tensor], weights: list[float], bias: Tensor | None = None, *, name: str = "", out: Tensor):
        for x, weight in zip(xs, weights, strict=True):
            axpy.forall(out.numel())(weight, x, out, out)
        if bias is not None and name != "none":
            axpy.forall(out.numel())(1, bias, out, out)

    xs = [torch.randn(7) for _ in range(3)]
    expected = xs[0] + 2 * xs[1] + 3 * xs[2]
    torch.testing.assert_close(optional(xs, [1, 2, 3]), expected)
    torch.testing.assert_close(optional(xs, [1, 2, 3], xs[0]), expected + xs[0])
    torch.testing.assert_close(optional(xs, [1, 2, 3], xs[0], name="none"), expected)


def test_a_tensor_that_comes_twice(device):
    @portagpu.torch.op("portagpu_tests::square", outputs={"out": "x"})
    def square(x, y, out):
        multiply.forall(out.numel())(x, y, out)

    x = torch.randn(2000)
    torch.testing.assert_close(square(x, x), x * x)
    torch.testing.assert_close(square(x[:1000], x[500:1500]), x[:1000] * x[500:1500])


def test_memory_of_numpy(device):
    x = torch.from_numpy(np.arange(3000, dtype=np.float32)[::3])
    torch.testing.assert_close(add(1.0, x, x), 2 * x)


@pytest.mark.one_device
def test_threads(device):
    found = {}

    def work(n):
        x = torch.full((2000,), float(n))
        for _ in range(10):
            x = add(0.5, x, x) / 1.5
        found[n] = x

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n, x in found.items():
        torch.testing.assert_close(x, torch.full((2000,), float(n)))


@pytest.mark.one_device
def test_pickling(device):
    assert pickle.loads(pickle.dumps(add)) is add


@pytest.mark.one_device
def test_products_of_tensors_are_arrays_of_numpy(device):
    """`portagpu.matmul` gives NumPy arrays for what is in the host's memory, and takes a tensor as `out`."""
    a, b = torch.randn(8, 9), torch.randn(9, 5)
    found = portagpu.matmul(a, b)
    assert type(found) is np.ndarray
    torch.testing.assert_close(torch.from_numpy(found), a @ b)
    out = torch.empty(8, 5)
    assert portagpu.matmul(a, b, out) is out
    torch.testing.assert_close(out, a @ b)


def test_devices_of_their_own(device):
    """Operators run on the current device of PortaGPU, whatever memory it has."""
    assert device.capabilities.device_type in DeviceType
    x = torch.randn(SMALL)
    torch.testing.assert_close(add(1.0, x, x), 2 * x)
