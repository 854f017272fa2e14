"""The table of GEMM variants in docs/gemm.md: names, where each is, and what it is for, from the registry."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from portagpu.blas.gemm.selection.registry import VARIANTS
from tools.docstrings import table
from tools.page_blocks import with_block

PAGE = Path(__file__).parents[1] / "docs/gemm.md"


def rows() -> Iterator[tuple[str, str, str]]:
    """Name in stores and explanations, file below the package, and what it is for."""
    for variant in VARIANTS:
        module = type(variant).__module__
        first = (sys.modules[module].__doc__ or "").split("\n", maxsplit=1)[0]
        purpose = re.sub(r"^The [a-z-]+ variant: | \((see )?`[^`]*`\)", "", first).rstrip(".")
        path = module.removeprefix("portagpu.").replace(".", "/") + ".py"
        yield f"`{variant.name}`", f"`{path}`", purpose


def text() -> str:
    """The page with the table as the registry is now."""
    return with_block(PAGE, "variants", f"\n{table('Name | File | For', list(rows()))}")
