"""Running a drawn kernel on the device and in plain Python, and comparing."""

from __future__ import annotations

import ast
import itertools
import linecache
import math
from typing import Any

import numpy as np
from fuzz_programs import Kernel
from fuzz_reference import execute
from hypothesis import reject

from portagpu import cuda
from portagpu.errors import KernelValueError

_numbers = itertools.count()


class Difference(AssertionError):
    """The device computes something else than Python."""


def compiled(source: str) -> Any:
    """The kernel that a text defines; its text can be found, as that of a function in a file."""
    filename = f"<fuzz {next(_numbers)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    scope: dict[str, Any] = {}
    exec(compile("import cmath\nimport math\nimport numpy as np\nfrom portagpu import cuda\n", filename, "exec"), scope)
    exec(compile(source, filename, "exec"), scope)
    linecache.cache.pop(f"<fuzz {int(filename[6:-1]) - 64}>", None)
    return scope["kernel"]


def check(kernel: Kernel) -> None:
    """Raise `Difference` where the device's results are not Python's.

    A kernel that divides by a constant zero, which the compiler refuses, does not count as an example.
    """
    expected = kernel.values()
    tolerances = execute(kernel.source, "kernel", kernel.grid, kernel.block, expected)
    found = kernel.values()
    try:
        compiled(kernel.source)[kernel.grid, kernel.block](*found)
    except KernelValueError as error:
        if "divides by zero" in str(error) and not _is_nonzero(error):
            reject()
        raise
    cuda.synchronize()
    for argument, a, b in zip(kernel.arguments, found, expected, strict=True):
        if argument.layout is not None and not _agree(a, b, tolerances.get(id(b))):
            raise Difference(f"{kernel}\n# {argument.name} on the device:\n{a}\n# in Python:\n{b}")


def _is_nonzero(error: KernelValueError) -> bool:
    """Whether the divisor of the quotient that was refused is a number other than 0, as far as its text alone tells."""
    span = error.span
    try:
        quotient = ast.parse(span.text[span.column : span.end_column].strip(), mode="eval").body
        return isinstance(quotient, ast.BinOp) and bool(eval(ast.unparse(quotient.right), {"np": np, "math": math}))
    except (SyntaxError, NameError):  # of a variable, which the compiler knew
        return False


def _agree(found: Any, expected: Any, tolerance: Any) -> bool:
    if tolerance is None:
        return np.array_equal(found, expected)
    with np.errstate(all="ignore"):
        return bool(np.all(np.isinf(tolerance) | (np.abs(found - expected) <= tolerance)))
