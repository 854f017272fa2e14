"""What offline compilers are made of, how each part is found, and how a compiler is run."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from portagpu.backends.offline import Compiled, CompilerVersion
from portagpu.backends.opencl.offline.target import Target
from portagpu.errors import BuildError, MissingCompilerError

_LIMIT_S = 300.0
LINES = "-gline-tables-only"  # lines in the assembly; the code is the same with it
_CLANGS = ("clang-19", "clang-20", "clang-21", "/opt/rocm/llvm/bin/clang", "clang")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A program or a library. ``package``: what to install on Debian and Ubuntu."""

    name: str
    package: str
    find: Callable[[], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineCompiler:
    """How one compiler is run: the target, the file of the program, its text, options.

    ``version``: which one it is. ``unknown``: why the one that is installed knows no such target, or None. ``others``:
    files beside those of the parts that decide about what comes of a program.
    """

    parts: tuple[Part, ...]
    compile: Callable[[Target, Path, str, tuple[str, ...]], Compiled]
    version: Callable[[], CompilerVersion]
    unknown: Callable[[Target], str | None] = lambda target: None
    others: Callable[[], Iterable[str]] = tuple

    @property
    def tools(self) -> list[str]:
        """Paths of all that decides about what comes of a program."""
        return [*(path for part in self.parts if (path := part.find())), *self.others()]

    @property
    def package(self) -> str:
        """All packages."""
        return " ".join(part.package for part in self.parts)

    @property
    def missing(self) -> tuple[Part, ...]:
        """The parts that are not installed."""
        return tuple(part for part in self.parts if part.find() is None)


def find_clang() -> str | None:
    """The path of a clang that is new enough."""
    return next((path for name in _CLANGS if (path := shutil.which(name))), None)


@cache
def said_by(*command: str) -> str:
    """What a program prints that is asked for its version; "" where it does not answer."""
    with (
        tempfile.TemporaryDirectory(prefix="portagpu-offline-") as folder,
        suppress(OSError, subprocess.SubprocessError),
    ):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
        written = [file.read_text(encoding="utf-8", errors="replace") for file in sorted(Path(folder).iterdir())]
        return "\n".join([done.stdout, *written])  # some programs write files
    return ""


def number_in(text: str, before: str = "") -> str:
    """The first version number in a text, behind some words; "?" where there is none."""
    found = re.search(before + r"\s*[vV]?(\d+(?:\.\d+)+)", text)
    return found.group(1) if found else "?"


def clang_version() -> CompilerVersion:
    """Which clang is installed."""
    return CompilerVersion("clang", number_in(said_by(find_clang() or "clang", "--version"), "version"))


CLANG = Part(name="clang", package="clang-19", find=find_clang)


def path_of(part: Part) -> str:
    """Where a part is. Raises `MissingCompilerError` if it went away meanwhile."""
    found = part.find()
    if found is None:
        raise MissingCompilerError(f"{part.name} is not installed", hint=f"apt-get install {part.package}")
    return found


def first_file(patterns: Iterable[str]) -> str | None:
    """The first file that a pattern matches, patterns in order."""
    found = (name for pattern in patterns for name in sorted(glob.glob(pattern)))
    return next((name for name in found if Path(name).is_file()), None)


def prelude(name: str, folder: Path) -> Path:
    """A copy of the text that stands before every program of a target, as a file in the folder."""
    text = (
        files("portagpu.backends.opencl.offline").joinpath("kernels").joinpath(f"{name}.cl").read_text(encoding="utf-8")
    )
    made = folder / f"{name}.h"
    made.write_text(text, encoding="utf-8")
    return made


def run(command: list[str], source: str, **environment: str) -> str:
    """The output of a compiler. Raises `BuildError` where it fails."""
    done = attempt(command, source, **environment) if environment else attempt(command, source)
    if done.returncode != 0:
        raise refused(done.stdout, source)
    return done.stdout


def run_with_lines(command: list[str], source: str) -> str:
    """As `run`; a program that the compiler dies of with lines (LLVM 19 does for NVPTX) is compiled without them."""
    try:
        return run(command, source)
    except BuildError:
        return run([part for part in command if part != LINES], source)


def attempt(command: list[str], source: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A compiler's exit status, and its output and complaints as ``stdout``."""
    try:
        return subprocess.run(
            command,
            cwd=Path(command[-1]).parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_LIMIT_S,
            env={**os.environ, "LC_ALL": "C", **environment},
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise refused(f"it ran longer than {_LIMIT_S:.0f} s", source) from error
    except OSError as error:
        raise MissingCompilerError(f"{command[0]} cannot be run: {error}") from error


def refused(log: str, source: str) -> BuildError:
    """The error of a program that a compiler does not take."""
    result = BuildError("the offline compiler refused the program")
    result.log, result.opencl_source = log, source
    return result


def check_resolved(names: Iterable[str], source: str) -> None:
    """Refuse a program that calls functions which are nowhere: a device's driver could not load it."""
    unknown = sorted(names)
    if unknown:
        raise refused(f"error: no library of the compiler defines {', '.join(unknown)}", source)
