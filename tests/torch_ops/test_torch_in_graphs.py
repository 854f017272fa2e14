"""Operators of torch in `cuda.graph()`: tensors of the host are refused at the user's line, whoever calls them."""

import linecache

import pytest

torch = pytest.importorskip("torch")

from operator_kernels import axpy  # noqa: E402

import portagpu.torch  # noqa: E402
from portagpu import cuda  # noqa: E402
from portagpu.errors import GraphError  # noqa: E402

pytestmark = [pytest.mark.one_device, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@portagpu.torch.op("portagpu_tests::in_graph", outputs={"out": "x"})
def twice(x, out):
    axpy.forall(out.numel())(1.0, x, x, out)


@twice.backward
def twice_backward(grad_out, x, grad_x):
    axpy.forall(grad_x.numel())(1.0, grad_out, grad_out, grad_x)


@portagpu.torch.op("portagpu_tests::in_graph_in_place", mutates="x")
def clear(x):
    axpy.forall(x.numel())(-1.0, x, x, x)


def by_compiler(x):  # by compiler: what torch makes of a function has the line where it begins
    return twice(x.sin()) * 2


CALLS = {
    "eager": lambda x: twice(x),  # eager
    "in place": lambda x: clear(x),  # in place
    "by vmap": lambda x: torch.vmap(twice)(x.reshape(8, -1)),  # by vmap
    "by grad": lambda x: torch.func.grad(lambda y: twice(y).sum())(x),  # by grad
    "by compiler": torch.compile(by_compiler, backend="aot_eager"),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_users_line_is_named_each_time(device, name):
    """Device arrays of lent memory are kept by how it lies, and the second call makes none."""
    x = torch.ones(8000)
    CALLS[name](x)
    for _ in range(2):
        graph = cuda.graph()
        with pytest.raises(GraphError, match="cannot be part of a graph") as caught, graph:
            CALLS[name](x)
        span = caught.value.span
        assert span.filename == __file__
        line = linecache.getline(__file__, span.line)
        assert f"# {name}" in line or "forall" in line  # of the call, or in the operator's function
        with pytest.raises(GraphError, match="is not recorded"):
            graph.launch()
