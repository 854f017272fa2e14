"""Operators of JAX: by XLA's foreign function interface, on its memory, with `jit`, `vmap` and gradients."""

import pickle
import threading

import numpy as np
import pytest

jax = pytest.importorskip("jax")
pytest.importorskip("jax.ffi")

import jax.numpy as jnp  # noqa: E402
from operator_kernels import axpy, axpy_backward, fill, fused_multiply, multiply, multiply_backward, total  # noqa: E402

import portagpu.jax  # noqa: E402
from portagpu import cuda  # noqa: E402
from portagpu.errors import DTypeError, GraphError, NoGradientError, OperatorError  # noqa: E402

pytestmark = pytest.mark.usefixtures("_on_the_cpu")


@pytest.fixture
def _on_the_cpu():
    with jax.default_device(jax.devices("cpu")[0]):
        yield


@portagpu.jax.op(outputs={"out": "x"})
def add(a: float, x, y, out):
    """Returns a x + y."""
    axpy.forall(out.size)(a, x, y, out)


@add.backward(outputs={"grad_x": "grad_out", "grad_y": "grad_out"})
def add_backward(a, grad_out, grad_x, grad_y):
    axpy_backward.forall(grad_out.size)(a, grad_out, grad_x, grad_y)


@portagpu.jax.op(outputs={"out": "x"})
def times(x, y, out):
    multiply.forall(out.size)(x, y, out)


@times.backward
def times_backward(grad_out, x, y, grad_x, grad_y):
    multiply_backward.forall(x.size)(grad_out, x, y, grad_x, grad_y)


@times_backward.backward(outputs={"grad_grad_out": "grad_out"})
def times_twice(grad_out, x, y, grad_grad_x, grad_grad_y, grad_grad_out, grad_x, grad_y):
    n = x.size
    multiply.forall(n)(grad_grad_x, y, grad_grad_out)
    fused_multiply.forall(n)(grad_grad_y, x, grad_grad_out)
    multiply.forall(n)(grad_grad_y, grad_out, grad_x)
    multiply.forall(n)(grad_grad_x, grad_out, grad_y)


def test_five_lines(device):
    x, y = jnp.arange(3000.0), jnp.ones(3000)
    np.testing.assert_allclose(add(2.0, x, y), 2 * x + y)
    np.testing.assert_allclose(jax.jit(lambda x, y: add(a=2, x=jnp.sin(x), y=y))(x, y), 2 * jnp.sin(x) + y, rtol=1e-6)
    assert add.__doc__ == "Returns a x + y."


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32", "uint8", "complex64"])
def test_dtypes(device, dtype):
    x = jnp.arange(1, 40).astype(dtype)
    found = add(2.0, x, x)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, 3 * x)


def test_memory_is_used_in_place(device):
    """Inputs are XLA's own memory, read-only; kernels run on the device that was current, in whatever thread."""
    seen = []

    @portagpu.jax.op(outputs={"out": "x"})
    def look(x, out):
        seen.append((x.__array_interface__["data"][0], x.flags.writeable, cuda.current_context().device))
        axpy.forall(x.size)(1, x, x, out)

    x = jnp.arange(5000.0)
    np.testing.assert_array_equal(look(x), 2 * x)
    assert seen == [(x.unsafe_buffer_pointer(), False, device)]


def test_several_results_and_those_without_axes(device):
    made = {
        "sums": lambda x: jax.ShapeDtypeStruct((), x.dtype),
        "flags": lambda n: jax.ShapeDtypeStruct((n, 2), np.int32),
    }

    @portagpu.jax.op(outputs=made)
    def several(x, n: int, sums, flags):
        total[1, 1](x, sums)
        fill.forall(flags.size)(flags.reshape(-1), n)

    sums, flags = jax.jit(several, static_argnames="n")(jnp.arange(6.0), n=3)
    assert sums.shape == () and sums == 15
    assert flags.shape == (3, 2) and (flags == 3).all()
    sums, _ = several(jnp.arange(4.0), 1)
    assert sums == 6


def test_absent_and_empty_arrays(device):
    @portagpu.jax.op(outputs={"out": "x"})
    def biased(x, bias: jax.Array | None = None, *, name: str = "", out):
        axpy.forall(x.size)(1 if name else 0, x, x if bias is None else bias, out)

    x = jnp.arange(5.0)
    np.testing.assert_array_equal(biased(x), x)
    np.testing.assert_array_equal(biased(x, jnp.ones(5)), 1)
    np.testing.assert_array_equal(biased(x, name="both"), 2 * x)
    assert add(1.0, jnp.empty(0), jnp.empty(0)).shape == (0,)


@pytest.mark.one_device
def test_gradients(device):
    x, y = jnp.linspace(1, 2, 7), jnp.linspace(3, 5, 7)
    np.testing.assert_array_equal(jax.grad(lambda x: add(3.0, x, y).sum())(x), 3)
    np.testing.assert_allclose(jax.jit(jax.grad(lambda x, y: (add(3.0, x, y) ** 2).sum(), 1))(x, y), 6 * x + 2 * y)

    def second(product):
        slope = jax.grad(lambda x, y: (product(x, y) ** 3).sum(), (0, 1))
        return jax.grad(lambda x, y: sum((g * g).sum() for g in slope(x, y)), (0, 1))(x, y)

    np.testing.assert_allclose(second(times), second(jnp.multiply), rtol=1e-4)
    with pytest.raises(NoGradientError, match="add_backward has no backward function that computes the gradient of"):
        jax.grad(lambda x: jax.grad(lambda x: (add(3.0, x, y) ** 2).sum())(x).sum())(x)


@pytest.mark.one_device
def test_only_needed_gradients_are_asked_for(device):
    @portagpu.jax.op(outputs={"out": "x", "twice": "x"})
    def apart(x, y, out, twice):
        multiply.forall(x.size)(x, y, out)
        axpy.forall(x.size)(1, x, x, twice)

    @apart.backward
    def _(x, y, out, grad_out, grad_twice, grad_x):
        assert out.shape == x.shape
        multiply.forall(x.size)(grad_out, y, grad_x)
        axpy.forall(x.size)(2, grad_twice, grad_x, grad_x)

    x, y = jnp.arange(4.0), jnp.full(4, 5.0)
    np.testing.assert_array_equal(jax.grad(lambda x: apart(x, y)[0].sum())(x), 5)
    np.testing.assert_array_equal(jax.grad(lambda x: sum(apart(x, y)).sum())(x), 7)
    with pytest.raises(NoGradientError, match="gradient of `y`"):
        jax.grad(lambda y: apart(x, y)[0].sum())(y)


@pytest.mark.one_device
def test_batches(device):
    x, y = jnp.arange(12.0).reshape(4, 3), jnp.arange(3.0)
    np.testing.assert_array_equal(jax.vmap(lambda x: times(x, y))(x), x * y)
    np.testing.assert_array_equal(jax.vmap(jax.grad(lambda x: times(x, x).sum()))(x), 2 * x)
    np.testing.assert_array_equal(jax.jacrev(lambda x: times(x, x))(y), jnp.diag(2 * y))


@pytest.mark.one_device
def test_threads_and_pickling(device):
    found = {}

    def work(n):
        x = jnp.full(2000, float(n))
        for _ in range(5):
            x = jax.jit(lambda x: add(0.5, x, x) / 1.5)(x)
        found[n] = x

    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((x == n).all() for n, x in found.items()) and len(found) == 3
    assert pickle.loads(pickle.dumps(add)) is add


@pytest.mark.one_device
def test_wrong_declarations():
    with pytest.raises(OperatorError, match="the parameter `n` is of type dict"):
        portagpu.jax.op(outputs={"out": "x"})(_with_annotation(dict))
    with pytest.raises(OperatorError, match="made from 'z', which is no input"):
        portagpu.jax.op(outputs={"out": "z"})(_with_annotation(int))


def _with_annotation(kind):
    def function(x, n, out):
        pass

    function.__annotations__["n"] = kind
    return function


@pytest.mark.one_device
def test_wrong_arguments(device):
    x = jnp.ones(3)
    with pytest.raises(OperatorError, match=r"(?s)missing a required argument: 'y'.*its inputs are a, x, y"):
        add(1.0, x)
    with pytest.raises(OperatorError, match=r"(?s)`a` is declared as float, and JAX traces its value.*static_argnames"):
        jax.jit(add)(1.0, x, x)
    with pytest.raises(OperatorError, match="`a` is a str, and is declared as float"):
        add("a", x, x)
    with pytest.raises(OperatorError, match="`x` is a str, and no array"):
        add(1.0, "x", x)
    made = portagpu.jax.op(outputs={"out": lambda x: 3})(lambda x, out: None)
    with pytest.raises(OperatorError, match="the output 'out' is described by an int"):
        made(x)


@pytest.mark.one_device
def test_errors_in_functions_become_jax_s(device):
    @portagpu.jax.op(outputs={"out": "x"})
    def writes(x, out):
        fill.forall(x.size)(x, 1)

    @portagpu.jax.op(outputs={"out": "x"})
    def fails(x, out):
        raise KeyError("something else")

    x = jnp.ones(3)
    with pytest.raises(jax.errors.JaxRuntimeError, match="KernelTypeError: a read-only array cannot be written"):
        jax.block_until_ready(writes(x))
    with pytest.raises(jax.errors.JaxRuntimeError, match="something else"):
        jax.block_until_ready(fails(x))
    np.testing.assert_array_equal(add(1.0, x, x), 2)


@pytest.mark.parametrize("dtype", ["float8_e5m2", "int4", "uint4", "key"])
def test_dtypes_that_kernels_do_not_have(dtype):
    """XLA knows them by numbers, which would say little."""
    value = jax.random.key(0) if dtype == "key" else jnp.zeros(3, dtype)
    with pytest.raises(DTypeError, match=r"`x` is of dtype .*, which kernels do not have") as caught:
        times(value, jnp.zeros(3))
    assert "astype" in caught.value.hint

    @portagpu.jax.op(outputs={"out": lambda x: jax.ShapeDtypeStruct(x.shape, jnp.int4)})
    def narrow(x, out):
        pass

    with pytest.raises(DTypeError, match="`out` is of dtype int4"):
        narrow(jnp.zeros(3))


def test_shapes_of_results():
    @portagpu.jax.op(outputs={"out": lambda x: jax.ShapeDtypeStruct((x.size - 4,), x.dtype)})
    def shorter(x, out):
        pass

    with pytest.raises(OperatorError, match=r"the output 'out' has the shape \(-1,\)") as caught:
        shorter(jnp.zeros(3))
    assert caught.value.hint


def test_graphs_refuse_operators_on_the_host():
    with pytest.raises(GraphError, match="cannot be part of a graph") as caught, cuda.graph():
        times(jnp.ones(8000), jnp.ones(8000)).block_until_ready()
    assert caught.value.span.filename == __file__
