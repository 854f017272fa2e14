"""New code for a kernel: the front end, the passes, the back end's text."""

from __future__ import annotations

import dataclasses

from portagpu.backends.source import KernelSource
from portagpu.dispatch.code.definition import KernelDefinition
from portagpu.dispatch.code.requests import Request
from portagpu.frontend.source.dependencies import Dependencies
from portagpu.ir.verify import verify
from portagpu.passes.counts.counting import counting
from portagpu.passes.pipeline import PIPELINE


def new_code(kernel: KernelDefinition, request: Request, record: Dependencies | None) -> KernelSource:
    """Generate code; ``record`` notes what it depends on. Raises `KernelError` subclasses."""
    caps, own, counts = request.caps, request.backend.passes, request.counts
    passes = PIPELINE if own is None else own
    program = kernel.lowered(
        request.types,
        caps,
        wide=request.wide,
        launch=request.launch,
        block=request.block,
        dependencies=record,
        passes=passes if counts is None else counting(passes, touched=counts.touched),
    )
    verify(program)
    request.backend.check(program)
    needed = request.shared if program.fused is None else request.shared * program.fused.blocks
    static = needed if program.dynamic_shared and needed > caps.local_memory_argument else 0
    size = kernel.options.subgroup_size
    rendered = request.backend.render(program, caps, static_dynamic_shared=static, subgroup_size=size)
    if counts is None:
        return rendered
    return dataclasses.replace(rendered, counted=program.counted, granule=program.granule)
