"""The page: one file of HTML that asks nothing of any network."""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from mako.template import Template

from portagpu.errors import SettingsError
from portagpu.escaping import visible
from portagpu.report import published
from portagpu.report.compiled import HEADINGS, CompiledRow
from portagpu.report.matrix import Column, Matrix
from portagpu.report.page.content import content
from portagpu.report.terminal import roofs_text
from portagpu.report.text import letter
from portagpu.report.views import View
from portagpu.version import __version__

_FOLDER = Path(__file__).parent
_MOST_PLACES = 5000
_MOST_LINES = 1500  # of the table for browsers without scripts, which has the numbers a second time
_MOST_BYTES = 2_000_000
_NARROW = "choose problems by --filter or devices by --device; .md and .csv hold any number"


def html_text(matrix: Matrix, compiled: Sequence[CompiledRow] = (), view: View | None = None, title: str = "") -> str:
    """The page, which begins with a view. Raises `SettingsError` for more cells than a page bears."""
    if len(matrix.places) > _MOST_PLACES:
        found = f"a page holds {_MOST_PLACES} cells, and these files have {len(matrix.places)}"
        raise SettingsError(found, hint=_NARROW)
    style = (_FOLDER / "page.css").read_text(encoding="utf-8")
    parts = [path.read_text(encoding="utf-8") for path in sorted(_FOLDER.glob("*.js"))]
    script = f"(() => {{\n{''.join(parts)}}})();\n".replace("(() => {", '(() => {\n"use strict";', 1)
    template = Template((_FOLDER / "page.html.mako").read_text(encoding="utf-8"), strict_undefined=True)
    made: str = template.render(
        title=visible(title or "PortaGPU benchmark matrix", 200),
        subtitle=_subtitle(matrix, compiled),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        data=content(matrix, compiled, view),
        headings=published.HEADINGS,
        lines=[[visible(text, 300) for text in texts] for texts in islice(published.lines(matrix), _MOST_LINES)],
        compiled_headings=HEADINGS,
        compiled=[[visible(text, 300) for text in row.texts] for row in compiled[:_MOST_LINES]],
        left_out=max(0, len(matrix.places) - _MOST_LINES) + max(0, len(compiled) - _MOST_LINES),
        devices=[_device(number, column) for number, column in enumerate(matrix.columns)],
        notes=[visible(note, 600) for note in _notes(matrix)],
        version=__version__,
        made=time.strftime("%Y-%m-%d", time.gmtime()),
    )
    if len(made.encode()) > _MOST_BYTES:
        raise SettingsError(f"the page would have {len(made.encode()) / 1e6:.1f} MB, more than 2", hint=_NARROW)
    return made


def _hash(text: str) -> str:
    """What a Content-Security-Policy names an inline element's text by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _subtitle(matrix: Matrix, compiled: Sequence[CompiledRow]) -> str:
    parts = [(len(matrix.columns), "device"), (len(matrix.rows), "problem"), (len(matrix.places), "cell")]
    parts += [(len(compiled), "kernel")] if compiled else []
    counts = ", ".join(f"{count} {name}{'s' if count != 1 else ''}" for count, name in parts)
    return f"{counts}{' compiled offline' if compiled else ''}. Times are medians, each result verified."


def _device(number: int, column: Column) -> tuple[str, ...]:
    device, machine = column.device, column.machine
    software = ", ".join(f"{name} {value}" for name, value in machine.software.items())
    facts = [machine.label, machine.system, machine.processor, software, f"files: {', '.join(column.files)}"]
    return (
        letter(number),
        visible(column.short, 300),
        visible(f"{device.platform} {device.driver} {device.version}".strip(), 300),
        visible(device.compiler or "-", 300),
        visible("; ".join(fact for fact in facts if fact), 600),
        visible(roofs_text(column).removeprefix("roofs: ") or "none", 600),
    )


def _notes(matrix: Matrix) -> list[str]:
    method = [
        "A ratio compares two implementations in one run, on one device, with the same operands, memory and caches.",
        "Intervals are of the median, at 95%, from a bootstrap that draws whole rounds.",
        "The share of the roof is the least time that the measured peak and bandwidth allow over the time taken; "
        "data in caches may exceed the memory's roof.",
    ]
    commands = [f"Measured by: {command}" for command in matrix.commands[:20]]
    return [*published.remarks(matrix), *method, *commands]


__all__ = ["html_text"]
