"""What functions declare as operators, and what is wrong with declarations: before any other library sees them."""

import inspect
import sys

import pytest

import portagpu
from portagpu.errors import MissingPackageError, NoGradientError, OperatorError
from portagpu.operators.declaration import declare
from portagpu.operators.gradients import check_complete, declare_backward


def axpy(a: float, x, y, out, beta: float = 1.0):
    """Does nothing."""


FORWARD = declare("axpy", axpy, {"out": "x"})


def test_inputs_and_outputs():
    assert FORWARD.input_names == ("a", "x", "y", "beta")
    assert FORWARD.output_names == ("out",)
    assert FORWARD.bind((1.0, "x"), {"y": "y"}) == {"a": 1.0, "x": "x", "y": "y", "beta": 1.0}
    made = declare("two", lambda x, n, first, second: None, {"second": "x", "first": lambda n: n})
    assert made.output_names == ("second", "first")
    assert made.outputs[1].takes == ("n",)
    assert made.input_names == ("x", "n")


def test_a_function_that_returns_something():
    made = declare("wrong", lambda x, out: x, {"out": "x"})
    with pytest.raises(OperatorError, match="the function returned an int"):
        made.launch({"x": 3, "out": 4})


@pytest.mark.parametrize(
    "function, outputs, mutates, text",
    [
        (axpy, {"result": "x"}, (), "`outputs` names 'result', which is no parameter"),
        (axpy, {"out": "z"}, (), "made from 'z', which is no input"),
        (axpy, {"out": "out"}, (), "made from 'out', which is no input"),
        (axpy, {"out": lambda x, w: x}, (), "made from 'w', which is no input"),
        (axpy, {"out": 3}, (), "the output 'out' is an int"),
        (axpy, {"beta": "x"}, (), "the result `beta` has a default value"),
        (axpy, "x", (), "`outputs` is a str, not a dict"),
        (axpy, {"out": "x"}, ("w",), "`mutates` names 'w', which is no input"),
        (axpy, {"out": "x"}, "out", "`mutates` names 'out', which is no input"),
        (axpy, {}, (), "neither results nor inputs that it changes"),
        (lambda *x: None, {"x": "x"}, (), "has no name of its own for callers"),
        (lambda x, /, out: None, {"out": "x"}, (), "has no name of its own for callers"),
        (lambda out, **x: None, {"out": "x"}, (), "has no name of its own for callers"),
        (3, {"out": "x"}, (), "declared by a Python function, not by an int"),
    ],
)
def test_wrong_declarations(function, outputs, mutates, text):
    with pytest.raises(OperatorError, match=text):
        declare("wrong", function, outputs, mutates)


def test_annotations_that_nobody_can_evaluate():
    def function(x: "nowhere.Tensor", out):  # noqa: F821
        pass

    with pytest.raises(OperatorError, match="annotation cannot be evaluated"):
        declare("wrong", function, {"out": "x"})


def test_backward_functions_by_names():
    def backward(a, x, grad_out, grad_x, grad_y):
        pass

    part = declare_backward(FORWARD, backward, "axpy_backward", {"grad_y": "grad_out"})
    assert part.kept == ("a", "x")
    assert part.gives == {"grad_x": "x", "grad_y": "y"}
    assert part.is_needed(["y"]) and not part.is_needed(["a"])
    assert part.declaration.inputs[0].annotation is float
    assert part.declaration.inputs[1].annotation is inspect.Parameter.empty
    check_complete(FORWARD, ["x", "y"], [part])
    with pytest.raises(NoGradientError, match="computes the gradient of `a`"):
        check_complete(FORWARD, ["a"], [part])


@pytest.mark.parametrize(
    "function, outputs, text",
    [
        (lambda x, grad_out: None, None, "computes no gradient"),
        (lambda grad_out, grad_x: None, None, "nothing says the shape of `grad_x`"),
        (lambda x, grad_outs, grad_x: None, None, "`grad_outs` is no name of axpy"),
        (lambda x, grad_out, grad_x: None, {"x": "grad_out"}, "names 'x', which is no gradient"),
    ],
)
def test_wrong_backward_functions(function, outputs, text):
    with pytest.raises(OperatorError, match=text):
        declare_backward(FORWARD, function, "axpy_backward", outputs)


def test_names_that_mean_two_things():
    forward = declare("odd", lambda grad_out, x, out: None, {"out": "x"})
    with pytest.raises(OperatorError, match="may be a value of the forward function or the gradient of a result"):
        declare_backward(forward, lambda grad_out, x, grad_x: None, "odd_backward", None)


def test_operators_that_change_inputs_have_no_gradients():
    forward = declare("change", lambda x: None, {}, "x")
    with pytest.raises(OperatorError, match="changes its input `x`"):
        declare_backward(forward, lambda x, grad_x: None, "change_backward", None)


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_libraries_that_are_not_there(monkeypatch, library):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.delitem(sys.modules, f"portagpu.{library}", raising=False)
    monkeypatch.delitem(vars(portagpu), library, raising=False)
    with pytest.raises(MissingPackageError, match=rf"(?s)not installed.*pip install '?{library}"):
        getattr(portagpu, library)
    assert library not in dir(portagpu)
