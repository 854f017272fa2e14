"""The stubs (``.pyi``) of modules whose names are made when they are imported, for type checkers and editors.

Names of kernels come from the same table as the reference, those of the host from the modules that have them: a stub
says where, and checkers read the types there.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType

from portagpu import cuda
from portagpu.cuda import api, types, vector_types
from portagpu.dialect.names import ClusterGroup, Namespace, VectorMaker
from portagpu.dialect.reference.core import GROUPS
from portagpu.dialect.reference.entry import ReferenceEntry
from tools.reference.pages import described, names
from tools.stub_types import ALIASES, NUMBERS, WIDTH, Typed, definition, docstring, number_class, typed

PACKAGE = Path(__file__).parents[1] / "portagpu"
_FRESH = "# Made from the package's own tables by `python -m tools.documents`; a test fails when it is stale.\n"
_HELPERS = {  # what is written at the top where the text below needs it
    "Iterable": "collections.abc",
    "Sequence": "collections.abc",
    "Any": "typing",
    "Literal": "typing",
    "SupportsIndex": "typing",
    "TypeAlias": "typing",
    "TypeVar": "typing",
    "overload": "typing",
    "DTypeLike": "numpy.typing",
    "NDArray": "numpy.typing",
    "VectorMaker": "portagpu.dialect.names",
    "DeviceNDArray": "portagpu.runtime.arrays.array",
    "Number": "portagpu.types",
    "Type": "portagpu.types",
}
_GRIDS = {"1": "int", "2": "tuple[int, int]", "3": "tuple[int, int, int]"}


def _text(meaning: ReferenceEntry) -> str:
    return meaning.text + (f"\n\nErrors: {meaning.errors}" if meaning.errors else "")


def _function(name: str, full: str, *, method: bool = False) -> Iterator[str]:
    """A function of kernels."""
    meaning = described(full)
    if meaning.result == "a Python integer, or a tuple":
        for number, result in _GRIDS.items():
            yield from ("", "@overload") if number != "1" else ("@overload",)
            yield from definition(name, Typed((f"ndim: Literal[{number}]",), result), _text(meaning))
    else:
        yield from definition(name, typed(meaning), _text(meaning), method=method)


def _value(name: str, full: str, *, method: bool) -> Iterator[str]:
    """What kernels read without a call."""
    if method:
        yield "    @property"
        yield from definition(name, typed(described(full)), _text(described(full)), method=True)
    else:
        yield f"{name}: {typed(described(full)).result}"
        yield from docstring(_text(described(full)), "")


def _member(name: str, full: str, *, method: bool = False) -> Iterator[str]:
    if described(full).parameters is None:
        yield from _value(name, full, method=method)
    else:
        yield from _function(name, full, method=method)


def _class(name: str, text: str, members: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A private class with the members of a group."""
    yield f"class {name}:"
    yield from docstring(text, "    ")
    for member, full in members:
        yield ""
        yield from _member(member, full, method=True)
    yield ""


def _group(name: str, group: Namespace) -> Iterator[str]:
    """A group of names, such as ``cuda.atomic``."""
    own = f"_{name[0].upper()}{name[1:]}"
    yield from _class(own, GROUPS[name], ((m, f"{name}.{m}") for m in group.members))
    yield f"{name}: {own}"
    yield ""


def _assembled(summary: str, imported: dict[str, str], body: Iterable[str], public: Iterable[str] = ()) -> str:
    """A stub: its head, the imports that it needs, the definitions, and the names that programs may use.

    ``imported`` are the modules of names that come from elsewhere.
    """
    text = "\n".join(body)
    numbers = [line for name in NUMBERS if _uses(text, name) for line in number_class(name)]
    text = "\n".join((*numbers, text))
    own = [f"{name}: TypeAlias = {kind}" for name, kind in ALIASES.items() if _uses(text, name)]
    own += ['_T = TypeVar("_T")'] if _uses(text, "_T") else []
    code = re.sub(r'""".*?"""', "", "\n".join((*own, text)), flags=re.S)
    needed: dict[str, set[str]] = {}
    for name, module in {**{n: m for n, m in _HELPERS.items() if _uses(code, n)}, **imported}.items():
        needed.setdefault(module, set()).add(name)
    lines = {module: _import(module, sorted(found, key=_as_imported)) for module, found in sorted(needed.items())}
    ours = [line for module, line in lines.items() if module.startswith("portagpu")]
    numpy = [line for module, line in lines.items() if module.startswith("numpy")]
    numpy = ["import numpy as np", *numpy] if "np." in code else numpy
    standard = [line for module, line in lines.items() if module.startswith(("collections", "typing"))]
    blocks = ["\n".join(block) for block in (standard, numpy, ours, own) if block]
    names = "".join(f"    {name!r},\n".replace("'", '"') for name in sorted(public, key=_as_isort))
    exported = f"__all__ = [\n{names}]\n" if names else ""
    return (
        "\n\n".join(p.strip("\n") for p in (f'{_FRESH}"""{summary}"""', *blocks, text, exported) if p.strip("\n"))
        + "\n"
    )


def _uses(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w.]){name}\b", text) is not None


def _import(module: str, found: list[str]) -> str:
    """An import as the formatter leaves it."""
    if " as " in found[0]:  # the formatter leaves them on lines of their own
        return "\n".join(f"from {module} import {name}" for name in found)
    line = f"from {module} import {', '.join(found)}"
    return line if len(line) <= WIDTH else f"from {module} import (\n" + "".join(f"    {n},\n" for n in found) + ")"


def _as_isort(name: str) -> tuple[int, list[int | str]]:
    """Constants, then classes, then functions; numbers in names count."""
    parts = [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", name)]
    return (0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2, parts)


def _as_imported(name: str) -> tuple[int, list[int | str]]:
    """The same order as `_as_isort`, in which case does not count: that of names of one import."""
    kind, _ = _as_isort(name)
    return kind, _as_isort(name.lower())[1]


def _summary(module: str) -> str:
    text = importlib.import_module(module).__doc__ or ""
    return text.partition("\n")[0]


def origins(module: str) -> dict[str, str]:
    """The modules from which a module imports its names; those that it defines are not there."""
    found: dict[str, str] = {}
    source = importlib.import_module(module).__file__
    assert source is not None
    for node in ast.parse(Path(source).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module != "__future__":
            for alias in node.names:
                if alias.name == "*":
                    starred = importlib.import_module(node.module)
                    public = getattr(starred, "__all__", [n for n in vars(starred) if not n.startswith("_")])
                    found |= dict.fromkeys(public, node.module)
                elif alias.name == (alias.asname or alias.name):
                    found[alias.name] = node.module
    return found


def _imported(module: str) -> dict[str, str]:
    """Where the names of ``__all__`` come from that a module does not define itself."""
    where = origins(module)
    found = importlib.import_module(module)
    groups = [n for n in found.__all__ if isinstance(getattr(found, n), Namespace | ModuleType)]
    return {n: where[n] for n in found.__all__ if n in where and n not in groups}


def cuda_text() -> str:
    """The stub of `portagpu.cuda`."""
    later = {n: f"portagpu.{m}" for n, m in vars(cuda)["_LATER"].items()}
    imported = _imported("portagpu.cuda") | later | dict.fromkeys(vars(cuda)["_TYPES"], "portagpu.types")
    modules = sorted({*vars(cuda)["_SUBMODULES"], "fp16", "libdevice"})
    values: list[str] = []
    of_cluster = [(n, f"cg.this_cluster().{n}") for n in vars(ClusterGroup) if not n.startswith("_")]
    groups = [
        *_class("_GridGroup", "All threads of the grid.", [("sync", "cg.this_grid().sync")]),
        *_class("_ClusterGroup", "All threads of the block's cluster.", of_cluster),
    ]
    for name in (n for n in cuda.__all__ if n not in (*imported, *modules)):
        value = getattr(cuda, name)
        if isinstance(value, Namespace):
            groups += _group(name, value)
        elif isinstance(value, VectorMaker):
            values.append(f"{name}: VectorMaker")
        else:
            values += [*_member(name, name), ""]
    found = {**imported, **{f"{m} as {m}": "portagpu.cuda" for m in modules}}
    return _assembled(_summary("portagpu.cuda"), found, [*groups, *values], cuda.__all__)


def _kernel_text(module: str) -> Callable[[], str]:
    """The stub of a module of functions for kernels."""

    def text() -> str:
        short = module.rpartition(".")[2]
        members = [n for n in names() if n.startswith(f"{short}.")]
        body = [line for full in members for line in (*_member(full.rpartition(".")[2], full), "")]
        return _assembled(_summary(module), {}, body, importlib.import_module(module).__all__)

    return text


def vector_types_text() -> str:
    """The stub of `portagpu.cuda.vector_types`."""
    exported = vector_types.__all__
    vectors = {n: "portagpu.cuda" for n in exported if n != "vector_types"}
    return _assembled(_summary(vector_types.__name__), vectors, ["vector_types: dict[str, VectorMaker]"], exported)


def types_text() -> str:
    """The stub of `portagpu.cuda.types`."""
    sets = [n for n in types.__all__ if isinstance(getattr(types, n), frozenset)]
    elsewhere = dict.fromkeys((n for n in types.__all__ if n not in sets), "portagpu.types")
    body = [f"{name}: frozenset[Number]" for name in sets]
    return _assembled(_summary(types.__name__), elsewhere | _imported(types.__name__), body, types.__all__)


def api_text() -> str:
    """The stub of `portagpu.cuda.api`."""
    return _assembled(_summary(api.__name__), _imported(api.__name__), (), api.__all__)


MADE: dict[str, Callable[[], str]] = {
    "cuda/__init__.pyi": cuda_text,
    "cuda/api.pyi": api_text,
    "cuda/fp16.pyi": _kernel_text("portagpu.cuda.fp16"),
    "cuda/libdevice.pyi": _kernel_text("portagpu.cuda.libdevice"),
    "cuda/types.pyi": types_text,
    "cuda/vector_types.pyi": vector_types_text,
}
