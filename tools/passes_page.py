"""The text of docs/passes.md, made from the pipeline of passes."""

from __future__ import annotations

from collections.abc import Iterable

from portagpu.passes.counts.counting import TOUCHED_MARKS, WORK_COUNTERS
from portagpu.passes.pipeline import PIPELINE, Pass
from tools.docstrings import escaped, table

HEAD = """\
# The compiler's passes

<!-- made by `python -m tools.documents` from portagpu/passes/pipeline.py -->

The frontend lowers a kernel to typed IR as the user wrote it. The passes then make of it what a device can run: each
takes a program and returns one that means the same. A back end renders the last one as text.
`portagpu.passes.pipeline.run_pass` runs one of them by name, and `portagpu.ir.text.program_text` shows a program before
and after.

"""


COUNTING = """
A launch whose work is counted ([profiling.md](profiling.md#counted-not-estimated)) has two more, from
`portagpu/passes/counts/counting.py`: the first before all others, so that the program is counted as it was written, and
the second behind them.

"""


def text() -> str:
    """The whole document."""
    return HEAD + _table(PIPELINE) + COUNTING + _table((WORK_COUNTERS, TOUCHED_MARKS))


def _table(passes: Iterable[Pass]) -> str:
    rows = [
        (f"`{each.name}`", escaped(each.does), escaped(each.when), ", ".join(f"`{name}`" for name in each.after) or "-")
        for each in passes
    ]
    return table("Pass | What it does | Applies to | Comes after", rows)
