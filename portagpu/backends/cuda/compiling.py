"""Compiles OpenCL C for CUDA: the OpenCL driver of the same card makes PTX of it, which CUDA's driver takes."""

from __future__ import annotations

from portagpu.backends.cuda import ptx
from portagpu.backends.cuda.cards import opencl_of
from portagpu.backends.cuda.kernels import Program
from portagpu.backends.cuda.primary import Primary
from portagpu.backends.driver import Built
from portagpu.backends.opencl.intermediate import intermediate_text


def compiled(primary: Primary, ordinal: int, source: str, options: tuple[str, ...], remarks: tuple[str, ...]) -> Built:
    """Compile a program; see `portagpu.backends.driver.Driver.compile`."""
    text = intermediate_text(opencl_of(ordinal), source, options)
    program = Program(primary, ptx.patched(text), options, verbose=bool(remarks))
    return Built(program=program, said=program.said)
