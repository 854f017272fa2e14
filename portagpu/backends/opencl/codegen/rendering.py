"""Renders OpenCL C's templates with one frozen view each."""

from __future__ import annotations

from portagpu.backends.c_family import rendering


def render(template: str, view: object) -> str:
    """Text of a template with ``view`` as its only variable."""
    return rendering.render("portagpu.backends.opencl.templates", template, view)
