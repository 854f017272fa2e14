"""Builds of OpenCL programs in child processes; see `portagpu.backends.build_process`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyopencl import _cl

from portagpu.backends.build_process import Builder, Builders, Built, CompilerDied, NoBuilder
from portagpu.backends.opencl import build_child

__all__ = ["Builder", "Built", "CompilerDied", "NoBuilder", "build_apart", "close_builders", "library"]


def library() -> str:
    """A library through which OpenCL's functions are found: PyOpenCL's module brings the loader along."""
    return "OpenCL" if sys.platform == "win32" else _cl.__file__


def _command(key: str) -> list[str]:
    return ["-I", "-S", str(Path(build_child.__file__).resolve()), library(), str(os.getpid()), key]


builders = Builders(_command)
build_apart = builders.build
close_builders = builders.close
