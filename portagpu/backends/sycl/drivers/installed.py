"""Finds the SYCL run time: its library, its headers, and the drivers that its adapter for OpenCL is to see."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

PACKAGE = "intel-sycl-rt"
_LIBRARY = re.compile(r"libsycl\.so\.(\d+)$")
_CPU_DRIVER = "libintelocl.so"
_FILENAMES = "OCL_ICD_FILENAMES"


@dataclass(frozen=True, slots=True, kw_only=True)
class SyclRuntime:
    """``library``: the run time; ``headers``: the folder that has ``sycl/sycl.hpp``, or None."""

    library: Path
    headers: Path | None

    @property
    def folder(self) -> Path:
        """Where the library, its adapters and drivers are."""
        return self.library.parent

    @property
    def version(self) -> str:
        """Of the package that brought it, else what the library's file name says."""
        try:
            if self.library in set(_packaged()):
                return metadata.version(PACKAGE)
        except metadata.PackageNotFoundError:
            pass
        return self.library.resolve().name.removeprefix("libsycl.so.")

    @property
    def parts(self) -> tuple[Path, ...]:
        """Files whose change makes another run time: the library, the compiler, the adapters."""
        names = ("libsycl.so.*", "libsycl-jit.so*", "libur_*.so", _CPU_DRIVER)
        return tuple(sorted({path.resolve() for name in names for path in self.folder.glob(name)}))


def find_runtime() -> SyclRuntime | None:
    """The run time that this process has loaded, else the environment's, else that of a sourced toolkit."""
    for library in (*_loaded(), *_packaged(), *_of_folders()):
        roots = (library.parent.parent, Path(sys.prefix))
        headers = next((root / "include" for root in roots if (root / "include/sycl/sycl.hpp").is_file()), None)
        return SyclRuntime(library=library, headers=headers)
    return None


def _loaded() -> Iterator[Path]:
    """Of this process: there can be only one."""
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for line in maps.splitlines():
        path = line.partition("/")[2]
        if "libsycl.so." in path:
            real = Path(f"/{path}")
            links = [link for link in real.parent.glob("libsycl.so.*") if _LIBRARY.search(link.name)]
            yield from links or [real]
            return


def _packaged() -> Iterator[Path]:
    try:
        files = metadata.files(PACKAGE) or ()
    except metadata.PackageNotFoundError:
        return
    for file in files:
        if _LIBRARY.search(file.name):
            path = Path(os.path.normpath(str(file.locate())))
            if path.is_file():
                yield path


def _of_folders() -> Iterator[Path]:
    roots = [os.environ.get("CMPLR_ROOT"), os.environ.get("CONDA_PREFIX"), sys.prefix]
    for root in filter(None, roots):
        found = [path for path in Path(root, "lib").glob("libsycl.so.*") if _LIBRARY.search(path.name)]
        yield from sorted(found, reverse=True)


def adapt_environment(runtime: SyclRuntime) -> None:
    """Have the adapter's loader find the CPU driver beside the library; a user's own setting stays.

    Its package registers it nowhere, and the loader that comes with it reads the variable. PyOpenCL's loader does not.
    """
    driver = runtime.folder / _CPU_DRIVER
    if driver.exists() and _FILENAMES not in os.environ:
        os.environ[_FILENAMES] = str(driver)
