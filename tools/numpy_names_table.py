"""The table in docs/arrays.md: NumPy's functions that take device arrays, and what is nearest to the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from portagpu.runtime.arrays import nearest, numpy_dispatch
from tools.docstrings import table
from tools.page_blocks import with_block

PAGE = Path(__file__).parents[1] / "docs/arrays.md"
_OF_ITERABLES = ("poly", "roots")  # NumPy asks the elements of what they are given, not the array, who computes them
_HOST = ("busday", "is_busday", "datetime", "printoptions")  # of dates as calendars have them, and of host arrays


def _functions() -> Iterator[tuple[str, str, Any]]:
    """The name that programs write, the one that is registered, and the function."""
    for module, prefix in ((np, ""), (np.linalg, "linalg."), (np.fft, "fft.")):
        for name in sorted(vars(module)):
            function = getattr(module, name)
            if name.startswith(("_", *_HOST)) or name in _OF_ITERABLES or isinstance(function, type):
                continue
            if isinstance(function, np.ufunc):
                yield f"{prefix}{name}", function.__name__, function
            elif hasattr(function, "_implementation"):
                own = f"{function.__module__}.{function.__name__}".removeprefix("numpy.")
                yield f"{prefix}{name}", own, function


def works(name: str) -> bool:
    """Whether a function takes device arrays."""
    known = numpy_dispatch.registered(name) is not None
    return known or name in numpy_dispatch.ON_SHAPES or name in numpy_dispatch.METHODS


def text() -> str:
    """The page with the names as they are now."""
    numpy_dispatch.registered("a name that nobody has")  # so that all are registered
    there: dict[str, list[str]] = {"functions of elements": [], "others": [], "`np.linalg`": [], "`np.fft`": []}
    missing = []
    for name, own, function in _functions():
        if not works(own):
            missing.append((f"`{name}`", nearest.hint_for(own, elementwise=isinstance(function, np.ufunc))))
            continue
        group = "`np.linalg`" if name.startswith("linalg.") else "`np.fft`" if name.startswith("fft.") else "others"
        if isinstance(function, np.ufunc) and group == "others":
            group = "functions of elements"
        there[group].append(f"`{name.removeprefix('linalg.').removeprefix('fft.')}`")
    body = table("Of device arrays | Names", [(group, " ".join(names)) for group, names in there.items()])
    if missing:
        body += "\n\n" + table("Missing | What is nearest", missing)
    return with_block(PAGE, "names", f"\n{body}")
