"""A warning of element-by-element reads of large device arrays."""

from __future__ import annotations

from portagpu import notices
from portagpu.errors import PortaGPUPerformanceWarning
from portagpu.runtime.execution.context import Context

MANY = 1000
_INSTEAD = (
    "copy it at once with copy_to_host() and use NumPy, or stay on the device: cuda.reduce sums, a kernel goes through"
    " elements (PORTAGPU_WARNINGS=0 turns such warnings off)"
)


def note_iteration(context: Context, count: int) -> None:
    """Warn, at the user's line, of an iteration over many elements."""
    if count >= MANY and context.settings.warnings:
        text = f"Python goes through {count} elements of a device array, which is copied to the host for it: {_INSTEAD}"
        notices.warn(text, PortaGPUPerformanceWarning)


def note_element(context: Context) -> None:
    """Count an element that is read alone, by a copy of its own; warn when there have been many."""
    context.element_reads += 1
    if context.element_reads == MANY and context.settings.warnings:
        text = f"{MANY} elements of device arrays were read one by one, each with a copy of its own: {_INSTEAD}"
        notices.warn(text, PortaGPUPerformanceWarning)
