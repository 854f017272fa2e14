"""Renders Mako templates with one frozen view each."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

from mako.lookup import TemplateLookup


@lru_cache(maxsize=1)
def _lookup() -> TemplateLookup:
    return TemplateLookup(directories=[str(files("portagpu.templates"))], strict_undefined=True)


def render(template: str, view: object) -> str:
    """Text of a template with ``view`` as its only variable."""
    return str(_lookup().get_template(template).render(view=view))
