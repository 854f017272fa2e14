"""Kernels for CPUs without their OpenCL driver: what clang makes of one thread.

Drivers run a block's threads in loops, in the lanes of vectors where they can, with code of their own around this one.
So the figures tell of the kernel's own vectors and of what one thread keeps in memory.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from portagpu.backends.offline import Compiled, OfflineFigures
from portagpu.backends.opencl.offline.instructions import cpus
from portagpu.backends.opencl.offline.instructions.counting import counted, without_lines
from portagpu.backends.opencl.offline.nvptx import EXTENSIONS, library
from portagpu.backends.opencl.offline.parts import CLANG, LINES, Part, check_resolved, path_of, prelude, run
from portagpu.backends.opencl.offline.target import Target

# libclc has none for CPUs; but for the functions of the grid, which the prelude has, this one is plain arithmetic
LIBCLC = Part(name="OpenCL's functions (libclc)", package="libclc-19", find=lambda: library("nvptx64--"))
_OF_C = re.compile(
    r"printf|puts|putchar|mem(?:cpy|move|set)|(?:exp2?|exp10|log|log2|log10|pow|sin|cos|fmod|fma|ldexp|round|rint)f?"
)
_MOVES = re.compile(r"^\s*v?mov\w*\s", re.MULTILINE)


def compile_cpu(target: Target, path: Path, source: str, options: tuple[str, ...]) -> Compiled:
    """Assembly of a program, and its figures. Raises `BuildError`, `MissingCompilerError`."""
    level = "-O0" if "-cl-opt-disable" in options else "-O3"
    middle, output = path.with_suffix(".ll"), path.with_suffix(".s")
    command = [
        # SPIR: functions get vectors as they are and name their pointers' address spaces, as in the library
        *(path_of(CLANG), "-x", "cl", "-cl-std=CL1.2", "-target", "spir64-unknown-unknown"),
        *("-Xclang", "-finclude-default-header", "-Xclang", f"-cl-ext=+{',+'.join(EXTENSIONS)}"),
        *("-include", str(prelude("common", path.parent)), "-include"),
        *(str(prelude("cpu", path.parent)), "-Xclang", "-mlink-builtin-bitcode", "-Xclang", path_of(LIBCLC)),
        # optimised below, by who knows the CPU
        *(level, "-Xclang", "-disable-llvm-passes", "-Wno-linker-warnings"),
        *(o for o in options if not o.startswith(("-cl-nv-", "-cl-opt-disable", "-cl-std="))),
        *(LINES, "-S", "-emit-llvm", "-o", str(middle), str(path)),
    ]
    log = run(command, source)
    middle.write_text(_for_any_target(middle.read_text(encoding="utf-8")), encoding="utf-8")
    remarks = ("-Rpass-analysis=stack-frame-layout", "-Rpass-missed=regalloc")
    command = [
        *(path_of(CLANG), "-x", "ir", *target.options, level, "-fomit-frame-pointer", "-Wno-override-module", *remarks),
        *("-S", "-o", str(output), str(middle)),
    ]
    said = run(command, source)
    assembly = re.sub(r"^\s*\.ident.*\n", "", output.read_text(encoding="utf-8", errors="replace"), flags=re.MULTILINE)
    defined = set(re.findall(r"^([\w.$]+):", assembly, re.MULTILINE))
    called = set(re.findall(r"^\s+(?:callq?|jmp|bl?)\s+([A-Za-z_][\w.$]*)", assembly, re.MULTILINE))
    check_resolved({name for name in called - defined if not _OF_C.fullmatch(name)}, source)
    form = target.name.partition("-")[0] if target.options[1].startswith("x86") else "aarch64"
    mix, scratch = counted(form, cpus.instructions(assembly), cpus.kind_of(target.options[1]))
    assembly = without_lines(assembly)
    figures = replace(figures_of_remarks(said, assembly), mix=mix)
    return Compiled(figures=figures, log=log, assembly=assembly, scratch_lines=scratch)


def _for_any_target(text: str) -> str:
    """LLVM's text without what is SPIR's or the library's target's: layout, conventions of calls, features."""
    text = re.sub(r"^target (?:datalayout|triple) = .*\n", "", text, flags=re.MULTILINE)
    return re.sub(r'"(?:target-features|target-cpu|frame-pointer)"="[^"]*"|\bspir_(?:kernel|func)\b', "", text)


def figures_of_remarks(said: str, assembly: str) -> OfflineFigures:
    """Figures from the remarks of LLVM's register allocator and of its stack frames, and from the assembly."""
    # there are also remarks of loops, whose spills are among those of the function
    spilled = sum(map(int, re.findall(r"\b(\d+) spills .*generated in function", said)))
    slots = re.findall(r"^Offset: .*Type: (\w+),.*Size: (\d+)", said, re.MULTILINE)
    # slots of spilled values look like those of registers that the caller wants back, which are no spills
    stack = sum(int(size) for kind, size in slots if kind == "Variable" or spilled)
    local = sum(map(int, re.findall(r"\.(?:l?comm)\s+[\w.$]+,\s*(\d+)", assembly)))
    registers, lanes = _vectors(assembly)
    return OfflineFigures(
        registers=registers,
        matrix_registers=0,
        scalar_registers=None,
        spilled=spilled,
        scratch_bytes=stack,
        local_bytes=local,
        lanes=lanes,
        occupancy=None,
    )


def _vectors(assembly: str) -> tuple[int, int]:
    """How many vector registers the code names, and the float32 lanes of its widest vector instruction."""
    x86 = {(kind, int(number)) for kind, number in re.findall(r"%([xyz])mm(\d+)", assembly)}
    if x86:
        widest = max(kind for kind, _ in x86)  # x, y, z: 128, 256, 512 bits
        packed = re.search(r"^\s+v?\w*p[sd]\s|^\s+vp\w+\s", _MOVES.sub("", assembly), re.MULTILINE)
        return len({number for _, number in x86}), {"z": 16, "y": 8}.get(widest, 4 if packed else 1)
    arm = {int(number) for number in re.findall(r"\b[vqdszh](\d+)\b", assembly)}
    return len(arm), 4 if re.search(r"\bv\d+\.\d+[bhsd]\b|\bz\d+\.[bhsd]\b", assembly) else 1
