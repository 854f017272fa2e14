"""What type checkers make of the words that `portagpu.dialect.reference.core` has for parameters and results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from portagpu.dialect.reference.entry import ReferenceEntry

# what a parameter takes, the first that fits; arrays and vectors of kernels have no type that checkers know well
_TAKES = {
    r"constant int or tuple|extents": "_Shape",
    r"NumPy, scalar, vector or record type": "_Kind",
    r"type of the elements": "_Kind | None",
    r"bytes, .*|bits of ranks": "SupportsIndex | None",
    r"any|four 8-bit integers|of the array's elements|(number or )?vector.*|descriptor.*": "Any",
    r"range of constants, or tuple": "Iterable[_T]",
    r"constant number of elements.*": "SupportsIndex",
    r"tuple of .*": "Sequence[SupportsIndex]",
    r"int, or tuple of ints|index.*": "_Index",
    r".*\barray\b.*|numbers.*|32- or 64-bit integers.*": "_Array",
    r"(constant )?int\b.*|integer|(constant )?\d.*": "SupportsIndex",
    r"constant str": "str",
    r"(constant )?bool": "bool",
    r"number.*|float|element|integer or float .*": "_Number",
}
_NUMBERS = {r"u?int\d+": "_Int", r"float\d+": "_Float", r"bool": "bool"}
# what a name gives
_GIVES = {
    **_NUMBERS,
    r"None|nothing": "None",
    r"a Python integer|a constant": "int",
    r"int32; uint32 .*": "_Int",
    r"an array|a read-only array": "NDArray[Any]",
    r"an iterable": "Iterable[_T]",
    r"the grid's group": "_GridGroup",
    r"the cluster's group": "_ClusterGroup",
    r"the old value|element|a vector|a number, or a vector .*|their common type|the common type of .*": "Any",
    r"the accumulator's type": "Any",
}
_SAME = re.compile(r"type of (\w+)|the (\w+)'s type")
WIDTH = 120
ALIASES = {
    "_Number": "complex | np.number[Any] | np.bool_",
    "_Index": "SupportsIndex | tuple[SupportsIndex, ...]",
    "_Shape": "SupportsIndex | Sequence[SupportsIndex]",
    "_Array": "NDArray[Any] | DeviceNDArray",
    "_Kind": "Type | VectorMaker | DTypeLike",
}


NUMBERS = {"_Int": "int", "_Float": "float"}  # numbers of one width, and what Python has for them


def number_class(name: str) -> Iterator[str]:
    """A number of a kernel, with the one method that Python's has not."""
    yield f"class {name}({NUMBERS[name]}):"
    yield from definition("view", Typed(("dtype: _Kind",), "Any"), "Its bits as another type.", method=True)
    yield ""


def _fitting(rules: dict[str, str], text: str, what: str) -> str:
    for pattern, kind in rules.items():
        if re.fullmatch(pattern, text):
            return kind
    raise LookupError(f"no type for {what} {text!r}: add one to {__name__}")


@dataclass(frozen=True, slots=True)
class Typed:
    """A name's parameters as ``name: type = default``, and the type of what it gives."""

    parameters: tuple[str, ...]
    result: str


def typed(meaning: ReferenceEntry) -> Typed:
    """The types of a name. Raises `LookupError` for words that have none."""
    same = _SAME.fullmatch(meaning.result)
    like = (same[1] or same[2]) if same else ""
    parameters = []
    for parameter in meaning.parameters or ():
        name, _, kind = parameter.partition(": ")
        kind, equals, default = kind.partition(" = ")
        shown = "_T" if name == like else _fitting(_TAKES, kind, "what is taken,")
        parameters.append(f"{name}: {shown}{f' = {default}' if equals else ''}")
    if any(p.startswith(f"{like}: _T") for p in parameters):
        return Typed(tuple(parameters), "_T")
    return Typed(tuple(parameters), result_type(meaning.result))


def result_type(text: str) -> str:
    """The type of a result, or of a tuple of results."""
    if text.startswith("("):
        return f"tuple[{', '.join(_fitting(_NUMBERS, part, 'a part') for part in text[1:-1].split(', '))}]"
    return _fitting(_GIVES, text, "the result")


def definition(name: str, types: Typed, text: str, *, method: bool = False, overloads: int = 0) -> Iterator[str]:
    """The lines of a function in a stub, as the formatter leaves them."""
    indent = "    " if method else ""
    given = ("self", *types.parameters) if method else types.parameters
    end = ":" if text else ": ..."
    line = f"{indent}def {name}({', '.join(given)}) -> {types.result}{end}"
    if len(line) <= WIDTH:
        yield line
    else:
        inner = f"{indent}    {', '.join(given)}"
        yield f"{indent}def {name}("
        if len(inner) <= WIDTH:
            yield inner
        else:
            yield from (f"{indent}    {parameter}," for parameter in given)
        yield f"{indent}) -> {types.result}{end}"
    yield from docstring(text, indent + "    ") if text else ()


def docstring(text: str, indent: str) -> Iterator[str]:
    """The lines of a docstring: its first sentences, and what follows an empty line."""
    first, _, rest = text.partition("\n\n")
    lines = _wrapped(first, indent, len(indent) + 6)
    if not rest and len(lines) == 1:
        yield f'{indent}"""{lines[0]}"""'
        return
    yield f'{indent}"""{lines[0]}'
    yield from (indent + line for line in lines[1:])
    if rest:
        yield ""
        yield from (indent + line for line in _wrapped(rest, indent, len(indent)))
    yield f'{indent}"""'


def _wrapped(text: str, indent: str, used: int) -> list[str]:
    """Lines of a paragraph that fit, the first of which has less room."""
    lines, room = [""], WIDTH - used
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > room:
            lines.append("")
            room = WIDTH - len(indent)
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
