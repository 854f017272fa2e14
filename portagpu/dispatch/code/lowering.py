"""From a kernel's text to the IR that a back end renders: the frontend, then the passes of a device."""

from __future__ import annotations

from dataclasses import replace

from portagpu.device.capabilities import Capabilities
from portagpu.frontend.source.capture import FunctionSource
from portagpu.frontend.source.dependencies import Dependencies
from portagpu.frontend.specialise import specialise
from portagpu.ir.program import GridShape, Program
from portagpu.ir.types import ArgumentType
from portagpu.passes.pipeline import PIPELINE, Pass, legalise


def lower_kernel(
    source: FunctionSource,
    arguments: tuple[ArgumentType, ...],
    caps: Capabilities,
    *,
    wide_index: bool = False,
    debug: bool = False,
    fast: bool = False,
    fma: bool = True,
    bounds: bool = False,
    block_dim: tuple[int, int, int] | None = None,
    cluster: tuple[int, int, int] | None = None,
    launch: GridShape | None = None,
    dependencies: Dependencies | None = None,
    passes: tuple[Pass, ...] | None = None,
) -> Program:
    """A kernel for the given argument types as a device can run it.

    ``passes`` are those of the back end (None: all). ``fma``: a product and a sum may be rounded once, as one.
    ``launch`` is what the kernel is for, if its blocks wait for each other on a device that does not run all at once.
    The other options are those of `portagpu.frontend.specialise.specialise`. Raises subclasses of
    `portagpu.errors.KernelError`.
    """

    program = specialise(
        source,
        arguments,
        caps,
        wide_index=wide_index,
        debug=debug,
        fast=fast,
        bounds=bounds,
        block_dim=block_dim,
        cluster=cluster,
        dependencies=dependencies,
    )
    return legalise(replace(program, fma=fma), caps, launch, PIPELINE if passes is None else passes)
