"""Programs of the subjects that run statement by statement, on the device and by a reference."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar


@dataclass(frozen=True)
class Program:
    """Statements over device arrays; the minimiser deletes statements and leaves their expressions as they are.

    The annotation of an assignment, ``r1: "within 16 * ulp(r1)" = np.sin(v1)``, says how results are compared.
    """

    source: str
    subject: str
    EXPRESSIONS: ClassVar[bool] = False

    @property
    def statements(self) -> tuple[str, ...]:
        """The texts of statements at the top level."""
        return _statements(self.source)

    def __str__(self) -> str:
        call = f'check(Program("""\n{self.source.strip()}\n""", {self.subject!r}))'
        paths = "import tests.fuzz.__main__  # noqa: F401 - module names; run in the repository's root"
        return f"{paths}\nfrom fuzz_lines import Program\nfrom fuzz_{self.subject} import check\n\n{call}"


@lru_cache(64)
def _statements(source: str) -> tuple[str, ...]:
    return tuple(ast.get_source_segment(source, node) or "" for node in ast.parse(source).body)


def annotation(statement: str) -> str:
    """The text of a statement's annotation, empty without one."""
    node = ast.parse(statement).body[0]
    if isinstance(node, ast.AnnAssign) and isinstance(node.annotation, ast.Constant):
        return str(node.annotation.value)
    return ""
