"""Runs the compilers that make code for devices that are not present: clang for amdgcn, NVPTX and CPUs, ocloc."""

from __future__ import annotations

import glob
import os
import re
import tempfile
from dataclasses import replace
from pathlib import Path

from portagpu.backends.offline import Compiled, CompilerVersion
from portagpu.backends.opencl.offline import cpu, nvptx, ocloc
from portagpu.backends.opencl.offline.figures import figures_of_assembly
from portagpu.backends.opencl.offline.instructions import amdgcn
from portagpu.backends.opencl.offline.instructions.counting import counted, without_lines
from portagpu.backends.opencl.offline.kept import kept_or
from portagpu.backends.opencl.offline.parts import (
    CLANG,
    LINES,
    OfflineCompiler,
    Part,
    check_resolved,
    clang_version,
    path_of,
    run,
)
from portagpu.backends.opencl.offline.target import Target
from portagpu.errors import MissingCompilerError

_LIBRARY_FOLDERS = ("/usr/lib/*/amdgcn/bitcode", "/opt/rocm/amdgcn/bitcode", "/usr/lib/clang/*/amdgcn/bitcode")
_FAST = frozenset({"-cl-fast-relaxed-math"})


def compile_offline(target: Target, source: str, options: tuple[str, ...]) -> Compiled:
    """Compile OpenCL C for a target with its maker's compiler.

    Raises `MissingCompilerError` (naming what is missing, and the package) and `BuildError` (with ``log`` and
    ``opencl_source``).
    """
    compiler = COMPILERS[target.compiler]
    if compiler.missing:
        raise _incomplete(target, compiler)
    unknown = compiler.unknown(target)
    if unknown:
        raise MissingCompilerError(
            f"the offline compiler for {target.name} ({target.title}) is too old",
            notes=[unknown],
            hint="install a newer one: of the maker's packages, or of a later distribution",
        )

    def compiled() -> Compiled:
        with tempfile.TemporaryDirectory(prefix="portagpu-offline-") as folder:
            path = Path(folder) / "kernel.cl"
            path.write_text(source, encoding="utf-8")
            return compiler.compile(target, path, source, options)

    return kept_or(compiled, target, source, options, compiler.tools)


def compiler_of(target: Target) -> CompilerVersion:
    """Which compiler is installed for a target."""
    return COMPILERS[target.compiler].version()


def missing_for(target: Target) -> tuple[str, ...]:
    """What to install for a target, or what is wrong with what is installed."""
    compiler = COMPILERS[target.compiler]
    unknown = None if compiler.missing else compiler.unknown(target)
    return tuple(part.package for part in compiler.missing) + ((unknown,) if unknown else ())


def is_available(target: Target) -> bool:
    """Whether all parts of the target's compiler are installed, and it knows the target."""
    compiler = COMPILERS[target.compiler]
    return not compiler.missing and not compiler.unknown(target)


def _incomplete(target: Target, compiler: OfflineCompiler) -> MissingCompilerError:
    """The error that names which part is missing, and which is there."""
    missing = compiler.missing
    absent = " and ".join(part.name for part in missing)
    there = [f"{part.name} is there ({part.find()})" for part in compiler.parts if part not in missing]
    packages = " ".join(part.package for part in missing)
    return MissingCompilerError(
        f"the offline compiler for {target.name} ({target.title}) is not installed",
        notes=["; ".join([f"missing: {absent}", *there])],
        hint=f"on Debian and Ubuntu: apt-get install {packages}",
    )


# clang for amdgcn -------------------------------------------------------------------------------------------------


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


def _compile_amdgcn(target: Target, path: Path, source: str, options: tuple[str, ...]) -> Compiled:
    program, output = path_of(CLANG), path.with_suffix(".s")
    command = [
        *(program, "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={target.name}"),
        *("-Xclang", "-finclude-default-header", "-nogpulib", "-mcode-object-version=5", LINES, "-S"),
        *("-O0" if "-cl-opt-disable" in options else "-O3", *(o for o in options if o != "-cl-opt-disable")),
        *_libraries(target, options),
        *("-o", str(output), str(path)),
    ]
    log = run(command, source)
    text = output.read_text(encoding="utf-8", errors="replace")
    called = set(re.findall(r"\b(\w+)@(?:gotpcrel32|rel32)@lo", text))
    defined = set(re.findall(r"^(\w+):", text, re.MULTILINE))
    check_resolved(called - defined, source)
    mix, scratch = counted("amdgcn", amdgcn.instructions(text), amdgcn.kind_of)
    figures = replace(figures_of_assembly(text), mix=mix)
    return Compiled(figures=figures, log=log, assembly=without_lines(text), scratch_lines=scratch)


# the table ----------------------------------------------------------------------------------------------------------

_DEVICE_LIBRARIES = Part(
    name="AMD's device libraries (opencl.bc)",
    package="rocm-device-libs",
    find=lambda: None if (folder := _library_folder()) is None else str(folder),
)

COMPILERS: dict[str, OfflineCompiler] = {
    "amdgcn": OfflineCompiler(parts=(CLANG, _DEVICE_LIBRARIES), compile=_compile_amdgcn, version=clang_version),
    "ocloc": OfflineCompiler(
        parts=(ocloc.OCLOC,),
        compile=ocloc.compile_ocloc,
        version=ocloc.version,
        unknown=ocloc.unknown,
        others=ocloc.libraries,
    ),
    "nvptx": OfflineCompiler(
        parts=(CLANG, nvptx.LIBCLC), compile=nvptx.compile_nvptx, version=nvptx.version, others=nvptx.tools
    ),
    "cpu": OfflineCompiler(parts=(CLANG, cpu.LIBCLC), compile=cpu.compile_cpu, version=clang_version),
}
