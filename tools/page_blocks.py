"""Parts of pages that are made from the package, between two comments; the rest is written by hand."""

from __future__ import annotations

import re
from pathlib import Path


def with_block(page: Path, name: str, body: str, text: str | None = None) -> str:
    """A page's text with ``body`` between ``<!-- NAME: ... -->`` and ``<!-- end of NAME -->``.

    ``text``: of the page, where another block of it has been made already.
    """
    block = re.compile(rf"(<!-- {name}: [^\n]*-->\n).*?(\n?<!-- end of {name} -->)", re.S)
    begun = page.read_text(encoding="utf-8") if text is None else text
    text, count = block.subn(lambda found: f"{found.group(1)}{body}\n<!-- end of {name} -->", begun)
    if count != 1:
        raise ValueError(f"{page.name} has {count} blocks of {name}")
    return text
