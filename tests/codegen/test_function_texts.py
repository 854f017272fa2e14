"""Where a function's text ends: as Python's own `inspect` says, which reads it token by token."""

from __future__ import annotations

import ast
import inspect
import textwrap
from pathlib import Path

import pytest

from portagpu.frontend.source import text as texts

ODD = '''
def one(x): return x
def two(
    x,
    y=(1,
2),
): return x
@decorated(
    1,
)
# between
def three(x):
    """Text that is
not indented.
    """
    y = [
1, 2,
]

# a comment that is not indented
    if y:
        return y
    # the last line of it

# no part of it

async def four(x): \\
    return x
class Five:
    @staticmethod

    def six(x):

        def seven(): return """
def eight(): pass
"""
        return seven


    nine = 1
def ten(x,
        y): # def
    pass
'''


def functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1


def check(text):
    lines = text.splitlines(keepends=True)
    for _name, start in functions(text):
        expected = inspect.getblock(lines[start:])
        found, tree = texts._block(lines[start:])
        assert found == expected
        if tree is not None:
            assert ast.dump(tree) == ast.dump(ast.parse(textwrap.dedent("".join(expected))))


@pytest.mark.parametrize("ending", ["", "\n", "\n\n# end\n", "\nlast = 1\n"])
def test_odd_functions(ending):
    check(ODD.rstrip("\n") + ending)


def test_functions_of_this_package():
    folder = Path(inspect.getfile(texts)).parents[1]
    for part in ("frontend", "blas"):
        for path in sorted((folder / part).glob("*.py")):
            check(path.read_text())


def test_heads_of_many_brackets():
    text = "def f(\n    a0=(1,\n" + "".join(f"), a{n}=(1,\n" for n in range(1, 20)) + ")):\n    return 1\nx = 2\n"
    check(text)
    assert texts._block(text.splitlines(keepends=True))[1] is None  # left to inspect
