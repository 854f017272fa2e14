"""Renders Mako templates with one frozen view each: those of a language, else those that all of the family share."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mako.lookup import TemplateLookup

_SHARED = "portagpu.backends.c_family.templates"


@lru_cache(maxsize=4)
def _lookup(package: str) -> TemplateLookup:
    from mako.lookup import TemplateLookup  # slow to import, and not needed before the first kernel

    return TemplateLookup(directories=[str(files(package)), str(files(_SHARED))], strict_undefined=True)


def render(package: str, template: str, view: object) -> str:
    """Text of a template with ``view`` as its only variable; ``package`` has the language's own templates."""
    return str(_lookup(package).get_template(template).render(view=view))
