"""The host side of the reference: functions, classes and modules with their signatures and docstrings."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from portagpu import cuda, errors
from portagpu.dialect.names import Intrinsic, Namespace, VectorMaker
from portagpu.runtime.execution.context import Context
from portagpu.types import Type
from tools.docstrings import first_lines, signature
from tools.entries import entry

_INSIDE = Intrinsic | Namespace | VectorMaker
# of the package itself: programs have no use for them
_INTERNAL = frozenset(
    (
        *("is_device_function", "declared", "abandon", "answers", "adopt", "keep", "owns", "ready", "finish_copies"),
        *("take_orphans", "unusable", "release", "allocate", "bind_arguments", "captured", "forget", "identity"),
        *("overload", "prepare", "program", "source", "for_host_array", "is_alive", "is_named"),
    )
)
# functions by what they are for; those that nobody put here come last
_GROUPS: dict[str, tuple[str, ...]] = {
    "Kernels and functions": ("jit", "vectorize", "guvectorize"),
    "Arrays": (
        *("to_device", "device_array", "device_array_like", "pinned_array", "pinned_array_like", "mapped_array"),
        *("mapped_array_like", "managed_array", "mapped", "pinned", "as_cuda_array", "is_cuda_array", "from_dlpack"),
        "from_cuda_array_interface",
    ),
    "Devices": (
        *("list_devices", "select_device", "get_current_device", "current_context", "is_available", "detect"),
        *("require_context", "close", "cuda_error", "is_float16_supported", "is_bfloat16_supported"),
        "is_supported_version",
    ),
    "Streams and events": (
        *("stream", "event", "synchronize", "event_elapsed_time", "default_stream", "legacy_default_stream"),
        *("per_thread_default_stream", "get_current_stream", "external_stream", "defer_cleanup"),
        *("profile_start", "profile_stop", "profiling"),
    ),
    "Types of values": ("typeof", "from_dtype", "as_dtype", "UniTuple"),
    "Other functions": (),
}
# the classes that programs meet first
_CLASSES = ("Dispatcher", "DeviceNDArray", "Stream", "Event", "Device", "current_context()")
_MODULES = ("api", "args", "cudadrv", "devicearray", "errors", "random", "runtime", "types", "vector_types")


def sections() -> dict[str, Any]:
    """Every name of the host side."""
    return {n: getattr(cuda, n) for n in cuda.__all__ if not isinstance(getattr(cuda, n), _INSIDE)}


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


def _groups(functions: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Functions by group, in the order of `_GROUPS`."""
    placed = {name for names in _GROUPS.values() for name in names}
    found = {title: {n: functions[n] for n in names if n in functions} for title, names in _GROUPS.items()}
    found["Other functions"] = {n: functions[n] for n in sorted(functions) if n not in placed}
    return {title: chosen for title, chosen in found.items() if chosen}


def parts() -> Iterator[str]:
    """The sections of the document."""
    found = sections()
    functions = {n: v for n, v in found.items() if inspect.isfunction(v)}
    classes = {n: v for n, v in found.items() if inspect.isclass(v) and not issubclass(v, BaseException)}
    for title, chosen in _groups(functions).items():
        yield f"## {title}\n"
        for name, function in chosen.items():
            yield from entry("reference.md", "cuda.", name, function)
    yield "## Classes\n"
    shown = {n: v for n, v in classes.items() if n == v.__name__ or v not in classes.values() or not n.islower()}
    shown["current_context()"] = Context
    for name in (*_CLASSES, *sorted(set(shown) - set(_CLASSES))):
        rows = "".join(f"\n- {label}: {text}" for label, text in members(shown[name]))
        yield f"### {name}\n\n{first_lines(shown[name])}\n{rows}\n"
    yield "## Types and values\n"
    types = [n for n, v in found.items() if isinstance(v, Type)]
    yield f"Types of numbers, for signatures and as dtypes: {', '.join(f'`{n}`' for n in types)}.\n"
    known = {*functions, *classes, *types}
    rest = {n: v for n, v in found.items() if n not in known and not isinstance(v, ModuleType)}
    yield "\n".join(f"- **`cuda.{n}`** {first_lines(v)}" for n, v in rest.items()) + "\n"
    yield "## Modules\n"
    for name in _MODULES:
        yield from _module(name)


def _module(name: str) -> Iterator[str]:
    module = importlib.import_module(f"portagpu.cuda.{name}")
    yield f"### cuda.{name}\n\n{first_lines(module)}\n"
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
