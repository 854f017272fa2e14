"""The text of docs/gallery.md, made from what the examples say of themselves and from examples/README.md."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tools.entries import joined

ROOT = Path(__file__).parents[1]
HEAD = """\
# Gallery

Complete programs, simple ones first. Each checks its result against NumPy or a formula, and ends with an error if the
check fails. In a clone of the repository:

    python examples/vector_add.py
    PORTAGPU_DEVICE=cpu python examples/n_body.py 20000

The second line chooses the device, and gives a size. All but `tuned_stencil` are written for `numba.cuda`, too: only
the import differs.

This page is made from the examples by `python -m tools.documents`, its pictures by `python -m tools.pictures`, which
runs the programs.
"""


def tables() -> dict[str, dict[str, tuple[str, str]]]:
    """What each example shows and what it is checked against, by the headings of examples/README.md."""
    text = (ROOT / "examples/README.md").read_text(encoding="utf-8")
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for section in re.split(r"^## ", text, flags=re.M)[1:]:
        rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \|$", section, re.M)
        if rows:  # else the section is about programs without kernels, which no picture shows
            found[section.partition("\n")[0]] = {name: (shows, check) for name, shows, check in rows}
    programs = {path.stem for path in (ROOT / "examples").glob("*.py")}
    listed = {name for rows in found.values() for name in rows}
    if programs != listed:
        raise LookupError(f"examples/README.md and the examples differ: {sorted(programs ^ listed)}")
    return found


def text() -> str:
    """The whole document."""
    parts = [HEAD]
    for title, rows in tables().items():
        parts.append(f"## {title}\n")
        for name, (shows, check) in rows.items():
            code = (ROOT / f"examples/{name}.py").read_text(encoding="utf-8")
            first, _, rest = (ast.get_docstring(ast.parse(code)) or "").partition("\n")
            heading, about = [*re.split(r"[:;] ", first, maxsplit=1), ""][:2]
            parts.append(f"### {heading.rstrip('.')}\n")
            if (ROOT / f"docs/pictures/{name}.png").exists():
                parts.append(f"![{heading.rstrip('.')}](pictures/{name}.png)\n")
            about = about[:1].upper() + about[1:]
            shows = re.sub(r"\(\[docs/(\S+)\]\(\.\./docs/\S+\)\)", r"([\1](\1))", shows)
            lines = [f"[{name}.py](../examples/{name}.py). {about}".rstrip(), *rest.split("\n")]
            parts.append(" ".join(" ".join(lines).split()) + "\n")
            parts.append(f"- Shows: {shows}.\n- Checked against: {check}.\n")
    return joined(parts)
