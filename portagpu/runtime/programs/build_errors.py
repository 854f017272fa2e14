"""The error for what a driver's compiler refuses: with the line of the kernel's Python text that it is about."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portagpu.backends.source import KernelSource
from portagpu.errors import BuildError

if TYPE_CHECKING:
    from portagpu.backends.backend import Backend

_LINE = re.compile(r"(?:^|[:\s(])(\d+):(\d+):? (?:fatal )?error: (.*)")


def _died(error: BuildError, kernel_source: KernelSource) -> BuildError:
    result = BuildError(
        f"{str(error).splitlines()[0]} (kernel {kernel_source.name})",
        span=next((span for span in kernel_source.lines if span is not None), None),
        hint="this is a fault of the driver: another device or version of it may compile the kernel (`portagpu devices`"
        ", PORTAGPU_DEVICE), or another form of its loops, such as a flag in place of a break out of several",
    )
    result.log, result.died, result.opencl_source = error.log, error.died, error.opencl_source
    return result


def locate(error: BuildError, kernel_source: KernelSource, backend: Backend) -> BuildError:
    """The compiler's complaint with the Python line that it is about."""
    if error.died:
        return _died(error, kernel_source)
    message, span = f"the {backend.title} compiler refused the kernel", None
    for line in error.log.splitlines():
        found = _LINE.search(line)
        if found:
            span = kernel_source.span_of(int(found.group(1)))
            message = f"{message}: {found.group(3).strip()}"
            break
    result = BuildError(
        message,
        span=span,
        hint=f"kernel.{backend.language.inspection}() shows the {backend.language.title}; if the Python code is right,"
        " please report this as a bug",
        notes=[line for line in error.log.splitlines() if line.strip()][:6],
    )
    result.log, result.opencl_source = error.log, error.opencl_source
    return result
