"""Compare a wheel with the repository: every source and data file is in it, and nothing else is.

Run as ``python .ci/check_wheel.py WHEEL``.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def expected() -> set[str]:
    """Paths inside the wheel that the package's files should have."""
    return {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "portagpu").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def main(wheel: str) -> int:
    """Print the differences; 1 if there are any."""
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name}
    missing, foreign = sorted(expected() - found), sorted(found - expected())
    for title, names in (("missing in the wheel", missing), ("only in the wheel", foreign)):
        for name in names:
            print(f"{title}: {name}")
    if missing or foreign:
        return 1
    print(f"{len(found)} files, the same as in the repository")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
