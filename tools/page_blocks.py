"""Parts of pages that are made from the package, between two comments; the rest is written by hand."""

from __future__ import annotations

import re
from pathlib import Path


def with_block(page: Path, name: str, body: str) -> str:
    """A page's text with ``body`` between ``<!-- NAME: ... -->`` and ``<!-- end of NAME -->``."""
    block = re.compile(rf"(<!-- {name}: [^\n]*-->\n).*?(\n<!-- end of {name} -->)", re.S)
    text, count = block.subn(lambda found: found.group(1) + body + found.group(2), page.read_text(encoding="utf-8"))
    if count != 1:
        raise ValueError(f"{page.name} has {count} blocks of {name}")
    return text
