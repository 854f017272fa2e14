"""Operators of JAX on arrays in a card's memory, where there is such a card."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
pytest.importorskip("jax.ffi")

import jax.numpy as jnp  # noqa: E402
from operator_kernels import axpy, axpy_backward  # noqa: E402

import portagpu.jax  # noqa: E402
from portagpu import cuda  # noqa: E402
from portagpu.backends.registry import registered  # noqa: E402

pytestmark = [
    pytest.mark.skipif(jax.default_backend() != "gpu", reason="JAX sees no card"),
    pytest.mark.skipif("cuda" not in [b.name for b in registered()], reason="there is no back end for JAX's memory"),
]


@portagpu.jax.op(outputs={"out": "x"})
def add(a: float, x, y, out):
    axpy.forall(out.size)(a, x, y, out)


@add.backward(outputs={"grad_x": "grad_out", "grad_y": "grad_out"})
def add_backward(a, grad_out, grad_x, grad_y):
    axpy_backward.forall(grad_out.size)(a, grad_out, grad_x, grad_y)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32"])
def test_dtypes(dtype):
    x = jnp.arange(1, 201).astype(dtype)
    np.testing.assert_array_equal(add(2.0, x, x), 3 * x)


def test_order_with_the_work_of_xla():
    @jax.jit
    def steps(x):
        for _ in range(10):
            x = add(1.0, x + 1, x * 0)
        return x

    assert (steps(jnp.zeros(1 << 22)) == 10).all()


@portagpu.jax.op(outputs={"out": "x"})
def by_way_of_ours(x, out):
    between = cuda.device_array(x.shape, x.dtype)  # in the default stream, which is in order with XLA's
    between.copy_to_device(x)
    axpy.forall(x.size)(1.0, between, between, between)
    out.copy_to_device(between)


def test_order_with_the_default_stream():
    @jax.jit
    def steps(x):
        for _ in range(10):
            x = by_way_of_ours(x + 1) / 2
        return x

    assert (steps(jnp.zeros(1 << 22)) == 10).all()


def test_gradients():
    x, y = jnp.linspace(1, 2, 70), jnp.linspace(3, 5, 70)
    np.testing.assert_allclose(jax.grad(lambda x: (add(3.0, x, y) ** 2).sum())(x), 6 * (3 * x + y), rtol=1e-6)
