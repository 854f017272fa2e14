"""Rules about the text of the package that the linters do not know."""

from __future__ import annotations

import ast
import re
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_CODE = tuple(
    path
    for folder in ("portagpu", "examples")
    for path in sorted((_ROOT / folder).rglob("*"))
    if path.suffix in (".py", ".mako", ".cl")
)
_PYTHON = tuple(path for path in _CODE if path.suffix == ".py")
_VENDOR = re.compile(r"(?i)\b(nvidia|intel|amd|apple|qualcomm|pocl|rusticl|adreno|mali|radeon|geforce)\b")
# words of OpenCL C and PTX that a back end alone says; its documents may be named in docstrings
_BACK_END = re.compile(
    r"__(global|local|private|constant)\b|asm volatile|\.sync\.|\.reg \.pred|get_(local|group|global)_(id|size)"
    r"|CLK_|__builtin|\bv(load|store)\d|sub_group_\w+\(|cl_khr_\w+\""
)
_UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX)\b")

# modules that import inside functions, and what: see the comments there
_LATE_IMPORTS = {
    # kernels are read at the first product
    "portagpu/__init__.py": {"portagpu.blas.matmul", "portagpu.blas.grouped", "portagpu.blas.array_product"},
    # the compiler: kernels whose code is kept launch without it
    "portagpu/dispatch/code/cache.py": {"portagpu.dispatch.code.generation"},
    "portagpu/dispatch/code/definition.py": {"portagpu.dispatch.code.lowering"},
    "portagpu/dispatch/code/early_check.py": {"portagpu.frontend.specialise"},
    "portagpu/dispatch/inspection.py": {"portagpu.dispatch.annotated"},
    "portagpu/dispatch/launcher.py": {"portagpu.dispatch.counting.launches"},
    "portagpu/ufuncs/ufunc.py": {"portagpu.frontend.result_types"},
    "portagpu/dispatch/offline.py": {"portagpu.backends.survey"},  # of all back ends, which it loads
    "portagpu/backends/opencl/backend.py": {  # launches of kept code need none
        *("portagpu.backends.opencl", "portagpu.backends.opencl.kernel_language"),
        *(f"portagpu.backends.opencl.offline.{name}" for name in ("compilers", "target", "targets")),
    },
    "portagpu/backends/sycl/backend.py": {  # of the doctor, and of code that is not kept
        *("portagpu.backends.sycl", "portagpu.backends.sycl.kernel_language"),
    },
    "portagpu/backends/cuda/backend.py": {"portagpu.backends.opencl.kernel_language"},
    "portagpu/backends/sycl/dpctl_objects.py": {"dpctl", "dpctl.utils", "dpnp", "dpnp.tensor"},  # the program's own
    "portagpu/backends/c_family/rendering.py": {"mako.lookup"},  # slow to import
    "portagpu/runtime/execution/stream.py": {"asyncio"},  # slow to import
    "portagpu/tuning/console.py": {"rich.console", "rich.progress"},  # slow to import, and products use tuning results
    "portagpu/bench/peers/cupy_kernels.py": {"cupy"},
    "portagpu/bench/ladder/plot.py": {"matplotlib.figure"},  # optional, and slow to import
    "portagpu/private_files.py": {"grp", "pwd"},  # POSIX alone has them
    "portagpu/report/plots.py": {"matplotlib", "matplotlib.figure"},  # likewise
}


# what is there about devices, and about OpenCL's drivers, their faults and their compilers
_OF_DEVICES = (
    "portagpu/device/",
    *(f"portagpu/backends/opencl/{part}" for part in ("drivers/", "probing/", "offline/", "quirks.py")),
    "portagpu/backends/sycl/drivers/",
    "portagpu/backends/cuda/",
)


def _name(path: Path) -> str:
    return path.relative_to(_ROOT).as_posix()


def _lines(paths: tuple[Path, ...], pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{_name(path)}:{number}: {line.strip()}"
        for path in paths
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line)
    ]


def _late_imports(path: Path) -> set[str]:
    found: set[str] = set()
    for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Import):
                    found |= {alias.name for alias in node.names}
                elif isinstance(node, ast.ImportFrom):
                    found.add(node.module or ".")
    return found


def test_there_is_code() -> None:
    assert len(_PYTHON) > 80


def test_back_ends_alone_say_opencl_c_and_ptx() -> None:
    above = tuple(p for p in _PYTHON if _name(p).startswith(("portagpu/frontend/", "portagpu/ir/", "portagpu/passes/")))
    assert len(above) > 100 and not _lines(above, _BACK_END)
    code = tuple(p for p in _PYTHON if _name(p).startswith("portagpu/backends/opencl/codegen/"))
    assert len(_lines(code, _BACK_END)) > 20


def test_vendors_are_named_only_where_devices_are_found_and_described() -> None:
    others = tuple(path for path in _CODE if not _name(path).startswith(_OF_DEVICES))
    assert not _lines(others, _VENDOR)


def _imported(path: Path) -> set[str]:
    """Top-level names of the packages that a file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").partition(".")[0])
    return found


def test_pyopencl_is_behind_its_back_end() -> None:
    users = {_name(path) for path in _PYTHON if _name(path).startswith("portagpu/") and "pyopencl" in _imported(path)}
    assert len(users) > 10
    assert {name for name in users if not name.startswith("portagpu/backends/opencl/")} == set()


# the back end of CUDA compiles by the OpenCL driver of its cards
_OPENCLS_OWN = ("portagpu/backends/opencl/", "portagpu/backends/cuda/", "portagpu/bench/", "portagpu/cli/", "examples/")


def test_only_the_registry_knows_the_back_end_that_is_opencl() -> None:
    """And what is about OpenCL itself: the commands that tell about its drivers and compilers, and benchmarks of it."""
    users = {
        _name(path)
        for path in _PYTHON
        if not _name(path).startswith(_OPENCLS_OWN)
        and re.search(
            r"^\s*(?:from|import) portagpu\.backends\.opencl\b", path.read_text(encoding="utf-8"), re.MULTILINE
        )
    }
    assert users == {"portagpu/backends/registry.py"}


def test_nothing_is_left_to_do() -> None:
    assert not _lines(_CODE, _UNFINISHED)


def test_imports_are_at_the_top() -> None:
    late = {_name(path): _late_imports(path) for path in _PYTHON}
    assert {name: found for name, found in late.items() if found} == _LATE_IMPORTS


def test_files_of_tests_have_names_of_their_own() -> None:
    """pytest imports each by its base name: a second one of that name is not collected."""
    names = sorted(path.name for path in (_ROOT / "tests").rglob("test_*.py"))
    assert len(names) > 300
    assert {name for name in names if names.count(name) > 1} == set()
