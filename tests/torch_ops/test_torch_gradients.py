"""Gradients of operators of torch by backward functions, which are operators, too; transforms of `torch.func`."""

import pytest

torch = pytest.importorskip("torch")

from operator_kernels import axpy, axpy_backward, fill, fused_multiply, multiply, multiply_backward  # noqa: E402

import portagpu.torch  # noqa: E402
from portagpu.errors import NoGradientError, OperatorError  # noqa: E402

Tensor = torch.Tensor
pytestmark = pytest.mark.one_device


@portagpu.torch.op("portagpu_tests::times", outputs={"out": "x"})
def times(x: Tensor, y: Tensor, out: Tensor) -> None:
    multiply.forall(out.numel())(x, y, out)


@times.backward
def times_backward(grad_out, x, y, grad_x, grad_y):
    multiply_backward.forall(x.numel())(grad_out, x, y, grad_x, grad_y)


@times_backward.backward(outputs={"grad_grad_out": "grad_out"})
def times_twice(grad_out, x, y, grad_grad_x, grad_grad_y, grad_grad_out, grad_x, grad_y):
    n = x.numel()
    multiply.forall(n)(grad_grad_x, y, grad_grad_out)
    fused_multiply.forall(n)(grad_grad_y, x, grad_grad_out)
    multiply.forall(n)(grad_grad_y, grad_out, grad_x)
    multiply.forall(n)(grad_grad_x, grad_out, grad_y)


def numbers(*shape, dtype=torch.float64):
    return torch.randn(shape, dtype=dtype, requires_grad=True)


def test_gradients_of_two_orders(device):
    x, y = numbers(40), numbers(40)
    assert torch.autograd.gradcheck(times, (x, y))
    assert torch.autograd.gradgradcheck(times, (x, y))


def test_only_needed_gradients_are_computed(device):
    called = []

    @portagpu.torch.op("portagpu_tests::apart", outputs={"out": "x"})
    def apart(a: float, x, y, out):
        axpy.forall(out.numel())(a, x, y, out)

    @apart.backward(outputs={"grad_x": "grad_out"})
    def _(a, grad_out, grad_x):
        called.append("x")
        axpy_backward.forall(grad_out.numel())(a, grad_out, grad_x, torch.empty_like(grad_x))

    @apart.backward(outputs={"grad_y": "grad_out"}, name="portagpu_tests::apart_y")
    def second(grad_out, grad_y):
        called.append("y")
        axpy_backward.forall(grad_out.numel())(1.0, grad_out, torch.empty_like(grad_y), grad_y)

    assert second.name == "portagpu_tests::apart_y"
    assert torch.ops.portagpu_tests.apart_backward is not None
    x, y = numbers(20), numbers(20)
    (found,) = torch.autograd.grad(apart(3.0, x.detach(), y).sum(), y)
    assert called == ["y"] and found.tolist() == [1.0] * 20
    apart(3.0, x, y.detach()).sum().backward()
    assert called == ["y", "x"] and x.grad.tolist() == [3.0] * 20
    assert torch.autograd.gradcheck(lambda x, y: apart(2.0, x, y), (x, y))


def test_results_are_kept_and_some_are_unused(device):
    """The gradient of a result that nobody uses is zero; integers have none."""

    @portagpu.torch.op(
        "portagpu_tests::both", outputs={"out": "x", "twice": "x", "count": lambda x: x.new_empty(2).int()}
    )
    def both(x, out, twice, count):
        axpy.forall(x.numel())(0, x, x, out)
        axpy.forall(x.numel())(1, x, x, twice)
        fill.forall(2)(count, x.numel())

    @both.backward(outputs={"grad_x": "out"})
    def both_backward(out, grad_out, grad_twice, grad_x):
        assert out.shape == grad_x.shape
        axpy.forall(grad_x.numel())(2, grad_twice, grad_out, grad_x)

    x = numbers(9)
    out, twice, count = both(x)
    assert count.tolist() == [9, 9] and not count.requires_grad
    (found,) = torch.autograd.grad(out.sum(), x)
    assert found.tolist() == [1.0] * 9
    out, twice, _ = both(x)
    (found,) = torch.autograd.grad(twice.sum() + out.sum(), x)
    assert found.tolist() == [3.0] * 9


def test_optional_inputs(device):
    @portagpu.torch.op("portagpu_tests::biased", outputs={"out": "x"})
    def biased(x, bias: Tensor | None, out):
        axpy.forall(x.numel())(1.0 if bias is not None else 0.0, x if bias is None else bias, x, out)

    @biased.backward
    def biased_backward(x, bias: Tensor | None, grad_out, grad_x, grad_bias):
        assert (grad_bias is None) == (bias is None)
        for gradient in (grad_x, grad_bias):
            if gradient is not None:
                axpy.forall(gradient.numel())(0.0, grad_out, grad_out, gradient)

    x, bias = numbers(6), numbers(6)
    assert torch.autograd.gradcheck(biased, (x, bias))
    assert torch.autograd.gradcheck(lambda x: biased(x, None), (x,))


def test_gradients_that_nobody_computes(device):
    @portagpu.torch.op("portagpu_tests::without", outputs={"out": "x"})
    def without(x, y, out):
        multiply.forall(out.numel())(x, y, out)

    x, y = numbers(4), numbers(4)
    with pytest.raises(NoGradientError, match="no backward function that computes the gradient of `x`"):
        without(x, y).sum().backward()

    @without.backward
    def _(x, y, grad_out, grad_x):
        multiply.forall(grad_x.numel())(grad_out, y, grad_x)

    without(x, y.detach()).sum().backward()
    torch.testing.assert_close(x.grad, y)
    with pytest.raises(NoGradientError, match="computes the gradient of `y`"):
        without(x, y).sum().backward()
    (first,) = torch.autograd.grad((without(x, y.detach()) ** 2).sum(), x, create_graph=True)
    with pytest.raises(NoGradientError, match="without_backward has no backward function"):
        first.sum().backward()


def test_in_place_operators_have_none(device):
    @portagpu.torch.op("portagpu_tests::zero_", outputs={}, mutates="x")
    def zero_(x):
        fill.forall(x.numel())(x, 0)

    with pytest.raises(OperatorError, match="changes its input `x`"):
        zero_.backward(lambda x, grad_x: None)
    x = numbers(3)
    with pytest.raises(OperatorError, match="changes `x` in place, and an argument needs gradients"):
        zero_(x * 1)
    with torch.no_grad():
        zero_(x)
    assert x.tolist() == [0.0] * 3


def test_gradients_of_strided_and_expanded_tensors(device):
    x, y = numbers(2, 30), numbers(30)
    assert torch.autograd.gradcheck(lambda x, y: times(x[1, ::2], y[:15]).expand(3, 15), (x, y))


def test_transforms_of_functions(device):
    x = torch.arange(1.0, 4.0)
    torch.testing.assert_close(torch.func.grad(lambda x: times(x, x).sum())(x), 2 * x)
    torch.testing.assert_close(torch.func.jacrev(lambda x: times(x, x))(x), torch.diag(2 * x))
    twice = torch.func.jacrev(torch.func.grad(lambda x: times(x, x).sum()))(x)
    torch.testing.assert_close(twice, 2 * torch.eye(3))
    batch = torch.randn(5, 3)
    per_sample = torch.vmap(torch.func.grad(lambda x: times(x, x).sum()))(batch)
    torch.testing.assert_close(per_sample, 2 * batch)


def test_batches(device):
    x, y = torch.randn(4, 3), torch.randn(3)
    torch.testing.assert_close(torch.vmap(times, in_dims=(0, None))(x, y), x * y)
    torch.testing.assert_close(torch.vmap(times, in_dims=(1, None), out_dims=1)(x[:3], y), x[:3] * y[:, None])
    torch.testing.assert_close(torch.vmap(torch.vmap(times))(x[None], x[None]), x[None] ** 2)

    @portagpu.torch.op("portagpu_tests::listed", outputs={"out": lambda xs: torch.zeros_like(xs[0]), "n": "y"})
    def listed(xs: list[Tensor], y, *, factor: float = 1.0, out, n):
        for x in xs:
            axpy.forall(out.numel())(factor, x, out, out)
        fill.forall(n.numel())(n, len(xs))

    out, n = torch.vmap(lambda x: listed([x, y], y, factor=2.0))(x)
    torch.testing.assert_close(out, 2 * (x + y))
    assert n.eq(2).all() and n.shape == (4, 3)

    @portagpu.torch.op("portagpu_tests::store_", outputs={}, mutates="x")
    def store_(x, y):
        axpy.forall(x.numel())(0, y, y, x)

    torch.vmap(store_, in_dims=(0, None), out_dims=None)(x, y)
    assert x.eq(y).all()
    with pytest.raises(OperatorError, match="changes `x`, which is one for all items of the batch"):
        torch.vmap(store_, in_dims=(None, 0))(y, x)
