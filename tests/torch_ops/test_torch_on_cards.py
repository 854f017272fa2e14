"""Operators of torch on tensors in a card's memory, in torch's stream; where there is such a card."""

import pytest

torch = pytest.importorskip("torch")

from operator_kernels import axpy, axpy_backward  # noqa: E402

import portagpu.torch  # noqa: E402
from portagpu.backends.registry import registered  # noqa: E402

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no card"),
    pytest.mark.skipif("cuda" not in [b.name for b in registered()], reason="there is no back end for torch's memory"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@portagpu.torch.op("portagpu_tests::on_card", outputs={"out": "x"})
def add(a: float, x, y, out):
    axpy.forall(out.numel())(a, x, y, out)


@add.backward(outputs={"grad_x": "grad_out", "grad_y": "grad_out"})
def add_backward(a, grad_out, grad_x, grad_y):
    axpy_backward.forall(grad_out.numel())(a, grad_out, grad_x, grad_y)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64", "int32"])
def test_dtypes_and_views(dtype):
    x = torch.arange(1, 201, device="cuda").to(getattr(torch, dtype))
    torch.testing.assert_close(add(2.0, x, x), (3 * x).to(x.dtype))
    torch.testing.assert_close(add(2.0, x[::2], x[1::2]), (2 * x[::2] + x[1::2]).to(x.dtype))


def test_gradients():
    x = torch.randn(50, device="cuda", dtype=torch.float64, requires_grad=True)
    y = torch.randn(50, device="cuda", dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, y: add(3.0, x, y), (x, y))
    torch.library.opcheck(torch.ops.portagpu_tests.on_card.default, (2.0, x, y))


def test_streams():
    """Kernels are between torch's own in the current stream; nobody waits for another."""
    stream = torch.cuda.Stream()
    x = torch.zeros(1 << 22, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        y = x
        for _ in range(20):
            y = add(1.0, y + 1, y * 0)
    stream.synchronize()
    assert (y == 20).all()


def test_compiled():
    function = torch.compile(lambda x, y: add(2.0, x.sin(), y) * 3, fullgraph=True)
    x, y = torch.randn(300, device="cuda", requires_grad=True), torch.randn(300, device="cuda")
    found = function(x, y)
    torch.testing.assert_close(found, (2 * x.sin() + y) * 3)
    found.sum().backward()
    torch.testing.assert_close(x.grad, 6 * x.detach().cos())
