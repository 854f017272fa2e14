"""Subject "kernels": random kernels on the device and, thread by thread, in plain Python; equal to the last bit."""

from __future__ import annotations

import ast
import itertools
import linecache
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from fuzz_kernel import Kernel
from fuzz_programs import drawn
from fuzz_reference import execute
from fuzz_subject import Difference, Invalid

from portagpu import cuda
from portagpu.errors import KernelValueError

__all__ = ["check", "drawn", "smaller"]

_numbers = itertools.count()


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

    A kernel that divides by a constant zero, which the compiler refuses, does not count as an example. Neither does
    one with a constant that its operand's dtype cannot hold: NumPy raises there, the reference wraps.
    """
    expected = kernel.values()
    try:
        tolerances = execute(kernel.source, "kernel", kernel.grid, kernel.block, expected)
    except Exception as error:
        raise Invalid(f"{type(error).__name__}: {error}") from error
    results = kernel.values()
    try:
        compiled(kernel.source)[kernel.configuration](*results)
    except KernelValueError as error:
        too_large = re.match(r"the integer -?\d+ does not fit into u?int", str(error))
        if too_large or ("divides by zero" in str(error) and not _is_nonzero(error)):
            raise Invalid from None
        raise
    cuda.synchronize()
    for argument, a, b in zip(kernel.arguments, results, expected, strict=True):
        if argument.layout is not None and not _agree(a, b, tolerances.get(id(b))):
            require_defined(kernel, expected, tolerances)
            raise Difference(f"{argument.name}{_first_difference(a, b)}")


def require_defined(kernel: Kernel, expected: tuple[Any, ...], tolerances: dict[int, Any]) -> None:
    """Raise `Invalid` where results depend on the order of threads, on memory that nothing set, or on rounding."""
    values = kernel.values()
    try:
        execute(kernel.source, "kernel", kernel.grid, kernel.block, values, strict=True)
    except Exception as error:
        raise Invalid(f"{type(error).__name__}: {error}") from error
    for a, b in zip(values, expected, strict=True):
        if id(b) not in tolerances and isinstance(a, np.ndarray) and not same_bits(a, b):
            raise Invalid("the result depends on the order of threads")


def same_bits(a: Any, b: Any) -> bool:
    """Whether arrays hold the same numbers; zeros of both signs are the same, as are NaNs."""
    if a.dtype.names is not None:
        return all(same_bits(a[name], b[name]) for name in a.dtype.names)
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))


def _first_difference(a: Any, b: Any) -> str:
    different = [place for place in np.ndindex(a.shape) if not same_bits(a[place], b[place])]
    place = different[0]
    return f"{list(place)} is {a[place]} on the device, {b[place]} in Python; {len(different)} of {a.size} differ"


def smaller(kernel: Kernel) -> Iterator[Kernel]:
    """Kernels without an argument, or of fewer threads."""
    for argument in kernel.arguments:
        rest = tuple(a for a in kernel.arguments if a is not argument)
        head = f"def kernel({', '.join(a.name for a in kernel.arguments)}):"
        source = kernel.source.replace(head, f"def kernel({', '.join(a.name for a in rest)}):")
        if len(re.findall(rf"\b{argument.name}\b", kernel.source)) == 1:
            yield replace(kernel, source=source, arguments=rest)
        if argument.layout not in (None, "C"):
            changed = tuple(replace(a, layout="C") if a is argument else a for a in kernel.arguments)
            yield replace(kernel, arguments=changed)
    for name in ("grid", "block"):
        for n, extent in enumerate(old := getattr(kernel, name)):
            yield from (replace(kernel, **{name: (*old[:n], m, *old[n + 1 :])}) for m in (1, 2, 4) if m < extent)


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
        return same_bits(found, expected)
    with np.errstate(all="ignore"):
        return bool(np.all(np.isinf(tolerance) | (np.abs(found - expected) <= tolerance)))
