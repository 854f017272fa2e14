"""Functions that stand in place of others, under every name that modules have for these, and the way back.

A module that did ``from numpy import dot`` has the function under a name of its own. So names are found by what they
are bound to: the very object, in any module. Names elsewhere (in classes, closures, default arguments, containers)
stay as they are; one that was taken from a module meanwhile passes its calls on for good.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

Serve = Callable[[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
_KEPT = ("portagpu.", "scipy.linalg._")  # modules whose names stay: SciPy's remember what they look up


class Replacement:
    """What is called in place of a function: whoever serves it decides who computes; else it is the function itself."""

    def __init__(self, title: str, original: Any, serve: Serve) -> None:
        own = getattr(original, "__module__", title.rpartition(".")[0])
        self.__dict__.update(_title=title, _original=original, _serve=serve, __module__=own)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, or what stands for it."""
        return self._serve(self._title, self._original, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_original"], name)

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        """The function's own text."""
        return getattr(self._original, "__doc__", None)

    def __repr__(self) -> str:
        return repr(self._original)

    def __reduce__(self) -> tuple[Any, ...]:
        module, _, name = self._title.rpartition(".")
        return _named, (module, name)


def _named(module: str, name: str) -> Any:
    """The function of a name, for pickles that were made while it was replaced."""
    return getattr(importlib.import_module(module), name)


class Names:
    """The names of functions in all modules, while replacements stand in for them."""

    def __init__(self) -> None:
        self._by_original: dict[int, Replacement] = {}
        self._namespaces: dict[int, dict[str, Any]] = {}  # where something was replaced, also of modules that are gone

    def install(self, replacements: Mapping[str, tuple[Any, Serve]]) -> None:
        """Replace functions, by their full names, wherever modules name them."""
        for title, (original, serve) in replacements.items():
            if not isinstance(original, Replacement):
                self._by_original.setdefault(id(original), Replacement(title, original, serve))
        for namespace in _namespaces():
            if _exchange(namespace, self._by_original):
                self._namespaces[id(namespace)] = namespace

    def restore(self) -> None:
        """Bind every name to the very function that it had; also those of modules that were imported meanwhile."""
        found = {id(one): one._original for one in self._by_original.values()}
        everywhere = {**self._namespaces, **{id(namespace): namespace for namespace in _namespaces()}}
        for namespace in everywhere.values():
            _exchange(namespace, found)
        self._by_original.clear()
        self._namespaces.clear()


def _exchange(namespace: dict[str, Any], others: Mapping[int, Any]) -> bool:
    """Bind the names of some objects, by these objects' `id`, to others; whether there are such names."""
    if others.keys().isdisjoint(map(id, list(namespace.values()))):  # of a process's 20,000 names nearly all
        return False
    for name, value in list(namespace.items()):
        other = others.get(id(value))
        if other is not None:
            namespace[name] = other
    return True


def _namespaces() -> Iterator[dict[str, Any]]:
    found: dict[str, Any] = dict(sys.modules)  # programs put other objects there, too
    for title, module in found.items():
        if isinstance(module, ModuleType) and not title.startswith(_KEPT):
            yield vars(module)
