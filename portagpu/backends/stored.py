"""Generated kernels as JSON: everything that launches, errors and inspection need of them.

Files are named by the number of the function whose file it is, so that a kernel may move. Classes of exceptions that
are not Python's own are named by the place of their value among those that lowering read.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from portagpu import dtypes
from portagpu.backends.source import KernelSource
from portagpu.ir.program import Finding, GridShape, KernelException, Parameter, ParameterRole, Recorded, Remark
from portagpu.ir.types import Pointer, Scalar, Space, Type, Vector
from portagpu.source import Span

_Data = dict[str, Any]
_DTYPES = {d.name: d for d in (*dtypes.ALL, dtypes.BFLOAT16)}


def as_data(generated: KernelSource, files: Sequence[str], values: Sequence[Any]) -> _Data | None:
    """A kernel as what JSON can say; None where it cannot.

    ``files`` are those of the functions that were lowered, ``values`` what they read, each in order.
    """
    spans = _SpanTable(files)
    try:
        return {
            "source": generated.source,
            "name": generated.name,
            "parameters": [_parameter(p) for p in generated.parameters],
            "lines": [spans.number(s) for s in generated.lines],
            "block_dim": generated.block_dim,
            "cluster": generated.cluster,
            "fused": None
            if generated.fused is None
            else [generated.fused.grid, generated.fused.block, generated.fused.shared],
            "max_threads": generated.max_threads,
            "findings": [[f.text, spans.number(f.span), f.needs_width, f.only_slow_double] for f in generated.findings],
            "remarks": [[r.text, spans.number(r.span), r.needs_width] for r in generated.remarks],
            "waits": spans.number(generated.waits),
            "faults": [_fault(f, spans, values) for f in generated.faults],
            "spans": spans.rows,
            "static_shared": generated.static_shared,
            "constant_bytes": generated.constant_bytes,
            "shared_bytes": generated.shared_bytes,
            "local_bytes": generated.local_bytes,
            "cooperative": generated.cooperative,
            "has_line_directives": generated.has_line_directives,
            "prints": generated.prints,
            "python_name": generated.python_name,
        }
    except _UnsayableError:
        return None


def from_data(data: _Data, files: Sequence[str], values: Sequence[Any]) -> KernelSource:
    """The kernel of `as_data`. Raises `ValueError`, `TypeError`, `LookupError` or `AssertionError` for other data."""
    spans: list[Span] = []
    for file, line, column, end, text in data["spans"]:
        name = file if isinstance(file, str) else files[_int(file)]
        spans.append(Span(filename=name, line=_int(line), column=_int(column), end_column=_int(end), text=_text(text)))
    fused = data["fused"]
    return KernelSource(
        source=_text(data["source"]),
        name=_text(data["name"]),
        parameters=tuple(_parameter_of(p) for p in data["parameters"]),
        lines=tuple(None if n is None else spans[n] for n in data["lines"]),
        block_dim=None if data["block_dim"] is None else _extent(data["block_dim"]),
        cluster=None if data["cluster"] is None else _extent(data["cluster"]),
        fused=None if fused is None else GridShape(_extent(fused[0]), _extent(fused[1]), _int(fused[2])),
        max_threads=None if data["max_threads"] is None else _int(data["max_threads"]),
        findings=tuple(
            Finding(text=_text(text), span=spans[span], needs_width=_int(width), only_slow_double=bool(slow))
            for text, span, width, slow in data["findings"]
        ),
        remarks=tuple(Remark(_text(text), spans[_int(span)], _int(width)) for text, span, width in data["remarks"]),
        waits=None if data["waits"] is None else spans[_int(data["waits"])],
        faults=tuple(_fault_of(f, spans, values) for f in data["faults"]),
        static_shared=_int(data["static_shared"]),
        constant_bytes=_int(data["constant_bytes"]),
        shared_bytes=_int(data["shared_bytes"]),
        local_bytes=_int(data["local_bytes"]),
        cooperative=bool(data["cooperative"]),
        has_line_directives=bool(data["has_line_directives"]),
        prints=bool(data["prints"]),
        python_name=_text(data["python_name"]),
    )


class _UnsayableError(Exception):
    """Something that JSON cannot say."""


class _SpanTable:
    """Places by number: many lines of C come from one line of Python."""

    def __init__(self, files: Sequence[str]) -> None:
        self.rows: list[list[Any]] = []
        self._known: dict[Span, int] = {}
        self._files: dict[str, int] = {}
        for number, file in enumerate(files):
            self._files.setdefault(file, number)

    def number(self, span: Span | None) -> int | None:
        """The number of a place."""
        if span is None:
            return None
        found = self._known.get(span)
        if found is None:
            found = self._known[span] = len(self.rows)
            file = self._files.get(span.filename, span.filename)
            self.rows.append([file, span.line, span.column, span.end_column, span.text])
        return found


def _int(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(f"{value!r} is no integer")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _extent(values: Any) -> tuple[int, int, int]:
    x, y, z = map(_int, values)
    return x, y, z


# parameters ---------------------------------------------------------------------------------------------------------


def _type(kind: Type) -> list[Any]:
    if isinstance(kind, Scalar):
        return ["scalar", kind.dtype.name, kind.weak]
    if isinstance(kind, Vector):
        return ["vector", kind.dtype.name, kind.lanes]
    if isinstance(kind, Pointer):
        return ["pointer", _type(kind.element), kind.space.name, kind.readonly, kind.restrict]
    raise _UnsayableError


def _type_of(data: list[Any]) -> Type:
    how, first, *rest = data
    if how == "pointer":
        space, readonly, restrict = rest
        return Pointer(_element_of(first), Space[space], bool(readonly), bool(restrict))
    return _element_of(data)


def _element_of(data: list[Any]) -> Scalar | Vector:
    how, name, more = data
    if how == "scalar":
        return Scalar(_DTYPES[name], bool(more))
    if how == "vector":
        return Vector(_DTYPES[name], _int(more))
    raise ValueError(f"{how!r} is no type")


def _parameter(p: Parameter) -> list[Any]:
    return [p.name, _type(p.type), p.role.name, p.path, p.axis, p.unit]


def _parameter_of(data: list[Any]) -> Parameter:
    name, kind, role, path, axis, unit = data
    return Parameter(
        name=_text(name),
        type=_type_of(kind),
        role=ParameterRole[role],
        path=tuple(map(_int, path)),
        axis=_int(axis),
        unit=_int(unit),
    )


# exceptions ---------------------------------------------------------------------------------------------------------


def _fault(fault: KernelException, spans: _SpanTable, values: Sequence[Any]) -> list[Any]:
    args = [_argument(a) for a in fault.args]
    recorded = [_type(v) for v in fault.values]
    return [_class(fault.kind, values), fault.template, args, recorded, fault.function, spans.number(fault.span)]


def _fault_of(data: list[Any], spans: list[Span], values: Sequence[Any]) -> KernelException:
    kind, template, args, recorded, function, span = data
    types = tuple(map(_element_of, recorded))
    return KernelException(
        kind=_class_of(kind, values),
        template=None if template is None else _text(template),
        args=tuple(map(_argument_of, args)),
        values=tuple(t for t in types if isinstance(t, Scalar)),
        function=_text(function),
        span=spans[span],
    )


def _class(kind: type[BaseException], values: Sequence[Any]) -> str | int:
    name = str(kind.__name__)
    if getattr(builtins, name, None) is kind:
        return name
    found = next((n for n, value in enumerate(values) if value is kind), None)
    if found is None:
        raise _UnsayableError
    return found


def _class_of(data: Any, values: Sequence[Any]) -> type[BaseException]:
    found: Any = getattr(builtins, data) if isinstance(data, str) else values[_int(data)]
    if not (isinstance(found, type) and issubclass(found, BaseException)):
        raise TypeError(f"{found!r} is no exception")
    return found


def _argument(value: Any) -> Any:
    """An argument of an exception: texts, numbers and None as they are; lists tell what the others are."""
    if isinstance(value, Recorded):
        return ["recorded", value.position]
    if type(value) is tuple:
        return ["tuple", *map(_argument, value)]
    if value is None or type(value) in (bool, int, float, str):
        return value
    raise _UnsayableError


def _argument_of(data: Any) -> Any:
    if not isinstance(data, list):
        return data
    how, *rest = data
    return Recorded(_int(rest[0])) if how == "recorded" else tuple(map(_argument_of, rest))
