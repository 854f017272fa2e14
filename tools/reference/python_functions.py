"""What Python's own functions, and those of `math`, `cmath` and NumPy, become in a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from portagpu.dtypes import COMPLEX64, FLOAT32, INT32
from portagpu.frontend.core.registry import TABLE
from portagpu.ir.types import ArgumentType, ArrayType, Layout, Scalar
from tools.reference.lowered import lower
from tools.reference.profiles import CPU
from tools.reference.samples import shown

_NUMBERS: dict[str, ArgumentType] = {
    "float32": Scalar(FLOAT32),
    "int32": Scalar(INT32),
    "complex64": Scalar(COMPLEX64),
}
ARRAY = ArrayType(Scalar(FLOAT32), 1, Layout.C)
# what is done with a result, so that it is computed: of a number, a pair, a complex number, an array
_USES = (
    ("out[0] = r",),
    ("out[0] = r[0]", "out[1] = r[1]"),
    ("out[0] = r.real", "out[1] = r.imag"),
    ("out[0] = r[0].real", "out[1] = r[1].imag"),
    ("i = cuda.grid(1)", "out[0] = r[i]"),
)
_MODULES = {"_operator": "operator", "builtins": "", "numpy": "np"}
_ORDER = ("builtins", "_operator", "math", "cmath", "numpy")  # of rows, whatever the order in which modules register
# functions whose arguments are no numbers and arrays
_CALLS = {
    "print": ("print(x)", ()),
    "tuple": ("tuple((x, x))", ("out[0] = r[0]",)),
    "len": ("len(x)", ("out[0] = r",)),
    "math.ldexp": ("math.ldexp(x, 2)", ("out[0] = r",)),
    "np.ldexp": ("np.ldexp(x, 2)", ("out[0] = r",)),
    "range": ("for i in range(x):", ("    out[i] = 1",)),
    "enumerate": ("for i, v in enumerate(x):", ("    out[i] = v",)),
    "zip": ("for v, w in zip(x, x):", ("    out[0] = v + w",)),
    "np.ndindex": ("for (i,) in np.ndindex(x.shape):", ("    x[i] = 1",)),
    "np.ndenumerate": ("for (i,), v in np.ndenumerate(x):", ("    out[i] = v",)),
    "operator.getitem": ("operator.getitem(x, 0)", ("out[0] = r",)),
    "np.clip": ("np.clip(x, x, x)", ("out[0] = r",)),
    "np.transpose": ("np.transpose(x)", ("i = cuda.grid(1)", "out[0] = r[i]")),
    "np.reshape": ("np.reshape(x, (2, 2))", ("i = cuda.grid(1)", "out[0] = r[i, i]")),
    "np.shape": ("np.shape(x)", ("out[0] = r[0]",)),
    "isinstance": ("isinstance(x, float)", ("out[0] = r",)),
    "type": ("type(x)(2)", ("out[0] = r",)),
    "np.isnat": ("np.isnat(np.int64(x))", ("out[0] = r",)),
    "np.dtype": ('cuda.local.array(2, np.dtype("f4"))', ("out[0] = r[0]",)),
    "np.iinfo": ("np.iinfo(np.int32)", ("out[0] = r.max",)),
    "np.finfo": ("np.finfo(np.float32)", ("out[0] = r.max",)),
}

# what functions take whose samples take numbers only to make others of them
_TAKES = {"np.isnat": "dates and spans"}


def name_of(function: Any) -> str:
    """A function's name as programs write it."""
    module = _MODULES.get(function.__module__, function.__module__)
    return f"{module}.{function.__name__}" if module else str(function.__name__)


def _lowered(name: str, kind: ArgumentType) -> str | None:
    """What a call with arguments of one type becomes; None where the function does not take it."""
    if name in _CALLS:
        call, rest = _CALLS[name]
        found = lower(call, rest, {"x": kind}, CPU)
        return None if found.error else shown(found)
    for arguments in ("x", "x, y", "x, y, z", "(x, x)", "(x, x), (y, y)"):
        given = dict.fromkeys(sorted(set(arguments) & set("xyz")), kind)
        for rest in _USES:
            found = lower(f"{name}({arguments})", rest, given, CPU)
            if found.error is None:
                return shown(found)
    return None


def rows() -> Iterator[tuple[str, str, str]]:
    """Name, what it takes, and what it becomes: one row for functions that become the same."""
    merged: dict[tuple[str, str], list[str]] = {}
    for function in sorted(TABLE, key=lambda function: _ORDER.index(function.__module__)):
        name = name_of(function)
        tried = {label: _lowered(name, kind) for label, kind in _NUMBERS.items()}
        found = {label: text for label, text in tried.items() if text is not None}
        if not found:
            text = _lowered(name, ARRAY)
            if text is None:
                raise LookupError(f"no sample call of {name} compiles: add one to {__name__}._CALLS")
            found = {"arrays": "a loop over the elements" if "for (" in text else text}
        if name in _TAKES:
            found = {_TAKES[name]: "a comparison with the smallest count"}
        by_text: dict[str, list[str]] = {}
        for label, text in found.items():
            by_text.setdefault(text, []).append(label)
        key = "<br>".join(f"{', '.join(labels)}: {text}" for text, labels in by_text.items())
        merged.setdefault((", ".join(found), key), []).append(name)
    for (takes, text), names in merged.items():
        yield ", ".join(f"`{n}`" for n in names), takes, text
