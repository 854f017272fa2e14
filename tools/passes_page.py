"""The text of docs/passes.md, made from the pipeline of passes."""

from __future__ import annotations

from portagpu.passes.pipeline import PIPELINE
from tools.docstrings import escaped, table

HEAD = """\
# The compiler's passes

<!-- made by `python -m tools.documents` from portagpu/passes/pipeline.py -->

The frontend lowers a kernel to typed IR as the user wrote it. The passes then make of it what a device can run: each
takes a program and returns one that means the same. A back end renders the last one as text.
`portagpu.passes.pipeline.run_pass` runs one of them by name, and `portagpu.ir.text.program_text` shows a program before
and after.

"""


def text() -> str:
    """The whole document."""
    rows = [
        (f"`{each.name}`", escaped(each.does), escaped(each.when), ", ".join(f"`{name}`" for name in each.after) or "-")
        for each in PIPELINE
    ]
    return HEAD + table("Pass | What it does | Applies to | Comes after", rows)
