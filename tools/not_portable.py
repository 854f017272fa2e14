"""The text of docs/not-portable.md: each program is run, and the error that it gives is shown."""

from __future__ import annotations

import os
import re
import runpy
import tempfile
from pathlib import Path

from portagpu import cuda
from tools.not_portable_cases import GROUPS, Case

HEAD = """\
# What is not portable

Programs for `numba.cuda` that cannot run here, and the error that each gives. Everything in a kernel is said when it is
compiled, with the file, the line and a hint. Errors are classes of `portagpu.errors`; most are also what Python or
`numba.cuda` would raise, so that `except TypeError` works.

This file is made by running the programs: `python -m tools.documents`. A test runs them on each device.
"""

SILENT = """\
## What differs without an error

| What | Here |
| --- | --- |
| Python numbers in kernels | weak: with float32 `x`, `x * 2.0` is float32; see [dialect.md](dialect.md) |
| integers in kernels | keep the width of their dtype and wrap around, as in NumPy |
| barriers behind a loop that threads leave after different numbers of turns | wrong on NVIDIA GPUs, as in CUDA; right elsewhere |
| a kernel that waits for the host, through mapped memory | waits for ever: such a launch returns when the kernel ends |
| a block that waits for another one of the same launch | may wait for ever: only `cg.this_grid().sync()` makes blocks run at once |
| a thread that waits for a later one of its block, without a barrier | waits for ever on CPUs; locks work: [lockstep.md](lockstep.md#threads-that-wait-for-a-later-thread) |
| code that takes 32 threads to run in lockstep, without `syncwarp` | wrong on CPUs: [lockstep.md](lockstep.md#programs-that-count-on-lockstep) |
| `inline`, `lineinfo`, `lto`, `launch_bounds` | accepted, and change nothing |
| `cache` | compiled programs are always kept on disk; with it the generated code is, too |
| `cuda.profile_start()` | waits for open work only: no profiler is told |
| `cuda.pinned(array)` | the array is not pinned: copies run as outside; `cuda.pinned_array` is |
| uninitialised memory | may hold anything, and other things than with CUDA |
"""  # noqa: E501 - a row is a line


def error_of(case: Case) -> BaseException:
    """The exception that a program ends with. Raises `LookupError` where it ends well."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.py")
        path.write_text(case.code, encoding="utf-8")
        try:
            runpy.run_path(str(path), run_name="__main__")
        except Exception as error:
            return error
    raise LookupError(f"{case.title!r} gives no error: take it out of the list")


def message_of(case: Case) -> str:
    """Class and text of the error, without what depends on the machine."""
    error = error_of(case)
    text = re.sub(r"(?:/[^\s:\"]*/)?program\.py", "program.py", str(error))
    text = text.replace(cuda.get_current_device().name, "DEVICE")
    text = re.sub(r"runs \d+ blocks?", "runs N blocks", text)
    text = re.sub(r"(this device has|runs at most|holds) ?\d+", r"\1 N", text)
    return f"{type(error).__name__}: {text}"


def text() -> str:
    """The whole document."""
    parts = [HEAD]
    for title, cases in GROUPS.items():
        parts.append(f"## {title}\n")
        for case in cases:
            parts.append(f"### {case.title}\n")
            if case.names:
                parts.append(", ".join(f"`{n}`" for n in case.names) + "\n")
            shown = case.code.rstrip("\n")
            parts.append(f"```py\n{shown}\n```\n\n```text\n{message_of(case)}\n```\n")
            parts.append(f"Instead: {case.instead}\n")
    return "\n".join([*parts, SILENT])


os.environ.setdefault("PORTAGPU_WARNINGS", "0")
