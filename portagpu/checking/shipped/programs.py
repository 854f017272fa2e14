"""Cases of kernels that people read: the examples of a checkout, and the textbook kernels of the benchmark."""

from __future__ import annotations

import ast
import contextlib
import io
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType

import portagpu
from portagpu.bench.suites.textbook import TASKS
from portagpu.checking.shipped.launches import Case
from portagpu.cuda import to_device
from portagpu.device.capabilities import Capabilities
from portagpu.errors import TuningError

EXAMPLES, TEXTBOOK = "examples", "textbook"
FOLDER = Path(portagpu.__file__).parents[1] / "examples"


def examples(caps: Capabilities) -> Iterator[Case]:
    """The programs of examples/, which installed packages have not."""
    for path in sorted(FOLDER.glob("*.py")):
        yield Case(EXAMPLES, f"examples/{path.name}", partial(_run, path))


def textbook(caps: Capabilities) -> Iterator[Case]:
    """The kernels of `portagpu bench textbook`."""
    for name in TASKS:
        yield Case(TEXTBOOK, f"textbook {name}", partial(_launch, name))


class _WithoutChecks(ast.NodeTransformer):
    """A program without its checks: nothing is computed that they could find right."""

    def visit_Assert(self, node: ast.Assert) -> ast.Pass:
        """A check."""
        return ast.copy_location(ast.Pass(), node)

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        """A check by NumPy."""
        call = node.value
        if isinstance(call, ast.Call) and ast.unparse(call.func).startswith("np.testing."):
            return ast.copy_location(ast.Pass(), node)
        return node


def _run(path: Path) -> None:
    """Run a program's `main`."""
    tree = _WithoutChecks().visit(ast.parse(path.read_text(encoding="utf-8"), str(path)))
    if any(isinstance(node, ast.alias) and node.name in ("tuning", "portagpu.tuning") for node in ast.walk(tree)):
        raise TuningError("it tunes, and trials need a device")
    module = ModuleType(f"example_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # kernels find their text by it
    exec(compile(tree, str(path), "exec"), vars(module))
    with contextlib.redirect_stdout(io.StringIO()):
        module.main()


def program(path: Path) -> Case:
    """A user's program, run as Python runs it, without its checks."""
    return Case("kernel", path.name, partial(_run_whole, path))


def _run_whole(path: Path) -> None:
    tree = _WithoutChecks().visit(ast.parse(path.read_text(encoding="utf-8"), str(path)))
    folder, before = str(path.resolve().parent), sys.argv
    sys.path.insert(0, folder)
    sys.argv = [str(path)]
    try:
        exec(compile(tree, str(path), "exec"), {"__name__": "__main__", "__file__": str(path)})
    except SystemExit as end:  # programs end so, also where all is well: `sys.exit(main())`
        if end.code not in (None, 0):
            told = f"with status {end.code}" if isinstance(end.code, int) else f"with the message {end.code}"
            raise RuntimeError(f"it ended {told}").with_traceback(end.__traceback__) from None
    finally:
        sys.argv = before
        sys.path.remove(folder)


def _launch(name: str) -> None:
    make, *_, small = TASKS[name]
    made = make(small)
    arrays = {key: to_device(array) for key, array in made.arrays.items()}
    made.kernel[made.grid, made.block](*(arrays[a] if isinstance(a, str) else a for a in made.arguments))
