"""Arrays of torch, CuPy, JAX and Numba in a card's memory: kernels and products use them where they are, in order."""

from __future__ import annotations

import cards
import numpy as np
import pytest

import portagpu
from portagpu import cuda
from portagpu.errors import ArgumentTypeError, KernelTypeError
from portagpu.runtime.execution.context import Context

pytestmark = pytest.mark.skipif(not cards.records, reason="no card of CUDA's works here")


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


@cuda.jit
def scale(x, y, factor):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        y[i, j] = x[i, j] * factor


@pytest.fixture
def torch():
    found = pytest.importorskip("torch")
    if not found.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    return found


def address(array):
    return array.buffer.address + array.offset


def test_tensors_are_arguments_whatever_is_chosen(torch):
    x, y = torch.arange(1000.0, device="cuda"), torch.ones(1000, device="cuda")
    for start in (0, 1, 500):  # also repeated launches, with tensors that begin elsewhere
        z = torch.zeros(1000, device="cuda")
        add[4, 256](x[start:], y[start:], z[start:])
        assert torch.equal(z[start:], x[start:] + 1) and not z[:start].any()
    assert address(cuda.as_cuda_array(z[3:])) == z[3:].data_ptr()


def test_strided_tensors_and_bfloat16(torch):
    x = torch.arange(48, device="cuda").reshape(6, 8).bfloat16().T[1:]
    y = torch.zeros(7, 6, device="cuda", dtype=torch.bfloat16)
    scale[1, (8, 8)](x, y, 2.0)
    assert torch.equal(y, 2 * x)


def test_tensors_that_overlap(torch):
    """Kernels are not told that they were apart; the second launch finds the plan of the first."""
    x = torch.zeros(600, device="cuda")
    for _ in range(2):
        add[1, 256](x[:200], x[200:400] + 1, x[400:])
    assert x[400:].eq(1).all() and not x[:400].any()
    add[1, 256](x[400:], x[400:], x[400:])
    assert x[400:].eq(2).all()


def test_host_arrays_beside_tensors(torch):
    z = torch.zeros(10, device="cuda")
    add[1, 32](np.arange(10, dtype=np.float32), torch.ones(10, device="cuda"), z)
    assert z.tolist() == list(range(1, 11))


def test_the_current_stream_of_torch(torch):
    size = 1 << 22
    side = torch.cuda.Stream()
    one = torch.ones(size, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        x = torch.zeros(size, device="cuda")
        for _ in range(3):
            for _ in range(20):
                x += 1
            y = torch.empty_like(x)
            add[size // 256, 256](x, one, y)
            x = y + 1
    side.synchronize()
    assert x.eq(66).all()


def test_streams_that_are_named(torch):
    """Those of the arrays wait for them, and they wait for those."""
    x = torch.zeros(1 << 20, device="cuda")
    with Context.wrap(x):
        stream = cuda.stream()
    for _ in range(5):
        x += 1
        add[1 << 12, 256, stream](x, x, x)
    torch.cuda.synchronize()
    assert x.eq(62).all()


@pytest.mark.parametrize(
    "change, told",
    [
        (lambda x: x.requires_grad_(), "detach"),
        (lambda x: x.to(dtype=_torch().complex64).conj(), "resolve_conj"),
        (lambda x: x.to_sparse(), "to_dense"),
    ],
)
def test_tensors_that_are_more_than_memory(torch, change, told):
    x = torch.ones(8, device="cuda")
    add[1, 8](x, x, torch.empty_like(x))
    with pytest.raises(ArgumentTypeError, match=told):
        add[1, 8](change(x), x, torch.empty_like(x))


def _torch():
    import torch

    return torch


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_products_of_tensors(torch, dtype):
    kind = getattr(torch, dtype)
    exact = [torch.randint(-3, 4, (3, 64, 64), device="cuda").to(kind) for _ in range(2)]
    out = torch.empty(64, 64, device="cuda", dtype=kind)
    for n in (0, 1, 2, 0, 1):  # recorded for the first ones, repeated for others
        a, b = exact[0][n], exact[1][(n + 1) % 3].T
        want = a.float() @ b.float()
        assert portagpu.matmul(a, b, out) is out
        assert torch.equal(out.float(), want)
        new = portagpu.matmul(a, b)
        assert isinstance(new, torch.Tensor) and new.dtype is kind and torch.equal(new.float(), want)
    square = portagpu.matmul(exact[0][0], exact[0][0])
    assert torch.equal(square.float(), exact[0][0].float() @ exact[0][0].float())
    own = exact[0][2].clone()
    want = own.float() @ exact[1][0].float()
    portagpu.matmul(own, exact[1][0], own)
    assert torch.equal(own.float(), want)


def test_products_of_views_are_made_again(torch, monkeypatch):
    from portagpu.blas import borrowed

    a, b = (torch.randint(-3, 4, (64, 64), device="cuda").half() for _ in range(2))
    c = torch.zeros_like(a)
    want = a.float() @ b.float()
    views = [cuda.as_cuda_array(x) for x in (a, b, c)]
    with cuda.select_device(cards.records[0]):
        ours = cuda.to_device(b.cpu().numpy())
    for n in range(4):
        if n == 2:
            monkeypatch.setattr(borrowed, "first", None)  # which makes calls that no recording has
        c.zero_()
        assert portagpu.matmul(views[0], views[1], out=views[2]) is views[2]
        assert torch.equal(c.float(), want)
        found = portagpu.matmul(views[0], ours)  # memory of both
        assert type(found) is type(ours)
        np.testing.assert_array_equal(found.copy_to_host(), want.cpu().numpy())


def test_views_on_a_side_stream(torch):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        x = torch.eye(512, device="cuda")
        for _ in range(6):
            y = x + x
            add[1024, 256](*(cuda.as_cuda_array(v.view(-1)) for v in (y, y, x)))
            x = torch.as_tensor(x) / 4
            z = torch.empty_like(x)
            portagpu.matmul(*map(cuda.as_cuda_array, (x, x)), out=cuda.as_cuda_array(z))
            x = z
    side.synchronize()
    assert torch.equal(x, torch.eye(512, device="cuda"))


def test_products_on_a_side_stream(torch):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        x = torch.eye(128, device="cuda")
        for _ in range(4):
            x = portagpu.matmul(x, x + x) / 2
    side.synchronize()
    assert torch.equal(x, torch.eye(128, device="cuda"))


def test_our_arrays_in_torch(torch):
    with cuda.select_device(cards.records[0]):
        mine = cuda.to_device(np.arange(12, dtype=np.float32).reshape(3, 4))
        described, shared = torch.as_tensor(mine, device="cuda"), torch.from_dlpack(mine[:, ::2])
        assert described.data_ptr() == shared.data_ptr() == mine.buffer.address
        shared += 1
        torch.cuda.synchronize()
        np.testing.assert_array_equal(mine.copy_to_host()[0], [1, 1, 3, 3])
        del mine
        assert described.sum() == 66 + 6


def test_cupy():
    cupy = pytest.importorskip("cupy")
    x, z = cupy.arange(100, dtype="f4"), cupy.zeros(100, "f4")
    add[1, 128](x, x, z)
    assert (z == 2 * x).all()
    with cupy.cuda.Stream(non_blocking=True) as stream:
        add[1, 128](z, z, z)
        z += 1
        stream.synchronize()
    assert (z == 4 * x + 1).all()
    mine = cuda.as_cuda_array(x)
    assert cupy.asarray(mine).data.ptr == cupy.from_dlpack(mine).data.ptr == x.data.ptr
    square = cupy.arange(16, dtype="f8").reshape(4, 4)
    product = portagpu.matmul(square, square.T)
    assert isinstance(product, cupy.ndarray) and (product == square @ square.T).all()


def test_jax():
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("this JAX has no GPU")
    x = jax.numpy.arange(100, dtype="float32")
    with cuda.select_device(cards.records[0]):
        z = cuda.device_array(100, np.float32)
        add[1, 128](x, x, z)
        np.testing.assert_array_equal(z.copy_to_host(), 2 * np.arange(100))
        back = jax.dlpack.from_dlpack(z)
        assert back.unsafe_buffer_pointer() == z.buffer.address
    with pytest.raises(KernelTypeError, match="read-only"):
        add[1, 128](x, x, x)


def test_descriptions_of_memory(torch):
    x = torch.arange(10.0, device="cuda")
    mine = cuda.from_cuda_array_interface(x.__cuda_array_interface__, x)
    add[1, 32](mine, mine, mine)
    assert x.tolist() == [2.0 * n for n in range(10)]
