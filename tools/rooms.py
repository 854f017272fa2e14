"""The tree of the package in docs/architecture.md, made from the first lines of its packages, two levels deep."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tools.page_blocks import with_block

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "portagpu"
PAGE = ROOT / "docs/architecture.md"
_WIDTH = 118


def _layers() -> list[str]:
    """Names of the layers in pyproject.toml, the uppermost first."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r'^id = "layers"$.*?^layers = \[(.*?)^\]', text, re.S | re.M)
    assert found is not None
    return [name.strip() for line in re.findall(r'"([^"]+)"', found.group(1)) for name in re.split(r"[:|]", line)]


def _summary(path: Path) -> str:
    """The first line of a module's docstring, without what stands in brackets."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.split("\n", maxsplit=1)[0].rstrip(".")


def _rows() -> Iterator[tuple[str, str]]:
    for name in _layers():
        folder = PACKAGE / name
        if not folder.is_dir():
            yield f"{name}.py", _summary(PACKAGE / f"{name}.py")
            continue
        yield f"{name}/", _summary(folder / "__init__.py")
        for inner in sorted(p.parent for p in folder.glob("*/__init__.py")):
            yield f"  {inner.name}/", _summary(inner / "__init__.py")


def text() -> str:
    """The page with the tree as the package is now."""
    rows = list(_rows())
    width = max(len(name) for name, _ in rows) + 2
    lines = [f"{name:{width}}{summary}" for name, summary in rows]
    long = [line for line in lines if len(line) > _WIDTH]
    if long:
        raise ValueError(f"first lines that are too long for the tree: {long}")
    tree = "\n".join(["", "```text", *lines, "```", ""])
    return with_block(PAGE, "rooms", tree)
