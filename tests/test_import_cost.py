"""What programs do not load: other back ends than theirs, and the compiler where all their code is kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

_COMPILER = ("portagpu.passes", "portagpu.frontend.core", "portagpu.frontend.syntax", "portagpu.frontend.library")
_OTHERS = ("portagpu.bench", "portagpu.blas", "portagpu.checking", "portagpu.linalg", "portagpu.tuning")
_BACK_ENDS = tuple(f"portagpu.backends.{name}" for name in ("cuda", "opencl", "sycl", "c_family", "backend"))
_TOLD_BEFORE = frozenset(
    f"portagpu.backends.{name}{module}" for name in ("cuda", "opencl", "sycl") for module in ("", ".announcement")
)

_LAUNCH = """
import sys
import numpy as np
from portagpu import cuda

@cuda.jit(cache=True)
def add(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += x[i]

x = np.ones(64, np.float32)
add[1, 64](x, x)
"""


def _loaded(program: str, *, cwd: Path | None = None, **environment: str) -> set[str]:
    """The modules that a program has at its end."""
    text = f"{program}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))\n"
    if cwd is not None:  # code is kept of functions in files
        (cwd / "program.py").write_text(text, encoding="utf-8")
    command = [sys.executable, *(["-c", text] if cwd is None else ["program.py"])]
    found = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=cwd, env={**os.environ, **environment}
    )
    return set(json.loads(found.stdout.splitlines()[-1]))


def _of(modules: set[str], names: tuple[str, ...]) -> list[str]:
    return sorted(module for module in modules if any(f"{module}.".startswith(f"{name}.") for name in names))


def test_the_package_alone_loads_neither_back_ends_nor_compiler() -> None:
    loaded = _loaded("import portagpu") - _TOLD_BEFORE
    unwanted = (*_BACK_ENDS, *_COMPILER, *_OTHERS, "portagpu.ir.nodes", "pyopencl", "mako", "jinja2", "asyncio", "rich")
    assert _of(loaded, unwanted) == []


def test_kept_code_launches_without_a_compiler_and_without_other_back_ends(tmp_path: Path) -> None:
    places = {"PYTHONPATH": os.pathsep.join(sys.path), "XDG_CACHE_HOME": str(tmp_path)}
    first = _loaded(_LAUNCH, cwd=tmp_path, **places)
    assert "portagpu.frontend.specialise" in first
    again = _loaded(_LAUNCH, cwd=tmp_path, **places) - _TOLD_BEFORE
    assert _of(again, (*_COMPILER, *_OTHERS)) == []
    backends = {module.split(".")[2] for module in _of(again, _BACK_ENDS)}
    mine = os.environ.get("PORTAGPU_BACKEND", "opencl")
    # that of CUDA compiles OpenCL C, by modules of the other folder
    assert {"opencl", "sycl", "cuda"} & backends == {mine, *(["opencl"] if mine == "cuda" else [])}
