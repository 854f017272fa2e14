"""The pages docs/api-*.md: products, tuning and errors, made from signatures and docstrings."""

from __future__ import annotations

import builtins
import functools
import inspect
from collections.abc import Iterator, Sequence
from enum import Enum
from types import UnionType
from typing import Any

import portagpu
from portagpu import blas, errors, tuning
from tools.docstrings import declaration, first_lines, markdown, signature

NOTE = (
    "This page is made from the package's docstrings: `python -m tools.documents` writes it, and a test fails when it is\n"
    "stale. `help({0})` shows the same in Python.\n"
)

MATMUL = """\
# API: matrix products

`portagpu.matmul`, `portagpu.grouped_matmul` and BLAS's names for them. [gemm.md](gemm.md) is the guide, with examples.

"""

TUNING = """\
# API: tuning

`from portagpu import tuning`. [tuning.md](tuning.md) is the guide, with a complete program.

"""

ERRORS = """\
# API: errors and warnings

`from portagpu import errors`. Every exception of PortaGPU is one of these classes; many are also what Python itself would raise, so that
`except TypeError` works. `portagpu.cuda.errors` has the names of CUDA-Python for them.

"""

# what of the tuner a program needs first; everything else follows in alphabetical order
_FIRST = ("tune", "best", "tuned", "Tunable", "Case", "SearchSpace", "UnionSpace", "Axis", "Resources", "replay")


def public_names() -> dict[str, str]:
    """Names with an entry of their own, and where it is."""
    pages = {"api-matmul.md": ("matmul", "grouped_matmul", *blas.__all__), "api-tuning.md": tuning.__all__}
    pages["api-errors.md"] = errors.__all__
    found = {name: f"{page}#{name.lower()}" for page, names in pages.items() for name in names}
    return {**found, **{f"tuning.{n}": found[n] for n in tuning.__all__}, "portagpu.matmul": found["matmul"]}


def _links(page: str, own: str = "") -> functools.partial[str | None]:
    return functools.partial(_address, page, own)


def _address(page: str, own: str, name: str) -> str | None:
    target = public_names().get(name)
    if target is None or name == own or (name in ("tune", "best") and page != "api-tuning.md"):
        return None
    return target.removeprefix(page)


def _entry(page: str, prefix: str, name: str, value: Any) -> Iterator[str]:
    """One function or class."""
    yield f"### {name}\n"
    if isinstance(value, UnionType):
        yield f"One of {', '.join(f'[`{c.__name__}`](#{c.__name__.lower()})' for c in value.__args__)}.\n"
        return
    if inspect.isclass(value) and issubclass(value, Enum):
        yield f"{first_lines(value)} Values: {', '.join(f'`{name}.{member.name}`' for member in value)}.\n"
        return
    if not getattr(value, "_is_protocol", False):
        yield f"```py\n{declaration(prefix + name, value)}\n```\n"
    yield markdown(_documented(value), _links(page, name))
    if inspect.isclass(value):
        rows = [f"- {label}: {text}" for label, text in _members(value)]
        if rows:
            yield "Methods and properties:\n"
            yield "\n".join(rows) + "\n"


def _documented(value: Any) -> str:
    text = value.__doc__ if inspect.isclass(value) else inspect.getdoc(value)
    return inspect.cleandoc(text or "")


def _members(cls: type) -> Iterator[tuple[str, str]]:
    """Documented public methods and properties that the class itself has."""
    for name, value in vars(cls).items():
        if name.startswith("_"):
            continue
        value = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if isinstance(value, property) and inspect.getdoc(value):
            yield f"`.{name}`", first_lines(value)
        elif inspect.isfunction(value) and inspect.getdoc(value):
            shown = signature(value).replace("(self, ", "(").replace("(self)", "()").replace("(cls, ", "(")
            yield f"`.{name}{shown}`", first_lines(value)


def matmul_text() -> str:
    """The page of matrix products."""
    page = "api-matmul.md"
    parts = [MATMUL + NOTE.format("portagpu.matmul"), "## portagpu\n"]
    for name in ("matmul", "grouped_matmul"):
        parts += _entry(page, "portagpu.", name, getattr(portagpu, name))
    parts += ["## portagpu.blas\n", markdown(_documented(blas), _links(page))]
    for name in ("sgemm", "dgemm", "cgemm", "zgemm"):
        parts += _entry(page, "portagpu.blas.", name, getattr(blas, name))
    return _joined(parts)


def tuning_text() -> str:
    """The page of the tuner."""
    page = "api-tuning.md"
    parts = [TUNING + NOTE.format("portagpu.tuning"), markdown(_documented(tuning), _links(page))]
    rest = sorted(set(tuning.__all__) - set(_FIRST))
    for title, names in (("What programs use", _FIRST), ("Everything else", rest)):
        parts.append(f"## {title}\n")
        for name in names:
            parts += _entry(page, "tuning.", name, getattr(tuning, name))
    return _joined(parts)


def errors_text() -> str:
    """The page of errors: their tree, then each of them."""
    page = "api-errors.md"
    tree = _documented(errors).partition("::\n")[2]
    drawing, _, prose = tree.partition("\n\n    Warnings:") if "\n\n    Warnings:" in tree else tree.partition("\nWarnings:")
    parts = [ERRORS + NOTE.format("portagpu.errors"), "## The tree\n"]
    parts.append("```text\n" + inspect.cleandoc("\n" + drawing.strip("\n")) + "\n```\n")
    parts.append(markdown("Warnings:" + prose, _links(page)))
    parts.append("## Each of them\n")
    for name in sorted(errors.__all__):
        cls = getattr(errors, name)
        parts.append(f"### {name}\n")
        parts.append(f"{_bases(cls)}\n")
        if cls.__doc__:
            parts.append(markdown(_documented(cls), _links(page, name)))
    return _joined(parts)


def _bases(cls: type) -> str:
    """What else an exception is."""
    own = [f"[`{b.__name__}`](#{b.__name__.lower()})" for b in cls.__bases__ if b.__name__ in errors.__all__]
    python = [c for c in cls.__mro__ if c.__module__ == "builtins" and c not in (Exception, BaseException, object)]
    new = [c for c in python if not any(issubclass(other, c) and other is not c for other in python)]
    also = [f"`{c.__name__}`" for c in new if getattr(builtins, c.__name__, None) is c]
    words = ["A kind of " + " and ".join(own) if own else "The base of all" if cls is errors.PortaGPUError else "A base"]
    return words[0] + (f"; also Python's {' and '.join(also)}." if also else ".")


def _joined(parts: Sequence[str]) -> str:
    return "\n".join(part.rstrip("\n") + "\n" for part in parts if part.strip())
