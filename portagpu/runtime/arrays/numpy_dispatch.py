"""NumPy's dispatch protocols for device arrays; higher layers register what they implement."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from portagpu.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    DTypeError,
    MatrixShapeError,
    OutOfBoundsError,
    PortaGPUError,
    ShapeError,
    ShapeTypeError,
)
from portagpu.runtime.arrays import nearest
from portagpu.runtime.arrays.facts import are_plain
from portagpu.runtime.execution.context import Context

_NO_VALUE = np._NoValue
"""The value that NumPy passes on for a keyword that was not given."""
_functions: dict[str, Callable[..., Any]] = {}
_keywords: dict[str, frozenset[str]] = {}
ON_SHAPES = frozenset({"shape", "ndim", "size"})  # NumPy's own functions do: they only look at attributes

ELEMENTWISE: dict[str, Callable[..., Any]] = {}
"""Of NumPy's functions of elements, what they call without keywords: operators look here first."""

IN_PLACE: dict[str, Callable[..., Any]] = {}
"""Of those of two operands, what ``f(x, y, out=x)`` calls, with both."""


class _Any(frozenset[str]):
    """Keywords of all names."""

    def __contains__(self, name: object) -> bool:
        return True


ANY_KEYWORDS = _Any()
"""For functions that pass keywords on to a program's own."""
_loaders: list[Callable[[], Any]] = []
_loading = threading.RLock()

CALLING = frozenset("apply_along_axis apply_over_axes piecewise pad array2string save savetxt savez".split())
"""Functions that call a program's own, whose errors are the program's."""

METHODS = frozenset({"transpose", "ravel", "reshape", "squeeze", "copy"})  # of device arrays, with NumPy's arguments


def register(name: str, function: Callable[..., Any], keywords: frozenset[str] = frozenset({"out"})) -> None:
    """Let ``numpy.<name>`` on device arrays call ``function``, which takes these keywords.

    ``ufunc`` stands for all ufuncs that have no function of their own, ``ufunc.reduce`` for the method of all: these
    take the ufunc before its operands.
    """
    _functions[name] = function
    _keywords[name] = keywords


def load_later(load: Callable[[], Any]) -> None:
    """Call ``load``, which registers functions, when one is asked for that is not there: few programs ask."""
    _loaders.append(load)


def registered(name: str) -> Callable[..., Any] | None:
    """What ``numpy.<name>`` calls on device arrays; None where there is nothing."""
    found = _functions.get(name)
    if found is None:
        with _loading:  # another thread may be about to register it
            found = _functions.get(name)
            while found is None and _loaders:
                _loaders.pop()()
                found = _functions.get(name)
    return found


def unavailable(what: str, name: str, *, elementwise: bool = False) -> DTypeError:
    """The error for an operation that device arrays do not have; ``name`` is NumPy's, for the hint."""
    return DTypeError(
        f"{what} is not available for device arrays", hint=nearest.hint_for(name, elementwise=elementwise)
    )


def call(name: str, *args: Any, **kwargs: Any) -> Any:
    """Call a registered function. Raises `DTypeError` where there is none, or for keywords that it does not take."""
    function = _functions.get(name) or registered(name)
    if function is None:
        raise unavailable(f"numpy.{name}", name, elementwise=isinstance(getattr(np, name, None), np.ufunc))
    for keyword in kwargs:
        if keyword not in _keywords[name]:
            raise DTypeError(
                f"numpy.{name} of device arrays takes no {keyword}=",
                hint=f"it takes only {' and '.join(f'{k}=' for k in sorted(_keywords[name])) or 'the array'}",
            )
    return function(*args, **kwargs)


def dispatch(context: Context, ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`__array_ufunc__` of a context's device arrays."""
    if not kwargs and method == "__call__" and (elementwise := ELEMENTWISE.get(ufunc.__name__)) is not None:
        return elementwise(*inputs)
    with context:  # where operands of the host go
        return _dispatched(ufunc, method, inputs, kwargs)


def _dispatched(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name = ufunc.__name__
    if method != "__call__":
        if registered(f"ufunc.{method}") is None:
            raise unavailable(f"numpy.{name}.{method}", f"{name}.{method}")
        return call(f"ufunc.{method}", ufunc, *inputs, **kwargs)
    out = kwargs.pop("out", None)
    if out is not None:
        kwargs["out"] = out[0] if len(out) == 1 else out
    function = registered(name)
    if function is None and registered("ufunc") is not None:
        return call("ufunc", ufunc, *inputs, **kwargs)
    return call(name, *inputs, **kwargs)


@lru_cache(512)
def _parameters(function: Callable[..., Any]) -> tuple[tuple[str, ...], int]:
    """NumPy's names of a function's positional parameters, and how many of the first have no default."""
    try:
        found = [p for p in inspect.signature(function).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    except ValueError:  # in C, and without
        return (), 0
    return tuple(p.name for p in found), sum(p.default is p.empty for p in found)


def _by_position(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], Any]:
    """The same call with what has no default in its place: ``numpy.quantile(x, q=0.5)``."""
    names, count = _parameters(function)
    given = dict(zip(names, args, strict=False))
    if len(args) > len(names) or given.keys() & kwargs.keys():
        return args, kwargs
    given.update(kwargs)
    first = names[: max(count, len(args))]
    if not all(name in given for name in first):
        return args, kwargs
    return tuple(given.pop(name) for name in first), given


def dispatch_function(function: Any, args: Any, kwargs: Any) -> Any:
    """`__array_function__` of device arrays, whose context is the current one: operands of the host go there."""
    name = f"{function.__module__}.{function.__name__}".removeprefix("numpy.")
    if kwargs:  # NumPy's functions pass on what they were not given
        kwargs = {keyword: value for keyword, value in kwargs.items() if value is not _NO_VALUE}
    if name in ON_SHAPES:
        return getattr(np, name).__wrapped__(*args, **kwargs)
    if name in METHODS and args and name not in _functions:
        return getattr(args[0], name)(*args[1:], **kwargs)
    if registered(name) is not None and not _keywords[name].issuperset(kwargs):
        args, kwargs = _by_position(function, args, kwargs)
    try:
        return call(name, *args, **kwargs)
    except (TypeError, ValueError, IndexError, ArithmeticError) as error:
        if isinstance(error, PortaGPUError) or name in CALLING:
            raise
        raise _of_arguments(error)(f"numpy.{name}: {error}") from error


def _of_arguments(error: Exception) -> type[PortaGPUError]:
    """What Python's and NumPy's errors become that come of arguments which no function of ours looks at."""
    if isinstance(error, np.linalg.LinAlgError):
        return MatrixShapeError
    if isinstance(error, IndexError):
        return OutOfBoundsError
    return ArgumentTypeError if isinstance(error, TypeError) else ArgumentValueError


# functions that only make views, under the names of their methods
register("transpose", lambda a, axes=None: a.transpose(axes), frozenset({"axes"}))
register(
    "reshape",
    lambda a, shape, order="C", *, copy=None: a.reshape(shape, order=order, copy=copy),
    frozenset({"shape", "order", "copy"}),
)
register("ravel", lambda a, order="C": a.ravel(order), frozenset({"order"}))
register("squeeze", lambda a, axis=None: a.squeeze(axis), frozenset({"axis"}))
register("broadcast_to", lambda array, shape, subok=False: array.broadcast_to(shape), frozenset({"shape", "subok"}))


def _swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    axes = list(range(a.ndim))
    try:
        axes[axis1], axes[axis2] = axes[axis2], axes[axis1]
    except IndexError as error:
        raise OutOfBoundsError(f"axes {axis1} and {axis2} are not both of an array with {a.ndim} axes") from error
    return a.transpose(axes)


def _matrix_transpose(x: Any) -> Any:
    if x.ndim < 2:
        raise ShapeError(f"a matrix has two axes, this array {x.ndim}", hint="reshape it first")
    return _swapaxes(x, -1, -2)


def _on_axes(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy's that only makes views, by way of a host array of the same shape that is never touched."""

    def view(a: Any, *args: Any, **kwargs: Any) -> Any:
        asked = (function.__name__, args) if not kwargs and are_plain(args) else None
        try:
            return a._seen(asked, lambda shadow: function(shadow, *args, **kwargs))
        except (ValueError, TypeError, IndexError) as error:
            kind: type[ShapeError] = ShapeTypeError if isinstance(error, TypeError) else ShapeError
            kind = OutOfBoundsError if isinstance(error, IndexError) else kind  # NumPy's AxisError is both
            raise kind(f"numpy.{function.__name__} of an array of shape {a.shape}: {error}") from None

    return view


register("expand_dims", _on_axes(np.expand_dims), frozenset({"axis"}))
register("moveaxis", _on_axes(np.moveaxis), frozenset({"source", "destination"}))
register("rollaxis", _on_axes(np.rollaxis), frozenset({"axis", "start"}))
register("save", lambda file, arr, **options: np.save(file, arr.copy_to_host(), **options), frozenset({"allow_pickle"}))
register("swapaxes", _swapaxes, frozenset({"axis1", "axis2"}))
register("matrix_transpose", _matrix_transpose, frozenset())
register("linalg.matrix_transpose", _matrix_transpose, frozenset())
