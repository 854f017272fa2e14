"""Writes the documents that are made from the package: ``python -m tools.documents``, in the repository's root."""

from __future__ import annotations

from pathlib import Path

from tools import not_portable, reference

DOCS = Path(__file__).parents[1] / "docs"
MADE = {"reference.md": reference.text, "not-portable.md": not_portable.text}


def main() -> None:
    """Write the files."""
    for name, text in MADE.items():
        (DOCS / name).write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
