"""Kernels for NVIDIA's GPUs without their driver: clang makes PTX, CUDA's assembler says what it needs of the hardware.

The driver has another compiler between OpenCL C and PTX and another library of mathematical functions; the assembler is
the one that it has, too. Without it there is PTX, and the memory that PTX names, but no registers.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from portagpu.backends.offline import Compiled, CompilerVersion, OfflineFigures
from portagpu.backends.opencl.offline.instructions import ptx
from portagpu.backends.opencl.offline.instructions.counting import counted, without_lines
from portagpu.backends.opencl.offline.parts import (
    CLANG,
    LINES,
    Part,
    attempt,
    check_resolved,
    clang_version,
    first_file,
    number_in,
    path_of,
    prelude,
    refused,
    run_with_lines,
    said_by,
)
from portagpu.backends.opencl.offline.target import Target
from portagpu.backends.opencl.ptx import architecture as architecture_ptx

_LANES = 32
_STATIC = 48 << 10  # bytes of shared memory that the assembler allows without being asked
_ASSEMBLER = "pip install nvidia-cuda-nvcc"
_OLDER_ASSEMBLER = "pip install nvidia-cuda-nvcc-cu12"
_FOLDERS = ("/usr/lib/clc", "/usr/local/lib/clc", "/usr/share/clc", "/usr/lib/llvm-*/share/clc")
EXTENSIONS = ("cl_khr_fp16", "cl_khr_fp64", "cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics")


def library(name: str) -> str | None:
    """The path of one of libclc's libraries."""
    return first_file(f"{folder}/{name}.bc" for folder in _FOLDERS)


LIBCLC = Part(
    name="OpenCL's functions for NVIDIA's GPUs (libclc)",
    package="libclc-19",
    find=lambda: library("nvptx64--nvidiacl"),
)


def assemblers() -> list[str]:
    """Paths of CUDA's assembler: on the path, in this environment's packages, where CUDA is usually installed."""
    return _programs("ptxas")


def disassemblers() -> list[str]:
    """Paths of CUDA's disassembler, which shows the instructions that run."""
    return _programs("nvdisasm")


def tools() -> list[str]:
    """All of both."""
    return [*assemblers(), *disassemblers()]


def _programs(name: str) -> list[str]:
    homes = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    patterns = [f"{folder}/nvidia/*/bin/{name}" for folder in sys.path if folder]
    patterns += [f"{home}/bin/{name}" for home in [*homes, "/usr/local/cuda"]]
    found = [shutil.which(name), *(first_file([pattern]) for pattern in patterns)]
    return list(dict.fromkeys(path for path in found if path))


def compile_nvptx(target: Target, path: Path, source: str, options: tuple[str, ...]) -> Compiled:
    """PTX of a program, and its figures. Raises `BuildError`, `MissingCompilerError`."""
    text_file = path.with_suffix(".ptx")
    command = [
        *(path_of(CLANG), "-x", "cl", "-cl-std=CL2.0", "-target", "nvptx64--nvidiacl"),
        *("-Xclang", "-target-cpu", "-Xclang", target.options[0], "-Xclang", "-finclude-default-header"),
        *("-Xclang", f"-cl-ext=+{',+'.join(EXTENSIONS)}"),
        *("-include", str(prelude("common", path.parent)), "-include"),
        *(str(prelude("nvptx", path.parent)), "-Xclang", "-mlink-builtin-bitcode", "-Xclang"),
        *(path_of(LIBCLC), "-O0" if "-cl-opt-disable" in options else "-O3"),
        *(option for option in options if not option.startswith(("-cl-nv-", "-cl-opt-disable", "-cl-std="))),
        *(LINES, "-S", "-o", str(text_file), str(path)),
    ]
    log = run_with_lines(command, source)
    raw = _with_limits(text_file.read_bytes(), source, options)
    text = (architecture_ptx.unmarked(raw, source) if architecture_ptx.is_marked(source) else raw).decode("latin1")
    text = re.sub(r"\bprintf\b", "vprintf", text)  # which is what clang's call of it is: a format, and a list
    called = re.findall(r"^\.extern \.func\s+(?:\(.*?\)\s*)?([\w$]+)", text, re.MULTILINE)
    check_resolved(set(called) - {"vprintf"}, source)
    said, remark = _assembled(target, text, text_file, source)
    memory = _Memory.of(text)
    if said is None:
        figures = OfflineFigures(
            registers=None,
            matrix_registers=0,
            scalar_registers=None,
            spilled=None,
            scratch_bytes=memory.stack,
            local_bytes=memory.shared,
            lanes=_LANES,
            occupancy=None,
        )
    else:
        log += said
        figures = figures_of_assembler(said, memory.shared)
    mix, scratch = counted("PTX", ptx.instructions(text), ptx.kind_of)
    shown = None if said is None else _disassembled(text_file.with_suffix(".cubin"), source)
    if shown is not None:
        mix, scratch = counted("SASS", ptx.sass_instructions(shown), ptx.sass_kind_of)
    return Compiled(
        figures=replace(figures, mix=mix),
        log=log,
        assembly=without_lines(_with_lines_only(text)),
        remark=remark,
        scratch_lines=scratch,
    )


def _disassembled(binary: Path, source: str) -> str | None:
    """What CUDA's disassembler shows of a binary, where there is one that knows it."""
    for program in disassemblers():
        done = attempt([program, "-ndf", "-g", "-c", str(binary)], source)
        if done.returncode == 0:
            return done.stdout
    return None


def version() -> CompilerVersion:
    """Which clang, and which assembler."""
    clang = clang_version()
    found = assemblers()
    if not found:
        return clang
    return CompilerVersion("clang + ptxas", f"{clang.version} + {number_in(said_by(found[0], '--version'), 'V')}")


def _assembled(target: Target, text: str, file: Path, source: str) -> tuple[str | None, str | None]:
    """What CUDA's assembler says, of the first one that knows the target; and why there is nothing, else."""
    file.write_text(_with_lines_only(in_dynamic_memory(text)), encoding="latin1")
    architecture = f"{target.name}a" if re.search(r"^\.target sm_\d+a", text, re.MULTILINE) else target.name
    too_old = too_new = ""
    for program in assemblers():
        command = [program, "-v", "-lineinfo", "-arch", architecture]
        done = attempt([*command, "-o", str(file.with_suffix(".cubin")), str(file)], source)
        if done.returncode == 0:
            return done.stdout, None
        if "is not defined for option 'gpu-name'" in done.stdout:
            too_new = program
        elif "Unsupported .version" in done.stdout:
            too_old = program
        else:
            raise refused(done.stdout, source)
    if too_new:
        advice = _OLDER_ASSEMBLER if target.capabilities.ptx_target < (7, 5) else _ASSEMBLER
        return None, f"PTX only: {too_new} does not know {target.name}; for registers: {advice}"
    if too_old:
        return None, f"PTX only: {too_old} is too old for clang's PTX; for registers: {_ASSEMBLER}"
    return None, f"PTX only: CUDA's assembler (ptxas) is not installed; for registers: {_ASSEMBLER}"


def _with_lines_only(text: str) -> str:
    """The text with the lines that it says, without debug information, which would change the code."""
    text = re.sub(r"^(\.target \w+), debug$", r"\1", text, flags=re.MULTILINE)
    text = re.sub(r"^\s*\.section\s+\.debug_\w+\s*\n\s*\{.*?^\s*\}[ \t]*\n", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r'^(\s*\.file\s+\d+) "[^"]*" ("[^"]*")', r"\1 \2", text, flags=re.MULTILINE)


# PTX --------------------------------------------------------------------------------------------------------------

_SHARED = re.compile(
    r"^[ \t]*(?:\.visible )?\.shared(?: \.align \d+)? \.\w+ ([\w$]+)(?:\[(\d+)\])?;[ \t]*\n", re.MULTILINE
)
_ELEMENT = re.compile(r"\.(?:b|u|s|f)(\d+) ")
_STACK = re.compile(r"\.local(?: \.align \d+)? \.b8\s+__local_depot\d+\[(\d+)\];")


@dataclass(frozen=True, slots=True)
class _Memory:
    """Bytes of a block's static shared arrays, and of a thread's arrays in memory, as PTX names them."""

    shared: int
    stack: int

    @classmethod
    def of(cls, text: str) -> _Memory:
        shared = sum(_size(found) for found in _SHARED.finditer(text))
        return cls(shared, sum(map(int, _STACK.findall(text))))


def _size(declaration: re.Match[str]) -> int:
    element = _ELEMENT.search(declaration.group(0))
    return int(declaration.group(2) or 1) * (int(element.group(1)) // 8 if element else 1)


def in_dynamic_memory(text: str) -> str:
    """The text with shared arrays of more than 48 KiB in one array whose size is told at the launch.

    The driver allows a kernel's static arrays to be as large as a multiprocessor's memory, the assembler does not.
    """
    found = list(_SHARED.finditer(text))
    if sum(map(_size, found)) <= _STATIC:
        return text
    places, end = {}, 0
    for one in found:
        places[one.group(1)] = end
        end += -(-_size(one) // 128) * 128
    text = _SHARED.sub("", text)
    names = "|".join(map(re.escape, sorted(places, key=len, reverse=True)))
    text = re.sub(
        rf"(?<![\w$])({names})(?![\w$])(?:\+(\d+))?",
        lambda m: f"pg_shared+{places[m.group(1)] + int(m.group(2) or 0)}",
        text,
    )
    return re.sub(
        r"^(\.address_size \d+\n)", r"\1.extern .shared .align 128 .b8 pg_shared[];\n", text, flags=re.MULTILINE
    )


def _with_limits(text: bytes, source: str, options: tuple[str, ...]) -> bytes:
    """The text with the block's size that the program demands, which clang leaves out, and the limit of registers."""
    found = re.search(r"reqd_work_group_size\((\d+), (\d+), (\d+)\)", source)
    lines = [f".reqntid {', '.join(found.groups())}"] if found else []
    lines += [f".maxnreg {o.partition('=')[2]}" for o in options if o.startswith("-cl-nv-maxrregcount=")]
    if not lines:
        return text
    limits = "".join(f"\n{line}" for line in lines).encode()
    return re.sub(rb"\.entry [^{]*?\)(?=\s*\{)", lambda entry: entry.group(0) + limits, text, count=1)


def figures_of_assembler(said: str, shared: int) -> OfflineFigures:
    """Figures from ``ptxas -v``."""

    def number(pattern: str) -> int:
        found = re.search(pattern, said)
        return int(found.group(1)) if found else 0

    return OfflineFigures(
        registers=number(r"Used (\d+) registers"),
        matrix_registers=0,
        scalar_registers=None,
        spilled=number(r"(\d+) bytes spill stores") // 4,
        scratch_bytes=number(r"(\d+) bytes stack frame"),
        local_bytes=max(shared, number(r"(\d+)(?:\+\d+)? bytes smem")),
        lanes=_LANES,
        occupancy=None,
    )
