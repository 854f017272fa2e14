"""Operators of torch are one node under `torch.compile` and `torch.export`, and work with fake tensors."""

import pytest

torch = pytest.importorskip("torch")

from operator_kernels import axpy, axpy_backward, fill, scale_rows  # noqa: E402

import portagpu.torch  # noqa: E402

Tensor = torch.Tensor
pytestmark = [
    pytest.mark.one_device,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # torch's own, of what it imports for a compiler
]


@portagpu.torch.op("portagpu_tests::line", outputs={"out": "x"})
def line(a: float, x: Tensor, y: Tensor, out: Tensor) -> None:
    axpy.forall(out.numel())(a, x, y, out)


@line.backward(outputs={"grad_x": "grad_out", "grad_y": "grad_out"})
def line_backward(a, grad_out, grad_x, grad_y):
    axpy_backward.forall(grad_out.numel())(a, grad_out, grad_x, grad_y)


@portagpu.torch.op("portagpu_tests::rows", outputs={"out": lambda x, n: x.new_zeros((x.shape[0], n))})
def rows(x, n: int, out):
    scale_rows[(x.shape[0], 1), (1, n)](x[:, :n], 2.0, out)


@portagpu.torch.op("portagpu_tests::set_", outputs={}, mutates="x")
def set_(x: Tensor, value: float) -> None:
    fill.forall(x.numel())(x, value)


def test_torch_checks_operators(device):
    x = torch.randn(30, dtype=torch.float64, requires_grad=True)
    y = torch.randn(30, dtype=torch.float64, requires_grad=True)
    torch.library.opcheck(torch.ops.portagpu_tests.line.default, (2.0, x, y))
    torch.library.opcheck(torch.ops.portagpu_tests.line.default, (2.0, x.detach()[::2], y.detach()[::2]))
    torch.library.opcheck(torch.ops.portagpu_tests.rows.default, (torch.randn(3, 4), 2))
    torch.library.opcheck(torch.ops.portagpu_tests.set_.default, (torch.randn(8), 2.0))


@pytest.mark.parametrize("dynamic", [False, True])
def test_one_node_without_a_break(device, dynamic):
    graphs = []

    def collect(module, example):
        graphs.append(module.graph)
        return module.forward

    @torch.compile(fullgraph=True, backend=collect, dynamic=dynamic)
    def function(x, y):
        return line(2.0, x.sin(), y) + 1

    for size in (20, 31):
        x, y = torch.randn(size), torch.randn(size)
        torch.testing.assert_close(function(x, y), 2 * x.sin() + y + 1)
    assert len(graphs) == (1 if dynamic else 2)
    called = [node.target for node in graphs[0].nodes if "portagpu" in str(node.target)]
    assert called == [torch.ops.portagpu_tests.line.default]


def test_gradients_and_shapes_that_vary(device):
    @torch.compile(fullgraph=True, backend="aot_eager", dynamic=True)
    def function(x, y):
        return (line(3.0, x * x, y) ** 2).sum() + rows(x.reshape(-1, 2), x.shape[0] // x.shape[0]).sum()

    for size in (8, 14):
        x, y = torch.randn(size, requires_grad=True), torch.randn(size, requires_grad=True)
        with torch.no_grad():
            expected = ((3 * x * x + y) ** 2).sum() + 2 * x[::2].sum()
            torch.testing.assert_close(function(x, y), expected)
    x, y = torch.randn(10, requires_grad=True), torch.randn(10, requires_grad=True)
    compiled = torch.compile(lambda x, y: (line(3.0, x * x, y) ** 2).sum(), fullgraph=True, backend="aot_eager")
    compiled(x, y).backward()
    torch.testing.assert_close(x.grad, 12 * x.detach() * (3 * x * x + y).detach())
    torch.testing.assert_close(y.grad, 2 * (3 * x * x + y).detach())


def test_arguments_that_change_in_place(device):
    @torch.compile(fullgraph=True, backend="aot_eager")
    def function(x):
        y = x + 1
        set_(y, 4.0)
        set_(x[::2], 5.0)
        return y * 2 + x

    x = torch.zeros(6)
    assert function(x).tolist() == [13.0, 8.0] * 3
    assert x.tolist() == [5.0, 0.0] * 3


@pytest.mark.thorough
def test_the_compiler_that_torch_has(device):
    function = torch.compile(lambda x, y: line(2.0, x.sin(), y).cos(), fullgraph=True, dynamic=True)
    for size in (100, 333):
        x, y = torch.randn(size, requires_grad=True), torch.randn(size)
        found = function(x, y)
        torch.testing.assert_close(found, (2 * x.sin() + y).cos())
        found.sum().backward()
        torch.testing.assert_close(x.grad, (-2 * (2 * x.sin() + y).sin() * x.cos()).detach())


def test_fake_and_meta_tensors(device):
    found = rows(torch.empty(5, 4, device="meta"), 3)
    assert found.device.type == "meta" and found.shape == (5, 3)
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        found = line(1.0, torch.empty(4, 3).T, torch.empty(3, 4))
        assert found.fake_mode is mode and found.stride() == (1, 3)


def test_export(device, tmp_path):
    class Module(torch.nn.Module):
        def forward(self, x):
            return line(3.0, x, x + 1)

    program = torch.export.export(
        Module(), (torch.randn(8),), dynamic_shapes={"x": {0: torch.export.Dim("size", min=2)}}
    )
    assert torch.ops.portagpu_tests.line.default in [node.target for node in program.graph.nodes]
    torch.export.save(program, tmp_path / "line.pt2")
    loaded = torch.export.load(tmp_path / "line.pt2").module()
    assert loaded(torch.ones(5)).tolist() == [5.0] * 5
