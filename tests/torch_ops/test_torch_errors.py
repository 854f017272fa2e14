"""What torch's operators refuse: names, types, results, arguments."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from operator_kernels import fill  # noqa: E402

import portagpu.torch  # noqa: E402
from portagpu.errors import ArgumentTypeError, KernelTypeError, OperatorError  # noqa: E402

Tensor = torch.Tensor
pytestmark = pytest.mark.one_device


def nothing(x: Tensor, out: Tensor) -> None:
    """Kernels would be launched here."""


@pytest.mark.parametrize(
    "name", ["add", "mylib::", "::add", "my lib::add", "mylib::add::out", "mylib::add.out", 3, "ä::b"]
)
def test_names(name):
    with pytest.raises(OperatorError, match="is no name of an operator of torch"):
        portagpu.torch.op(name, outputs={"out": "x"})


def test_names_that_are_taken():
    portagpu.torch.op("portagpu_tests::taken", outputs={"out": "x"})(nothing)
    portagpu.torch.op("portagpu_tests::taken", outputs={"out": "x"})(nothing)  # a notebook's cell that runs again

    def other(x, out):
        pass

    with pytest.raises(OperatorError, match=r"portagpu_tests::taken is defined already, by .*nothing"):
        portagpu.torch.op("portagpu_tests::taken", outputs={"out": "x"})(other)
    with pytest.raises(OperatorError, match="aten::sin is defined already"):
        portagpu.torch.op("aten::sin", outputs={"out": "x"})(nothing)


def annotated(kind, default=None):
    def function(x, n, out):
        pass

    function.__annotations__["n"] = kind
    function.__defaults__ = None
    return function


@pytest.mark.parametrize("kind", [tuple[int, ...], dict, np.ndarray, complex, list[list[int]]])
def test_types(kind):
    with pytest.raises(OperatorError, match=r"the parameter `n` is of type .*, which operators of torch do not have"):
        portagpu.torch.op("portagpu_tests::types", outputs={"out": "x"})(annotated(kind))


def test_defaults_and_changed_numbers():
    def function(x, out, n: int = (1, 2)):
        pass

    with pytest.raises(OperatorError, match=r"the default \(1, 2\), which no schema has"):
        portagpu.torch.op("portagpu_tests::types", outputs={"out": "x"})(function)
    with pytest.raises(OperatorError, match="`n` of type int is in `mutates`"):
        portagpu.torch.op("portagpu_tests::types", outputs={"out": "x"}, mutates="n")(annotated(int))


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda x: 3, "the output 'out' was made as an int"),
        (lambda x: (x.clone(), x.clone()), "the output 'out' was made as a tuple"),
        (lambda x: x, "the output 'out' is an input"),
        (lambda x: torch.empty(3, device="meta"), "the output 'out' is on meta, and the inputs are on cpu"),
    ],
)
def test_results(device, make, text):
    wrong = portagpu.torch.op("portagpu_tests::results", outputs={"out": make})(nothing)
    with pytest.raises(OperatorError, match=text):
        wrong(torch.ones(3))


def test_results_like_what_is_no_tensor(device):
    @portagpu.torch.op("portagpu_tests::like", outputs={"out": "x"})
    def like(x: Tensor | None, out):
        pass

    with pytest.raises(OperatorError, match="'out' is like `x`, which is a NoneType"):
        like(None)


def test_functions_that_return_something(device):
    @portagpu.torch.op("portagpu_tests::returns", outputs={"out": "x"})
    def returns(x, out):
        return out

    with pytest.raises(OperatorError, match="the function returned a Tensor"):
        returns(torch.ones(3))


def test_arguments(device):
    @portagpu.torch.op("portagpu_tests::arguments", outputs={"out": "x"})
    def arguments(x: Tensor, factor: float, out: Tensor) -> None:
        fill.forall(out.numel())(out, factor)

    for call in (
        lambda: arguments(np.ones(3), 1.0),
        lambda: arguments(torch.ones(3)),
        lambda: arguments(torch.ones(3), "a"),
        lambda: arguments(torch.ones(3), 1.0, 2.0),
        lambda: arguments(torch.ones(3), y=1.0),
    ):
        with pytest.raises(OperatorError, match=r"(?s)portagpu_tests::arguments.*it takes portagpu_tests::arguments"):
            call()
    with pytest.raises(ArgumentTypeError, match=r"(?s)layout.*to_dense"):
        sparse = portagpu.torch.op("portagpu_tests::sparse", outputs={"out": lambda x: torch.empty(3)})(
            lambda x, out: fill.forall(3)(x, 1)
        )
        sparse(torch.ones(3).to_sparse())


def test_errors_of_kernels_are_those_of_kernels(device):
    @portagpu.torch.op("portagpu_tests::kernel_errors", outputs={"out": "x"})
    def kernel_errors(x, out):
        fill[1, 32](out, "text" if x.ndim > 1 else 1j)

    with pytest.raises(KernelTypeError):
        kernel_errors(torch.ones(3))
    with pytest.raises(ArgumentTypeError):
        kernel_errors(torch.ones(3, 3))


@pytest.mark.parametrize("wrong", [None, 1, 2.0, int])
def test_names_of_what_changes(wrong):
    with pytest.raises(OperatorError, match=r"`mutates` is an? .*, not names") as caught:
        portagpu.torch.op("portagpu_tests::changes", outputs={"out": "x"}, mutates=wrong)(nothing)
    assert "mutates='x'" in caught.value.hint
    with pytest.raises(OperatorError, match="`mutates` names 'out', which is no input") as caught:
        portagpu.torch.op("portagpu_tests::changes", outputs={"out": "x"}, mutates="out")(nothing)
    assert "did you mean" not in caught.value.hint


@pytest.mark.parametrize("make", [lambda x: x[:], lambda x: x.view(-1), lambda x: x.T])
def test_results_that_are_views_of_inputs(make):
    viewing = portagpu.torch.op("portagpu_tests::viewing", outputs={"out": make})(nothing)
    with pytest.raises(OperatorError, match="portagpu_tests::viewing: a result shares its memory") as caught:
        viewing(torch.zeros(3, 3))
    assert "new_empty" in caught.value.hint


def test_nested_tensors():
    made = portagpu.torch.op("portagpu_tests::nested", outputs={"out": "x"})(nothing)
    with pytest.warns(UserWarning, match="nested"):
        ragged = torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)])
    with pytest.raises(OperatorError, match="Could not run 'portagpu_tests::nested'") as caught:
        made(ragged)
    assert "\n" not in caught.value.message and "dense tensors" in caught.value.hint


def test_batches_of_nothing():
    one = portagpu.torch.op("portagpu_tests::batched", outputs={"out": lambda x, y: x.new_empty(2, *x.shape)})
    several = portagpu.torch.op("portagpu_tests::batched_both", outputs={"out": "x", "last": lambda y: y.new_empty(7)})

    def first(x, y, out):
        pass

    def both(x, y, out, last):
        pass

    x, y = torch.zeros(0, 3, 4), torch.zeros(5, 0, 6)
    assert torch.vmap(one(first), in_dims=(0, 1))(x, y).shape == (0, 2, 3, 4)
    assert [t.shape for t in torch.vmap(several(both), in_dims=(0, 1))(x, y)] == [(0, 3, 4), (0, 7)]
