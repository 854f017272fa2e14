"""The JSON Schema of the files of `portagpu.checking.records`: what readers of them may rely on."""

from __future__ import annotations

from typing import Any

from portagpu.checking.records import FORMAT, VERSION, Status

_Schema = dict[str, Any]


def _or_null(kind: _Schema | str) -> _Schema:
    return {"anyOf": [{"type": kind} if isinstance(kind, str) else kind, {"type": "null"}]}


def _object(required: _Schema) -> _Schema:
    return {"type": "object", "required": [*required], "properties": required}


_TEXT: _Schema = {"type": "string"}
_COUNT: _Schema = {"type": "integer", "minimum": 0}
_BY_BYTES: _Schema = {"type": "object", "additionalProperties": _COUNT}
_COMPILER = _or_null(_object({"name": _TEXT, "version": _TEXT}))
_PLACE: _Schema = {"file": _or_null("string"), "line": _or_null(_COUNT)}
_MIX = _object(
    {
        "form": _TEXT,
        **dict.fromkeys(("total", "matrix", "scalar_loads", "local", "fma", "special", "atomics"), _COUNT),
        **dict.fromkeys(("asynchronous", "barriers", "branches", "scratch"), _COUNT),
        **dict.fromkeys(("widest_load_bytes", "widest_store_bytes"), _COUNT),
        **dict.fromkeys(("loads", "stores"), _BY_BYTES),
        "matrix_unit_used": {"type": "boolean"},
    }
)
_FIGURES = _object(
    {
        **dict.fromkeys(("matrix_registers", "scratch_bytes", "local_bytes", "lanes"), _COUNT),
        **{name: _or_null(_COUNT) for name in ("registers", "scalar_registers", "spilled", "occupancy", "slots")},
        "limiter": _or_null("string"),
        "spills": {"type": "boolean"},
        "mix": _or_null(_MIX),
    }
)
_PROBLEM = _object(
    {
        "rule": _TEXT,
        "level": {"enum": ["error", "warning", "note"]},
        "message": _TEXT,
        "hint": _or_null("string"),
        **_PLACE,
        "column": _or_null(_COUNT),
        "end_column": _or_null(_COUNT),
        "related": {"type": "array", "items": _object(_PLACE)},
    }
)
_RESULT = _object(
    {
        **dict.fromkeys(("target", "title", "group", "case", "kernel"), _TEXT),
        "compiler": _COMPILER,
        **_PLACE,
        "signature": _or_null("string"),
        "constants": {"type": "object", "additionalProperties": _TEXT},
        "block": _or_null({"type": "array", "items": _COUNT, "minItems": 1, "maxItems": 3}),
        "source_hash": _or_null({"type": "string", "pattern": "^[0-9a-f]{64}$"}),
        "status": {"enum": [status.value for status in Status]},
        "ok": {"type": "boolean"},
        "figures": _or_null(_FIGURES),
        "problems": {"type": "array", "items": _PROBLEM},
        "remark": _or_null("string"),
        "suggestion": _or_null("object"),
    }
)

SCHEMA: _Schema = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    **_object(
        {
            "format": {"const": FORMAT},
            "version": {"const": VERSION},
            "portagpu": _TEXT,
            "made": _TEXT,
            "require": {"type": "array", "items": _TEXT},
            "targets": {
                "type": "array",
                "items": _object(
                    {
                        "name": _TEXT,
                        "title": _TEXT,
                        "gpu": {"type": "boolean"},
                        "compiler": _COMPILER,
                        "missing": _or_null("string"),
                    }
                ),
            },
            "results": {"type": "array", "items": _RESULT},
            "notes": {"type": "array", "items": _object(dict.fromkeys(("target", "group", "case", "message"), _TEXT))},
            "summary": _object(dict.fromkeys(("compiled", "failed", "not compiled"), _COUNT)),
        }
    ),
}
SCHEMA["properties"]["complete"] = {"type": "boolean"}  # files of earlier packages do not say it
