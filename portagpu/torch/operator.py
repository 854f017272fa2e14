"""`portagpu.torch.op`: a function that launches kernels, as an operator of torch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, overload

import torch

from portagpu.errors import OperatorError
from portagpu.operators.declaration import Declaration, declare
from portagpu.operators.gradients import Backward, declare_backward
from portagpu.torch.autograd import Formula
from portagpu.torch.batching import sequential
from portagpu.torch.functional import is_refusal, transformable
from portagpu.torch.memory import lending_of
from portagpu.torch.results import make_results, returned
from portagpu.torch.schema import check_name, schema_of

Outputs: TypeAlias = Mapping[str, "str | Callable[..., torch.Tensor]"]
_ORIGINS: dict[str, tuple[str, str]] = {}  # of operators by name: module and qualified name of the function


class Op:
    """An operator of torch whose results are computed by kernels; calling it is calling `torch.ops.NAMESPACE.NAME`.

    ``name`` is its name with the namespace, ``declaration`` what its function declares.
    """

    def __init__(self, declaration: Declaration) -> None:
        self.name = declaration.name
        self.declaration = declaration
        self._mutates = bool(declaration.mutates)
        self._parts: list[Backward] = []
        definition = _define(declaration)
        self._overload = getattr(getattr(torch.ops, self.name.split("::")[0]), self.name.split("::")[1]).default
        definition.register_fake(functools.partial(_fake, declaration))
        definition.register_vmap(sequential(declaration, self))
        self._formula = Formula(declaration)
        if not self._mutates:
            definition.register_autograd(self._formula.backward, setup_context=self._formula.setup)
        self._transformable = transformable(declaration, self._formula, self._overload)
        functools.update_wrapper(self, declaration.function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The results for tensors and other values of the declared types: a tensor, a tuple of them, or None.

        Raises `OperatorError` for other arguments, and what the function's launches raise.
        """
        if self._mutates and torch.is_grad_enabled():
            _refuse_gradients(self.declaration, (*args, *kwargs.values()))
        try:
            return self._overload(*args, **kwargs)
        except RuntimeError as error:
            if is_refusal(error):  # once for each level of a transform: not worth a look at every call
                return self._transformable(*args, **kwargs)
            found = self._explained(str(error))
            if found is None:
                raise
            raise found from None

    def _explained(self, text: str) -> OperatorError | None:
        """Our error for one of torch's with this text; None for those of others."""
        if text.startswith(f"{self.name}() "):
            return OperatorError(text, hint=f"it takes {self._overload._schema}")
        if text.startswith(f"Could not run '{self.name}'"):
            return OperatorError(text.partition(". ")[0], hint="pass dense tensors in the memory of one device")
        if text.startswith(f"{self.name.split('::')[1]} (with implementation") and "may not alias" in text:
            return OperatorError(
                f"{self.name}: a result shares its memory with an input, or with another result",
                hint="make new tensors, as torch.empty_like(x) and x.new_empty(...) do, or name the input in `mutates`",
            )
        return None

    @overload
    def backward(self, function: Callable[..., None], /) -> Op: ...
    @overload
    def backward(self, *, outputs: Outputs | None = None, name: str | None = None) -> Callable[..., Op]: ...
    def backward(
        self,
        function: Callable[..., None] | None = None,
        *,
        outputs: Outputs | None = None,
        name: str | None = None,
    ) -> Op | Callable[..., Op]:
        """Decorate a function that computes ``grad_x`` of an input ``x`` from ``grad_out`` of a result ``out``.

        Its parameters' names say what it takes: gradients that come in, inputs and results of the operator, and the
        gradients that its kernels write. ``outputs``: how these are made, as for `op`; what is not named there is made
        like its input. An operator may have several such functions; each is called if one of its gradients is needed.
        The function becomes an operator itself, named ``name`` (by default like the function, in the same namespace),
        which has gradients if it gets a backward function in turn.

        Raises `OperatorError`.
        """
        if function is None:
            return lambda decorated: self._add_backward(decorated, outputs, name)
        return self._add_backward(function, outputs, name)

    def _add_backward(self, function: Callable[..., None], outputs: Outputs | None, name: str | None) -> Op:
        if name is None:
            own = getattr(function, "__name__", "_")
            number = f"_{len(self._parts) + 1}" if self._parts else ""
            namespace, plain = self.name.split("::")
            name = f"{namespace}::{own if own not in ('_', '<lambda>') else f'{plain}_backward{number}'}"
        check_name(name)
        part = declare_backward(self.declaration, function, name, outputs)
        operator = Op(part.declaration)
        self._formula.add(part, operator)
        self._parts.append(part)
        return operator

    def __reduce__(self) -> str:
        """Pickled by the name that its module has for it, as functions are."""
        return self.declaration.function.__qualname__

    def __repr__(self) -> str:
        return f"<portagpu operator {self.name}>"


def op(name: str, *, outputs: Outputs | None = None, mutates: str | Iterable[str] = ()) -> Callable[..., Op]:
    """Decorate a function that launches kernels: it becomes the operator ``name`` ("mylib::saxpy") of torch.

    The function's parameters are inputs and results. A parameter without annotation is a tensor; others may be int,
    float, bool, str, torch.dtype, torch.device, lists of these or of tensors, and optional (``torch.Tensor | None``).
    ``outputs``: for each result its parameter's name, and how it is made: the name of an input that has its shape and
    dtype, or a function of inputs, by their names, that returns an empty tensor (zeros, where kernels add to it); it is
    called with fake tensors, too. ``mutates``: names of inputs that the kernels write.

    The function gets tensors that need no gradients, and passes them to kernels: tensors on the CPU are used where they
    are. Results without axes come as arrays of one element. It returns nothing.

    Raises `OperatorError`.
    """
    check_name(name)

    def decorate(function: Callable[..., None]) -> Op:
        return Op(declare(name, function, {} if outputs is None else outputs, mutates))

    return decorate


def _define(declaration: Declaration) -> torch.library.CustomOpDef:
    """The operator in torch's registry. The same function may come again, as in notebooks; others' names are taken."""
    function, name = declaration.function, declaration.name
    origin = (getattr(function, "__module__", ""), getattr(function, "__qualname__", ""))
    namespace, plain = name.split("::")
    known = _ORIGINS.get(name)
    if known != origin and (known is not None or hasattr(getattr(torch.ops, namespace), plain)):
        by = f", by {'.'.join(known)}" if known else ""
        raise OperatorError(f"the operator {name} is defined already{by}", hint="choose another name or namespace")
    schema = schema_of(declaration)
    implementation = functools.partial(_run, declaration)
    try:
        found = torch.library.custom_op(name, implementation, mutates_args=declaration.mutates, schema=schema)
    except RuntimeError as error:
        raise OperatorError(f"torch does not take the operator {name}: {error}") from None
    _ORIGINS[name] = origin
    return found


def _run(declaration: Declaration, *args: Any, **kwargs: Any) -> Any:
    """The operator below autograd, with tensors that have memory."""
    values = declaration.bind(args, kwargs)
    for name, value in values.items():
        if isinstance(value, torch.Tensor | list):
            values[name] = _plain(value)
    results = make_results(declaration, values)
    for name, tensor in results.items():
        values[name] = _with_axes(tensor)
    lending = lending_of(values.values())
    if lending is None:
        declaration.launch(values)
    else:
        with lending:
            declaration.launch(values)
    return returned(results)


def _fake(declaration: Declaration, *args: Any, **kwargs: Any) -> Any:
    """The operator for tensors that have a shape and no memory."""
    return returned(make_results(declaration, declaration.bind(args, kwargs)))


def _plain(value: Any) -> Any:
    """A value as the function gets it: tensors that need no gradients, as kernels take them."""
    if isinstance(value, torch.Tensor):
        return value.detach() if value.requires_grad else value
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _with_axes(tensor: torch.Tensor | None) -> torch.Tensor | None:
    """A result that kernels can write: without axes it would be a number to them."""
    return tensor.view(1) if tensor is not None and tensor.ndim == 0 else tensor


def _refuse_gradients(declaration: Declaration, values: Iterable[Any]) -> None:
    if any(isinstance(v, torch.Tensor) and v.requires_grad for v in values):
        raise OperatorError(
            f"{declaration.name} changes `{declaration.mutates[0]}` in place, and an argument needs gradients, which "
            "such operators do not have",
            hint="call it under torch.no_grad(), pass x.detach(), or return a new tensor: `outputs`",
        )
