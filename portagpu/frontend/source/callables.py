"""Callables that kernels call as device functions: dispatchers, plain Python functions, functions of the library."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property
from typing import Any

from portagpu.frontend.source.capture import FunctionSource, capture, signature_of
from portagpu.types import Signature


class DeviceCallable:
    """Base of objects that kernels can call as device functions; `portagpu.cuda` has the concrete class."""

    __name__: str
    is_device_function: bool
    is_inlined: bool = False  # whether the driver's compiler is told to make it a part of its callers
    declared: tuple[Signature, ...] = ()

    @property
    def identity(self) -> object:
        """What tells this function from others, whatever object wraps it."""
        raise NotImplementedError

    @property
    def signature(self) -> inspect.Signature:
        """Parameters with their defaults."""
        raise NotImplementedError

    def captured(self, ctx: Any) -> tuple[FunctionSource, list[Any]]:
        """The source, and values for parameters beyond those of `signature`. ctx: the caller's `FunctionState`."""
        raise NotImplementedError


class PythonFunction(DeviceCallable):
    """A Python function as a device function."""

    is_device_function = True
    py_func: Callable[..., Any]

    def __init__(self, function: Callable[..., Any]) -> None:
        self.py_func = function
        self.__name__ = function.__name__

    @property
    def identity(self) -> object:
        """The Python function."""
        return self.py_func

    @property
    def signature(self) -> inspect.Signature:
        """Parameters with their defaults."""
        return signature_of(self.py_func)

    @property
    def source(self) -> FunctionSource:
        """Its text."""
        return capture(self.py_func)

    def captured(self, ctx: Any) -> tuple[FunctionSource, list[Any]]:
        """The source; closures are constants."""
        return self.source, []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the Python function, on the host."""
        return self.py_func(*args, **kwargs)


def undecorated(function: Any) -> Any:
    """The Python function in what ``@njit`` of an installed numba made; anything else as it is."""
    if not type(function).__module__.startswith("numba."):
        return function  # not asked for attributes: modules that suggest names take long to say no
    found = getattr(function, "py_func", None)
    return function if found is None else found


class LibraryFunction(PythonFunction):
    """A function of our own in the dialect: NumPy's and Python's compound functions are written so."""

    @cached_property
    def source(self) -> FunctionSource:
        """Its text, read once."""
        return capture(self.py_func)
