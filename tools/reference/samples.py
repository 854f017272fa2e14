"""Sample calls of the dialect's names, made from what `portagpu.dialect.reference.core` says that they take."""

from __future__ import annotations

import re
from dataclasses import dataclass

from portagpu import dtypes
from portagpu.dialect.reference.entry import ReferenceEntry
from portagpu.ir.types import ArgumentType, ArrayType, Layout, Scalar
from tools.reference.lowered import Lowered, lower
from tools.reference.profiles import PROFILES

_ROWS = {row.name: row for row in dtypes.ALL}


def _scalars(*names: str) -> tuple[tuple[str, ArgumentType], ...]:
    return tuple((name, Scalar(_ROWS[name])) for name in names)


def _arrays(*names: str) -> tuple[tuple[str, ArgumentType], ...]:
    return tuple((name, ArrayType(Scalar(_ROWS[name]), 1, Layout.C)) for name in names)


# by what a parameter takes: the dtypes that are tried, or the text of a constant
_KINDS: dict[str, str | tuple[tuple[str, ArgumentType], ...]] = {
    "1, 2 or 3": "1",
    "constant int or tuple": "16",
    "extents": "16",
    "NumPy, scalar, vector or record type": "np.float32",
    "captured NumPy array": "TABLE",
    "int, or tuple of ints": "0",
    "index or tuple of indices": "0",
    "numbers": _arrays("int8", "int64", "float32", "float64"),
    "2, 3, 4, 8 or 16": "4",
    "four 8-bit integers": _scalars("int32", "uint32"),
    "numbers in global memory": _arrays("float32"),
    "of the array's elements": "cuda.float32x4(1)",
    "range of constants, or tuple": "range(2)",
    "number or bool": _scalars("int32"),
    "any": _scalars("int32"),
    "int": _scalars("uint32"),
    "integer": _scalars("int32", "int64"),
    "float": _scalars("float32", "float64"),
    "integer or float of up to 64 bits": _scalars("int32", "float32", "float64"),
    "numbers side by side": _arrays("float32"),
    "32- or 64-bit integers": _arrays("int32", "int64"),
    "32- or 64-bit integers or floats": _arrays("int32", "int64", "float32", "float64"),
}
_CONVERTED = "number, converted to "
_DEFAULTS = {
    "type of the elements": "np.float32",
    "bool": "True",
    "int": "0xFFFFFFFF",
    "bytes, a constant power of two up to 1024": "256",
}


@dataclass(frozen=True, slots=True)
class Sample:
    """A call for one dtype."""

    dtype: str
    call: str
    arguments: dict[str, ArgumentType]
    rest: tuple[str, ...]  # statements that use the result


def _rest(result: str) -> tuple[str, ...]:
    if result in ("None", "the grid's group", "the cluster's group"):
        return ()
    if result in ("an array", "a read-only array"):
        return ("i = cuda.grid(1)", "out[0] = r[i]")
    if result == "a vector":
        return ("out[0] = r[0]",)
    if result.startswith("("):
        return ("out[0] = r[0]", "out[1] = r[1]")
    return ("out[0] = r",)


def samples(name: str, meaning: ReferenceEntry, *, optional: bool = False) -> list[Sample]:
    """Calls for each dtype that matters; with ``optional`` also the parameters that may be left out are given."""
    full = f"cuda.{name}"
    rest = _rest(meaning.result)
    if meaning.parameters is None:
        return [Sample("", full, {}, rest)]
    kinds = [p.partition(": ") for p in meaning.parameters]
    found = []
    for label in _labels([k for _, _, k in kinds]):
        texts, arguments = [], {}
        for parameter, _, kind in kinds:
            kind, _, default = kind.partition(" = ")
            if default and not optional:
                continue
            text, value = _argument(parameter, kind, label, default)
            texts.append(f"{parameter}={text}")
            if value is not None:
                arguments[parameter] = value
        call = f"{full}({', '.join(texts)})"
        if meaning.result == "an iterable":
            found.append(Sample(label, f"for i in {call}:", arguments, ("    out[i] = 1",)))
        else:
            found.append(Sample(label, call, arguments, rest))
    return found


def _labels(kinds: list[str]) -> list[str]:
    """The dtypes to try: of the first parameter that takes several."""
    for kind in kinds:
        choices = _KINDS.get(kind, ())
        if not isinstance(choices, str) and len(choices) > 1:
            return [label for label, _ in choices]
    return [""]


def _argument(name: str, kind: str, label: str, default: str) -> tuple[str, ArgumentType | None]:
    """Text of an argument, and its type where it is one of the kernel's."""
    if default:
        if kind not in _DEFAULTS:
            raise LookupError(f"tools/reference/samples.py has no value for an optional {kind!r}: add one to _DEFAULTS")
        return _DEFAULTS[kind], None
    if kind == "element":
        return name, Scalar(_ROWS[label])
    if kind.startswith(_CONVERTED):
        return name, Scalar(_ROWS[kind.removeprefix(_CONVERTED)])
    if kind not in _KINDS:
        raise LookupError(
            f"tools/reference/samples.py has no row for a parameter that takes {kind!r}: add one to _KINDS"
        )
    choices = _KINDS[kind]
    if isinstance(choices, str):
        return choices, None
    return name, dict(choices).get(label, choices[0][1])


def lowerings(name: str, meaning: ReferenceEntry) -> dict[str, list[tuple[str, Lowered]]]:
    """What each device class gets, by dtype."""
    return {
        device: [(s.dtype, lower(s.call, s.rest, s.arguments, caps)) for s in samples(name, meaning)]
        for device, caps in PROFILES.items()
    }


_TYPES = re.compile(r"(?<![a-z])u?(?:float|double|half|int|long|short|char)(?![a-z])|[fsub](?:32|64)\b")


def cell(found: dict[str, list[tuple[str, Lowered]]]) -> str:
    """The lowerings in few words: classes and dtypes that get the same are named together."""
    by_text: dict[str, list[str]] = {}
    for device, variants in found.items():
        by_text.setdefault(_variants(variants), []).append(device)
    if len(by_text) == 1:
        return next(iter(by_text))
    return "<br>".join(f"{', '.join(devices)}: {text}" for text, devices in by_text.items())


def _variants(variants: list[tuple[str, Lowered]]) -> str:
    groups: dict[str, tuple[list[str], str]] = {}
    for label, lowered in variants:
        text = shown(lowered)
        groups.setdefault(_TYPES.sub("T", text), ([], text))[0].append(label)
    if len(groups) == 1:
        return next(iter(groups.values()))[1]
    return "; ".join(f"{' '.join(labels)}: {text}" for labels, text in groups.values())


def shown(lowered: Lowered) -> str:
    """One lowering in Markdown."""
    if lowered.error is not None:
        return f"`{type(lowered.error).__name__}`"
    extensions = "".join(f" ({e})" for e in lowered.extensions)
    return lowered.text.replace("|", "\\|") + extensions
