"""`portagpu.jax.op`: a function that launches kernels, as an operator of JAX."""

from __future__ import annotations

import functools
import inspect
import itertools
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, overload

import jax
import numpy as np

from portagpu import dtypes
from portagpu.errors import DTypeError, OperatorError, with_article
from portagpu.jax import handler
from portagpu.jax.gradients import Rule
from portagpu.operators.declaration import Declaration, Output, declare
from portagpu.operators.gradients import declare_backward
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.lending import Lending, can_lend, lent
from portagpu.runtime.execution.context import Context, current_context

Outputs: TypeAlias = Mapping[str, "str | Callable[..., Any]"]
_DTYPES = frozenset(row.name for row in (*dtypes.ALL, dtypes.BFLOAT16))
_STATIC = (int, float, bool, str)
_numbers = itertools.count()
_process = uuid.uuid4().hex  # local functions have no name that another process knows, too


class Op:
    """An operator of JAX whose results are computed by kernels. ``declaration`` is what its function declares."""

    def __init__(self, declaration: Declaration) -> None:
        self.name = declaration.name
        self.declaration = declaration
        self._static = tuple(p.name for p in declaration.inputs if p.annotation in _STATIC)
        _check_annotations(declaration)
        self._rule = Rule(forward=declaration)
        self._key = _key_of(declaration.function)
        functools.update_wrapper(self, declaration.function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The results for arrays and values of the declared types: an array, or a tuple of them.

        Kernels run on the device that is current where JAX traces the call. Raises `OperatorError` for arguments that
        do not fit; what launches raise becomes an error of JAX's, with the text of ours.
        """
        values = self._bound(args, kwargs)
        static = {name: self._constant(name, values[name]) for name in self._static}
        absent = {name: None for name, value in values.items() if value is None}
        arrays = {n: _as_array(self.name, n, v) for n, v in values.items() if n not in static and n not in absent}
        known = {**static, **absent}
        results = _shapes(self.declaration, {**known, **arrays})
        call = self._foreign(tuple(arrays), known, results)
        return self._rule.differentiable(call, tuple(arrays), known)(*arrays.values())

    def _bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        try:
            inspect.Signature(self.declaration.inputs).bind(*args, **kwargs)
        except TypeError as error:
            shown = ", ".join(self.declaration.input_names)
            raise OperatorError(f"{self.name}: {error}", hint=f"its inputs are {shown}") from None
        return self.declaration.bind(args, kwargs)

    def _constant(self, name: str, value: Any) -> Any:
        kind = next(p.annotation for p in self.declaration.inputs if p.name == name)
        if isinstance(value, jax.core.Tracer):
            raise OperatorError(
                f"{self.name}: `{name}` is declared as {kind.__name__}, and JAX traces its value",
                hint="leave the annotation away, so that it is an array, or make it static: jax.jit(static_argnames=)",
            )
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if isinstance(value, np.generic):
            value = value.item()
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise OperatorError(
                f"{self.name}: `{name}` is {with_article(type(value).__name__)}, and is declared as {kind.__name__}"
            )
        return value

    def _foreign(self, names: tuple[str, ...], known: Mapping[str, Any], results: tuple[Any, ...]) -> Any:
        """The function of arrays that has XLA call the handler."""
        context = current_context()
        key = f"{self._key}({', '.join(f'{n}={v!r}' for n, v in known.items())}) on {context.device.key}"
        handler.enter(key, functools.partial(_run, self.declaration, names, dict(known), context))
        single = len(results) == 1
        return functools.partial(
            jax.ffi.ffi_call(handler.TARGET, results[0] if single else results, vmap_method="sequential"),
            **{handler.KEY: key},
        )

    @overload
    def backward(self, function: Callable[..., None], /) -> Op: ...
    @overload
    def backward(self, *, outputs: Outputs | None = None) -> Callable[..., Op]: ...
    def backward(
        self, function: Callable[..., None] | None = None, *, outputs: Outputs | None = None
    ) -> Op | Callable[..., Op]:
        """Decorate a function that computes ``grad_x`` of an input ``x`` from ``grad_out`` of a result ``out``.

        Its parameters' names say what it takes: gradients that come in, inputs and results of the operator, and the
        gradients that its kernels write. ``outputs``: how these are made, as for `op`; what is not named there is made
        like its input. An operator may have several such functions; each is called if one of its gradients is needed.
        The function becomes an operator itself, which has gradients if it gets a backward function in turn.

        Raises `OperatorError`.
        """
        if function is None:
            return lambda decorated: self._add_backward(decorated, outputs)
        return self._add_backward(function, outputs)

    def _add_backward(self, function: Callable[..., None], outputs: Outputs | None) -> Op:
        part = declare_backward(self.declaration, function, _name_of(function), outputs)
        operator = Op(part.declaration)
        self._rule.parts.append((part, operator))
        return operator

    def __reduce__(self) -> str:
        """Pickled by the name that its module has for it, as functions are."""
        return self.declaration.function.__qualname__

    def __repr__(self) -> str:
        return f"<portagpu operator {self.name} of JAX>"


def op(*, outputs: Outputs) -> Callable[..., Op]:
    """Decorate a function that launches kernels: it becomes an operator of JAX.

    The function's parameters are inputs and results. One without annotation is an array; ``int``, ``float``, ``bool``
    and ``str`` are known when JAX traces. ``outputs``: for each result its parameter's name, and its shape and dtype:
    the name of an input that has these, or a function of inputs, by their names, that returns a
    `jax.ShapeDtypeStruct`.

    The function gets NumPy arrays of XLA's own memory: inputs can be read only, results are not initialised. It passes
    them to kernels, and returns nothing. Inputs that are None are absent.

    Raises `OperatorError`.
    """

    def decorate(function: Callable[..., None]) -> Op:
        return Op(declare(_name_of(function), function, outputs))

    return decorate


def _run(
    declaration: Declaration,
    names: tuple[str, ...],
    known: Mapping[str, Any],
    context: Context,
    arguments: list[Any],
    results: list[Any],
) -> None:
    """The operator on XLA's memory, in a thread of XLA's."""
    made = {n: a if a.ndim else a.reshape(1) for n, a in zip(declaration.output_names, results, strict=True)}
    given = dict(zip(names, arguments, strict=True))
    context.push()
    try:
        with Lending(context, _lent(context, (*given.values(), *made.values()))):
            declaration.launch({**known, **given, **made})
    finally:
        context.pop()


def _lent(context: Context, arrays: Iterable[Any]) -> dict[int, DeviceNDArray]:
    """Device arrays of XLA's memory on the host, by ``id`` of the arrays that the function gets."""
    found: dict[int, DeviceNDArray] = {}
    if can_lend(context.capabilities):
        for array in arrays:
            if not isinstance(array, np.ndarray):
                continue
            lie = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype)
            made = lent(context, lie, readonly=not array.flags.writeable) if array.size and array.ndim else None
            if made is not None:
                found[id(array)] = made
    return found


def _shapes(declaration: Declaration, values: Mapping[str, Any]) -> tuple[jax.ShapeDtypeStruct, ...]:
    return tuple(_shape(declaration.name, output, values) for output in declaration.outputs)


def _shape(name: str, output: Output, values: Mapping[str, Any]) -> jax.ShapeDtypeStruct:
    if output.make is None:
        assert output.like is not None
        found = values[output.like]
    else:
        found = output.make(**{n: values[n] for n in output.takes})
    try:
        made = jax.ShapeDtypeStruct(found.shape, found.dtype)
    except (AttributeError, TypeError):
        raise OperatorError(
            f"{name}: the output {output.name!r} is described by {with_article(type(found).__name__)}",
            hint="return jax.ShapeDtypeStruct(shape, dtype), or name an input that is an array in every call",
        ) from None
    _check_dtype(name, output.name, made.dtype)
    if any(isinstance(n, int) and n < 0 for n in made.shape):
        raise OperatorError(
            f"{name}: the output {output.name!r} has the shape {made.shape}", hint="no extent is negative"
        )
    return made


def _as_array(name: str, parameter: str, value: Any) -> Any:
    try:
        found = jax.numpy.asarray(value)
    except (TypeError, ValueError) as error:
        raise OperatorError(
            f"{name}: `{parameter}` is {with_article(type(value).__name__)}, and no array: {error}",
            hint="what is no array needs the annotation int, float, bool or str",
        ) from None
    _check_dtype(name, parameter, found.dtype)
    return found


def _check_dtype(name: str, parameter: str, dtype: Any) -> None:
    """Raise `DTypeError` for elements that kernels do not have: XLA would only tell their number."""
    if str(dtype) not in _DTYPES:
        raise DTypeError(
            f"{name}: `{parameter}` is of dtype {dtype}, which kernels do not have",
            hint="convert it, as x.astype(jax.numpy.float32) does; of keys, pass jax.random.key_data(key)",
        )


def _check_annotations(declaration: Declaration) -> None:
    for parameter in declaration.inputs:
        kind = parameter.annotation
        if kind not in (*_STATIC, parameter.empty, jax.Array, jax.Array | None, np.ndarray, Any):
            raise OperatorError(
                f"{declaration.name}: the parameter `{parameter.name}` is of type {inspect.formatannotation(kind)}",
                hint="inputs are arrays (no annotation, or jax.Array), or int, float, bool and str",
            )


def _name_of(function: Any) -> str:
    return str(getattr(function, "__qualname__", "operator")).rpartition("<locals>.")[2]


def _key_of(function: Any) -> str:
    """What XLA knows an operator by. Compiled programs are kept on disk: names must not mean another one there."""
    name = f"{function.__module__}.{function.__qualname__}"
    return f"{name} {_process} {next(_numbers)}" if "<" in name else name


__all__ = ["Op", "op"]
