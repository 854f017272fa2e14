"""Lists the tests that take long: ``python -m pytest -n 2 --turn=all --junitxml=FILE``, then this with the file.

The list is `tests/helpers/long_tests.txt`, of which the whole suite runs one in five (`pairwise.of_other_turns`).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from xml.etree import ElementTree

from portagpu.files import write_atomically

ROOT = Path(__file__).parent.parent
LIST = ROOT / "tests/helpers/long_tests.txt"


def function_of(classname: str, name: str) -> str:
    """A test's name without its parameters, ``tests/a/test_b.py::C::test_d``, from the words of a report."""
    parts, function = classname.split("."), name.partition("[")[0]
    for length in range(len(parts), 0, -1):
        file = Path(*parts[:length]).with_suffix(".py")
        if (ROOT / file).is_file():
            return "::".join((file.as_posix(), *parts[length:], function))
    return function


def long_ones(report: Path, seconds: float) -> list[str]:
    """Functions of which a test took so many seconds, by name."""
    cases = ElementTree.parse(report).iter("testcase")
    found = {
        function_of(c.get("classname", ""), c.get("name", "")) for c in cases if float(c.get("time", 0)) >= seconds
    }
    return sorted(found)


def main() -> None:
    """Write the list."""
    parser = argparse.ArgumentParser(prog="python -m tools.long_tests", description=__doc__)
    parser.add_argument("report", type=Path, help="file of pytest's --junitxml")
    parser.add_argument("--seconds", type=float, default=0.5, help="what a long test takes at least")
    options = parser.parse_args()
    names = long_ones(options.report, options.seconds)
    write_atomically(LIST, "".join(f"{name}\n" for name in names).encode())
    print(f"{len(names)} functions")


if __name__ == "__main__":
    main()
