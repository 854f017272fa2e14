"""Compiles the C++ library through which Python reaches the SYCL run time, once for each run time and compiler."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

from portagpu import notices
from portagpu.backends.sycl.announcement import INSTALL
from portagpu.backends.sycl.drivers.installed import SyclRuntime
from portagpu.backends.temporary_folders import remove_at_exit
from portagpu.errors import BuildError, MissingCompilerError
from portagpu.private_files import check_path, read_private, write_private
from portagpu.settings import Settings

_SOURCES = Path(__file__).with_name("shim")
_FLAGS = ("-std=c++17", "-O2", "-w", "-fPIC", "-shared")
_COMPILERS = ("c++", "g++", "clang++", "icpx")
_MOST_BYTES = 64 * 1024 * 1024
_LIMIT_S = 300.0


def find_compiler() -> str | None:
    """The C++ compiler: what ``CXX`` names, else one that is installed."""
    wanted = os.environ.get("CXX", "").split()
    for name in (*wanted[:1], *_COMPILERS):
        found = shutil.which(name)
        if found is not None:
            return found
    return None


def compiler_version(compiler: str) -> str:
    """The first line of what a compiler says of itself; nothing where it cannot be run."""
    try:
        said = subprocess.run([compiler, "--version"], capture_output=True, text=True, timeout=30, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    return said.splitlines()[0].strip() if said else ""


def shim_library(runtime: SyclRuntime, settings: Settings) -> Path:
    """The library's file, compiled if the cache has none.

    Where the cache's folder cannot be written it is in a temporary one, as long as this process lives, and a warning
    says so once. Raises `MissingCompilerError` without a C++ compiler or SYCL's headers, `BuildError` where compiling
    fails, or no temporary folder can be written either.
    """
    name = f"shim-{_digest(runtime)}.so"
    target = settings.cache_dir / "sycl" / name
    try:
        read_private(target, _MOST_BYTES)  # somebody else's counts for nothing
        check_path(target)  # which the system's loader opens by itself
    except OSError:
        with _lock:
            return _temporary.get(target) or _made(runtime, target, settings)
    return target


_lock = threading.Lock()
_temporary: dict[Path, Path] = {}  # where this process has what the cache's folder does not take


def _made(runtime: SyclRuntime, target: Path, settings: Settings) -> Path:
    made = _compiled(runtime)
    try:
        write_private(target, made)
        check_path(target)
    except OSError as error:
        found = _temporary[target] = _in_temporary_folder(target.name, made)
        if settings.disk_cache:
            notices.unkept(settings, target.parent, error)
        return found
    return target


def _in_temporary_folder(name: str, library: bytes) -> Path:
    try:
        folder = Path(tempfile.mkdtemp(prefix="portagpu-sycl-"))
        remove_at_exit(folder)
        write_private(folder / name, library)
    except OSError as error:
        raise BuildError(
            f"PortaGPU's library for the SYCL run time can be kept nowhere: {error}",
            hint="name a folder that can be written in PORTAGPU_CACHE_DIR, or in TMPDIR",
        ) from error
    return folder / name


def _digest(runtime: SyclRuntime) -> str:
    """Of all that the library depends on. It runs with any compiler's C++ library, so that may change."""
    parts = [*_FLAGS, str(runtime.library), *map(_stamp, runtime.parts)]
    parts += [path.read_text(encoding="utf-8") for path in sorted(_SOURCES.iterdir())]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def _stamp(path: Path) -> str:
    status = path.stat()
    return f"{path.name} {status.st_size} {status.st_mtime_ns}"


def _compiled(runtime: SyclRuntime) -> bytes:
    if runtime.headers is None:
        raise MissingCompilerError(
            f"the SYCL run time {runtime.library} has no headers beside it",
            hint=f"{INSTALL} brings a run time with them",
        )
    compiler = find_compiler()
    if compiler is None:
        raise MissingCompilerError(
            "the SYCL back end needs a C++ compiler, once, and there is none",
            hint="install one (Debian, Ubuntu: apt install g++), or name it in CXX",
        )
    with tempfile.TemporaryDirectory(prefix="portagpu-", ignore_cleanup_errors=True) as folder:
        result = Path(folder, "shim.so")
        libraries = [f"-Wl,--disable-new-dtags,-rpath,{runtime.folder}", str(runtime.library)]
        command = [compiler, *_FLAGS, f"-isystem{runtime.headers}", str(_SOURCES / "shim.cpp"), "-o", str(result)]
        try:
            done = subprocess.run(
                [*command, *libraries], capture_output=True, text=True, errors="replace", timeout=_LIMIT_S, check=False
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise MissingCompilerError(f"the C++ compiler {compiler} cannot be run: {error}") from error
        if done.returncode or not result.is_file():
            lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
            failure = BuildError(
                f"{compiler} does not compile PortaGPU's library for the SYCL run time: {(lines or ['no message'])[0]}",
                hint="name another compiler in CXX: g++ 9 and clang 11 or later know C++17",
                notes=[compiler_version(compiler), f"headers: {runtime.headers}"],
            )
            failure.log = done.stderr
            raise failure
        return result.read_bytes()
