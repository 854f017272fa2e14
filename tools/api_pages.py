"""The pages docs/api-*.md: products, tuning and errors, made from signatures and docstrings."""

from __future__ import annotations

import builtins
import functools
import inspect

import portagpu
from portagpu import blas, errors, lapack, linalg, tuning
from tools.docstrings import markdown
from tools.entries import NOTE, address, documented, entry, joined

MATMUL = """\
# API: matrix products

`portagpu.matmul`, `portagpu.grouped_matmul` and BLAS's names for them. [gemm.md](gemm.md) is the guide, with examples.

"""

SOLVERS = """\
# API: systems and factorisations

`from portagpu import linalg, lapack`. [solvers.md](solvers.md) is the guide, with examples.

"""

TUNING = """\
# API: tuning

`from portagpu import tuning`. [tuning.md](tuning.md) is the guide, with a complete program.

"""

ERRORS = """\
# API: errors and warnings

`from portagpu import errors`. Every exception of PortaGPU is one of these classes; many are also what Python itself
would raise, so that `except TypeError` works. `portagpu.cuda.errors` has the names of CUDA-Python for them.

"""

# what of the tuner a program needs first; everything else follows in alphabetical order
_FIRST = ("tune", "best", "tuned", "Tunable", "Case", "SearchSpace", "UnionSpace", "Axis", "Resources", "replay")


def matmul_text() -> str:
    """The page of matrix products."""
    page = "api-matmul.md"
    parts = [MATMUL + NOTE.format("portagpu.matmul"), "## portagpu\n"]
    for name in ("matmul", "grouped_matmul"):
        parts += entry(page, "portagpu.", name, getattr(portagpu, name))
    parts += ["## portagpu.blas\n", markdown(documented(blas), functools.partial(address, page, ""))]
    for name in sorted(blas.ROUTINES, key=lambda routine: (routine[1:], "sdczi".index(routine[0]))):
        parts += entry(page, "portagpu.blas.", name, getattr(blas, name))
    return joined(parts)


def solvers_text() -> str:
    """The page of systems and factorisations."""
    page = "api-solvers.md"
    parts = [SOLVERS + NOTE.format("portagpu.linalg"), "## portagpu.linalg\n"]
    parts.append(markdown(documented(linalg), functools.partial(address, page, "")))
    for name in sorted(linalg.__all__):
        parts += entry(page, "linalg.", name, getattr(linalg, name))
    parts += ["## portagpu.lapack\n", markdown(documented(lapack), functools.partial(address, page, ""))]
    for name in sorted(lapack.__all__, key=lambda routine: (routine[1:], routine[0])):
        parts += entry(page, "lapack.", name, getattr(lapack, name))
    return joined(parts)


def tuning_text() -> str:
    """The page of the tuner."""
    page = "api-tuning.md"
    parts = [
        TUNING + NOTE.format("portagpu.tuning"),
        markdown(documented(tuning), functools.partial(address, page, "")),
    ]
    rest = sorted(set(tuning.__all__) - set(_FIRST))
    for title, names in (("What programs use", _FIRST), ("Everything else", rest)):
        parts.append(f"## {title}\n")
        for name in names:
            parts += entry(page, "tuning.", name, getattr(tuning, name))
    return joined(parts)


def errors_text() -> str:
    """The page of errors: their tree, then each of them."""
    page = "api-errors.md"
    drawing, _, prose = documented(errors).partition("::\n")[2].partition("\nWarnings:")
    parts = [ERRORS + NOTE.format("portagpu.errors"), "## The tree\n"]
    parts.append("```text\n" + inspect.cleandoc("\n" + drawing.strip("\n")) + "\n```\n")
    parts.append(markdown("Warnings:" + prose, functools.partial(address, page, "")))
    parts.append("## Each of them\n")
    for name in sorted(errors.__all__):
        cls = getattr(errors, name)
        parts += [f"### {name}\n", f"{_bases(cls)}\n"]
        parts.append(markdown(documented(cls), functools.partial(address, page, name)))
    return joined(parts)


def _bases(cls: type) -> str:
    """What else an exception is."""
    own = [f"[`{b.__name__}`](#{b.__name__.lower()})" for b in cls.__bases__ if b.__name__ in errors.__all__]
    python = [c for c in cls.__mro__ if c.__module__ == "builtins" and c not in (Exception, BaseException, object)]
    new = [c for c in python if not any(issubclass(other, c) and other is not c for other in python)]
    also = [f"`{c.__name__}`" for c in new if getattr(builtins, c.__name__, None) is c]
    kind = f"A kind of {' and '.join(own)}" if own else "The base of all errors" if also == [] else "A base of warnings"
    return f"{kind}; also Python's {' and '.join(also)}." if also else f"{kind}."
