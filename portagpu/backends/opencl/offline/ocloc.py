"""Intel's compiler: its binaries say what a kernel needs, the text that it writes for its makers which instructions.

That text is a dump, which variables of the environment ask for. Lines are in it where the program is compiled once more
with debug information, which is done only for kernels that have something to say by it.
"""

from __future__ import annotations

import glob
import re
import shutil
from dataclasses import replace
from pathlib import Path

from portagpu.backends.offline import Compiled, CompilerVersion
from portagpu.backends.opencl.offline.figures import figures_of_binary
from portagpu.backends.opencl.offline.instructions import xe
from portagpu.backends.opencl.offline.instructions.counting import counted
from portagpu.backends.opencl.offline.parts import (
    LINES,
    Part,
    check_resolved,
    number_in,
    path_of,
    refused,
    run,
    said_by,
)
from portagpu.backends.opencl.offline.target import Target

OCLOC = Part(name="ocloc", package="intel-opencl-icd", find=lambda: shutil.which("ocloc"))
_NO_TEXT = "no instruction mix: this ocloc writes no assembly"


def compile_ocloc(target: Target, path: Path, source: str, options: tuple[str, ...]) -> Compiled:
    """Figures and assembly of a program. Raises `BuildError`, `MissingCompilerError`."""
    known = " ".join((target.capabilities.language_option, *options)).strip()
    log, text = _run(target, path, source, known)
    binaries = sorted(path.parent.glob("kernel*.bin"))
    if not binaries:
        raise refused(f"{log}\nerror: no binary was written", source)
    figures, unresolved = figures_of_binary(binaries[0].read_bytes())
    check_resolved(unresolved, source)
    if text is None:
        return Compiled(figures=figures, log=log, assembly=None, remark=_NO_TEXT)
    mix, _ = counted("Xe", xe.instructions(text), xe.kind_of)
    spilled = re.search(r"^//\.spill (?:GRF est\. )?ref count (\d+)", text, re.MULTILINE)
    figures = replace(figures, mix=mix, spilled=int(spilled.group(1)) if spilled else figures.spilled)
    lines: dict[int, int] = {}
    if figures.spills:
        _, text_with_lines = _run(target, path, source, f"{known} {LINES}")
        _, lines = counted("Xe", xe.instructions(text_with_lines or ""), xe.kind_of)
        lines = lines or _private_arrays(source)
    return Compiled(figures=figures, log=log, assembly=text, scratch_lines=lines)


_PRIVATE_ARRAY = re.compile(r"^\s+(?!__local|__global|return)[a-z]\w* \w+\[\d+\](?: __attribute__.*)?;")


def _private_arrays(source: str) -> dict[int, int]:
    """Lines that declare arrays of a thread: where they are in global memory, messages do not tell them apart."""
    return {number: 1 for number, line in enumerate(source.splitlines(), 1) if _PRIVATE_ARRAY.match(line)}


def _run(target: Target, path: Path, source: str, options: str) -> tuple[str, str | None]:
    """What the compiler says, and the assembly that it writes beside its binary."""
    folder = path.parent / "text"
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    command = [
        *(path_of(OCLOC), "compile", "-device", target.name, "-out_dir", str(path.parent), "-output", "kernel"),
        # the binary as ELF sections with a text that says registers and scratch memory
        *("-internal_options", "-cl-intel-allow-zebin", "-options", options, "-file", str(path)),
    ]
    log = run(command, source, IGC_ShaderDumpEnable="1", IGC_DumpToCustomDir=str(folder))
    texts = sorted(folder.glob("*.asm"))
    return log, texts[-1].read_text(encoding="utf-8", errors="replace") if texts else None


def unknown(target: Target) -> str | None:
    """That the compiler which is installed is older than a target, or None."""
    program = path_of(OCLOC)
    known = re.search(r"<device_type> can be:(.*)\n", said_by(program, "compile", "--help"))
    names = re.findall(r"[\w-]+", said_by(program, "compile", "--help")) if known else [target.name]
    return None if target.name in names else f"this ocloc ({version().version}) does not know {target.name}"


def libraries() -> list[str]:
    """Where the compiler proper is, which has a package of its own."""
    return sorted(glob.glob("/usr/lib/*/libigc.so.?"))


def version() -> CompilerVersion:
    """Which compute runtime's it is."""
    return CompilerVersion("ocloc", number_in(said_by(path_of(OCLOC), "query", "OCL_DRIVER_VERSION")))
