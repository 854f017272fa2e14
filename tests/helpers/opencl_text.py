"""The OpenCL C of a kernel for a device that is not at hand; for tests of all folders."""

from __future__ import annotations

from portagpu.backends.opencl.codegen.generate import generate
from portagpu.device.ideal_device import IDEAL
from portagpu.dispatch.arguments import conversion
from portagpu.ir.types import ConstantType
from portagpu.ir.verify import verify


def text_of(kernel, *args, caps=IDEAL):
    """OpenCL C for a device with these capabilities; arrays among the arguments do not overlap."""
    names, fixed = kernel.source.parameters, kernel.source.constexpr
    types = tuple(
        ConstantType(a) if n in fixed else conversion.argument_type(a, alias=False)
        for n, a in zip(names, args, strict=True)
    )
    program = kernel.lowered(types, caps)
    verify(program)
    return generate(program, caps).source
