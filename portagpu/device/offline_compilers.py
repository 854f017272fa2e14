"""Runs the compilers that makers of GPUs ship for use without a device: clang for amdgcn, ocloc."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from portagpu.device.compiled_figures import OfflineFigures, figures_of_assembly, figures_of_binary
from portagpu.device.targets import Target
from portagpu.errors import BuildError, MissingCompilerError

_LIMIT_S = 300.0
_CLANGS = ("clang-19", "clang-20", "clang-21", "/opt/rocm/llvm/bin/clang", "clang")
_LIBRARY_FOLDERS = ("/usr/lib/*/amdgcn/bitcode", "/opt/rocm/amdgcn/bitcode", "/usr/lib/clang/*/amdgcn/bitcode")
_FAST = frozenset({"-cl-fast-relaxed-math"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """What an offline compiler made of a program with one kernel."""

    figures: OfflineFigures
    log: str
    assembly: str | None  # where the compiler gives text


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineCompiler:
    """How one compiler is found and run. ``package``: what to install on Debian and Ubuntu."""

    package: str
    find: Callable[[], str | None]
    compile: Callable[[str, Target, Path, str, tuple[str, ...]], Compiled]


def compile_offline(target: Target, source: str, options: tuple[str, ...]) -> Compiled:
    """Compile OpenCL C for a target with its maker's compiler.

    Raises `MissingCompilerError` (naming the package) and `BuildError` (with ``log`` and ``opencl_source``).
    """
    compiler = COMPILERS[target.compiler]
    program = compiler.find()
    if program is None:
        raise MissingCompilerError(
            f"the offline compiler for {target.name} ({target.title}) is not installed",
            hint=f"on Debian and Ubuntu: apt-get install {compiler.package}",
        )
    with tempfile.TemporaryDirectory(prefix="portagpu-offline-") as folder:
        path = Path(folder) / "kernel.cl"
        path.write_text(source, encoding="utf-8")
        return compiler.compile(program, target, path, source, options)


def is_available(target: Target) -> bool:
    """Whether the target's compiler is installed."""
    return COMPILERS[target.compiler].find() is not None


def _run(command: list[str], source: str) -> str:
    """The output of a compiler. Raises `BuildError` where it fails."""
    folder = Path(command[-1]).parent
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=_LIMIT_S, env=environment
        )
    except subprocess.TimeoutExpired as error:
        raise _refused(f"it ran longer than {_LIMIT_S:.0f} s", source) from error
    except OSError as error:
        raise MissingCompilerError(f"{command[0]} cannot be run: {error}") from error
    log = done.stdout + done.stderr
    if done.returncode != 0:
        raise _refused(log, source)
    return log


def _refused(log: str, source: str) -> BuildError:
    result = BuildError("the offline compiler refused the program")
    result.log, result.opencl_source = log, source
    return result


def _check_resolved(names: tuple[str, ...], source: str) -> None:
    """Refuse a program that calls functions which are nowhere: a device's driver could not load it."""
    if names:
        raise _refused(f"error: no library of the compiler defines {', '.join(names)}", source)


# clang for amdgcn -------------------------------------------------------------------------------------------------


def _find_clang() -> str | None:
    found = next((path for name in _CLANGS if (path := shutil.which(name))), None)
    return found if _library_folder() is not None else None


def _library_folder() -> Path | None:
    """The folder of the device libraries, which hold OpenCL's functions as LLVM bitcode."""
    own = os.environ.get("HIP_DEVICE_LIB_PATH")
    patterns = ((own,) if own else ()) + _LIBRARY_FOLDERS
    folders = (Path(name) for pattern in patterns for name in sorted(glob.glob(pattern)))
    return next((folder for folder in folders if (folder / "opencl.bc").exists()), None)


def _libraries(target: Target, options: tuple[str, ...]) -> list[str]:
    """The device libraries to link, the constants that steer them among them."""
    folder = _library_folder()
    assert folder is not None

    def switch(name: str, on: bool) -> str:
        return f"oclc_{name}_{'on' if on else 'off'}"

    fast = bool(_FAST & set(options))
    exact = "-cl-fp32-correctly-rounded-divide-sqrt" in options
    isa = next((n for n in target.math_libraries if (folder / f"oclc_isa_version_{n}.bc").exists()), "900")
    names = [
        *("opencl", "ocml", "ockl", f"oclc_isa_version_{isa}", "oclc_abi_version_500"),
        switch("daz_opt", False),
        switch("unsafe_math", fast or "-cl-unsafe-math-optimizations" in options),
        switch("finite_only", fast or "-cl-finite-math-only" in options),
        switch("correctly_rounded_sqrt", exact),
        switch("wavefrontsize64", target.capabilities.warp_size == 64),
    ]
    files = [folder / f"{name}.bc" for name in names]
    return [
        part for file in files if file.exists() for part in ("-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(file))
    ]


def _compile_amdgcn(program: str, target: Target, path: Path, source: str, options: tuple[str, ...]) -> Compiled:
    output = path.with_suffix(".s")
    command = [
        *(program, "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={target.name}"),
        *("-Xclang", "-finclude-default-header", "-nogpulib", "-mcode-object-version=5", "-S"),
        *("-O0" if "-cl-opt-disable" in options else "-O3", *(o for o in options if o != "-cl-opt-disable")),
        *_libraries(target, options),
        *("-o", str(output), str(path)),
    ]
    log = _run(command, source)
    text = output.read_text(encoding="utf-8", errors="replace")
    called = set(re.findall(r"\b(\w+)@(?:gotpcrel32|rel32)@lo", text))
    defined = set(re.findall(r"^(\w+):", text, re.MULTILINE))
    _check_resolved(tuple(sorted(called - defined)), source)
    return Compiled(figures=figures_of_assembly(text), log=log, assembly=text)


# ocloc ------------------------------------------------------------------------------------------------------------


def _compile_ocloc(program: str, target: Target, path: Path, source: str, options: tuple[str, ...]) -> Compiled:
    known = " ".join((target.capabilities.language_option, *options)).strip()
    command = [
        *(program, "compile", "-device", target.name, "-out_dir", str(path.parent), "-output", "kernel"),
        # the binary as ELF sections with a text that says registers and scratch memory
        *("-internal_options", "-cl-intel-allow-zebin", "-options", known, "-file", str(path)),
    ]
    log = _run(command, source)
    binaries = sorted(path.parent.glob("kernel*.bin"))
    if not binaries:
        raise _refused(f"{log}\nerror: no binary was written", source)
    figures, unresolved = figures_of_binary(binaries[0].read_bytes())
    _check_resolved(unresolved, source)
    return Compiled(figures=figures, log=log, assembly=None)


COMPILERS: dict[str, OfflineCompiler] = {
    "amdgcn": OfflineCompiler(package="clang-19 rocm-device-libs", find=_find_clang, compile=_compile_amdgcn),
    "ocloc": OfflineCompiler(package="intel-opencl-icd", find=lambda: shutil.which("ocloc"), compile=_compile_ocloc),
}
