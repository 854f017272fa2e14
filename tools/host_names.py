"""The host side of the reference: functions, classes and modules with their signatures and docstrings."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from portagpu import cuda, errors
from portagpu.frontend.vocabulary import Intrinsic, Namespace, VectorMaker
from portagpu.runtime.context import Context
from portagpu.types import Type

_INSIDE = Intrinsic | Namespace | VectorMaker
# of the package itself: programs have no use for them
_INTERNAL = frozenset(
    (
        *("is_device_function", "declared", "abandon", "answers", "adopt", "keep", "owns", "ready", "finish_copies"),
        *("take_orphans", "unusable", "release", "allocate", "bind_arguments", "captured", "forget", "identity"),
        *("overload", "prepare", "program", "source", "for_host_array", "is_alive"),
    )
)
_MODULES = ("api", "args", "cudadrv", "devicearray", "errors", "random", "runtime", "types", "vector_types")


def sections() -> dict[str, Any]:
    """Every name of the host side."""
    return {n: getattr(cuda, n) for n in cuda.__all__ if not isinstance(getattr(cuda, n), _INSIDE)}


def signature(value: Any) -> str:
    """Parameters without annotations."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    shown = []
    for parameter in found.parameters.values():
        default = parameter.default
        if isinstance(default, type) and default is not inspect.Parameter.empty:
            default = _Named(f"np.{default.__name__}" if issubclass(default, np.generic) else default.__name__)
        shown.append(parameter.replace(annotation=inspect.Parameter.empty, default=default))
    return str(inspect.Signature(shown))


class _Named:
    """A default whose repr is the name that programs write."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


def first_lines(value: Any) -> str:
    """A docstring as one paragraph of Markdown."""
    text = inspect.getdoc(value) or ""
    prose = text.partition("\n::\n")[0].rstrip(": \n")
    return " ".join(prose.split()).replace("|", "\\|").replace("``", "`")


def members(cls: type) -> Iterator[tuple[str, str]]:
    """Documented public methods and properties of a class."""
    for name in dir(cls):
        value = inspect.getattr_static(cls, name)
        inherited = any(hasattr(base, name) for base in cls.__bases__ if base in sections().values())
        if name.startswith("_") or inherited or name in _INTERNAL or not inspect.getdoc(value):
            continue
        if isinstance(value, property):
            yield f"`.{name}`", first_lines(value)
        elif inspect.isfunction(value) and not (name == "to_device" and cls in (cuda.In, cuda.Out, cuda.InOut)):
            shown = re.sub(r"^\(self(, )?", "(", signature(value))
            yield f"`.{name}{shown}`", first_lines(value)


def parts() -> Iterator[str]:
    """The sections of the document."""
    found = sections()
    functions = {n: v for n, v in found.items() if inspect.isfunction(v)}
    classes = {n: v for n, v in found.items() if inspect.isclass(v) and not issubclass(v, BaseException)}
    yield "## On the host\n\n### Functions\n"
    yield "\n".join(f"- **`cuda.{n}{signature(v)}`** {first_lines(v)}" for n, v in sorted(functions.items())) + "\n"
    yield "### Classes\n"
    for name, cls in {**classes, "current_context()": Context}.items():
        rows = "".join(f"\n- {label}: {text}" for label, text in members(cls))
        yield f"**`cuda.{name}`** {first_lines(cls)}\n{rows}\n"
    yield "### Types and values\n"
    types = [n for n, v in found.items() if isinstance(v, Type)]
    yield f"Types of numbers, for signatures and as dtypes: {', '.join(f'`{n}`' for n in types)}.\n"
    known = {*functions, *classes, *types}
    rest = {n: v for n, v in found.items() if n not in known and not isinstance(v, ModuleType)}
    yield "\n".join(f"- **`cuda.{n}`** {first_lines(v)}" for n, v in rest.items()) + "\n"
    yield "### Modules\n"
    for name in _MODULES:
        yield from _module(name)


def _module(name: str) -> Iterator[str]:
    module = importlib.import_module(f"portagpu.cuda.{name}")
    yield f"**`cuda.{name}`** {first_lines(module)}\n"
    public = [n for n in getattr(module, "__all__", ()) if not n.startswith("_") and n not in cuda.__all__]
    if name == "errors":
        rows = [f"`{n}`" if n in errors.__all__ else f"`{n}` (= `{getattr(module, n).__name__}`)" for n in public]
        yield f"{', '.join(rows)}. The tree of them: `help(portagpu.errors)`.\n"
    elif name in ("types", "vector_types"):
        yield f"{', '.join(f'`{n}`' for n in public)}.\n" if public else "The same names as `cuda` has.\n"
    elif public:
        lines = []
        for n in public:
            value = getattr(module, n)
            value = getattr(value, "py_func", value)
            routine = inspect.isroutine(value) or inspect.isclass(value)
            meaning = first_lines(value) if routine or inspect.ismodule(value) else f"`{value}`"
            lines.append(f"- `{name}.{n}{signature(value) if routine else ''}`: {meaning}")
        yield "\n".join(lines) + "\n"
