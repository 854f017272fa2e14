"""Renders Mako templates with one frozen view each."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mako.lookup import TemplateLookup


@lru_cache(maxsize=1)
def _lookup() -> TemplateLookup:
    from mako.lookup import TemplateLookup  # slow to import, and not needed before the first kernel

    return TemplateLookup(directories=[str(files("portagpu.backends.opencl.templates"))], strict_undefined=True)


def render(template: str, view: object) -> str:
    """Text of a template with ``view`` as its only variable."""
    return str(_lookup().get_template(template).render(view=view))
