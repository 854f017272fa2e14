"""A hook of mkdocs: files of the repository outside of docs/ get pages of the site, and links to them lead there.

In the repository, documents refer to such files by paths such as ``../examples/scan.py``, so that they can be read
there, too.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
_NAMED = re.compile(r"\[(?:docs/)?([\w-]+\.md)\]\(\1(#[^)\s]*)?\)")
# in code in a table, GitHub wants \| where the site's Markdown wants |
_ROW = re.compile(r"^\|.*\|$", re.M)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\]\((\.\./[^)#\s]+)(#[^)\s]*)?\)")


def page_of(path: str) -> str:
    """The page of a file of the repository."""
    return path if path.endswith(".md") and "/" not in path else f"{path.removesuffix('.py')}.md"


def outside() -> dict[str, str]:
    """Text of the pages of files outside of docs/, by page."""
    pages = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("CHANGELOG.md", "CONTRIBUTING.md")}
    pages = {name: re.sub(r"\]\(docs/", "](", text) for name, text in pages.items()}
    for path in sorted((ROOT / "examples").glob("*.py")):
        code = path.read_text(encoding="utf-8").rstrip("\n")
        name = f"examples/{path.name}"
        pages[page_of(name)] = f"# {name}\n\n[All examples](../gallery.md)\n\n```python\n{code}\n```\n"
    return pages


def on_files(files: Files, *, config: MkDocsConfig, **_: Any) -> Files:
    """Add the pages."""
    for page, text in outside().items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Page, files: Files, **_: Any) -> str:
    """Turn links to files outside of docs/ into links to their pages, and names of files in links into titles."""
    if "/" in page.file.src_uri:  # made here
        return markdown

    def turned(found: re.Match[str]) -> str:
        return f"]({page_of(found[1].removeprefix('../'))}{found[2] or ''})"

    def titled(found: re.Match[str]) -> str:
        file = files.get_file_from_path(found[1])
        title = re.match(r"# (.+)", file.content_string) if file else None
        return f"[{title[1]}]({found[1]}{found[2] or ''})" if title else found[0]

    markdown = _ROW.sub(lambda row: _CODE.sub(lambda code: code[0].replace(r"\|", "|"), row[0]), markdown)
    return _NAMED.sub(titled, _LINK.sub(turned, markdown))
