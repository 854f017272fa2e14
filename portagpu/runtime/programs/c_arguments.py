"""The C arguments of a launch, as Python text made once a kernel and run at each launch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.backends.source import KernelSource
from portagpu.dtypes import BOOL
from portagpu.ir.program import Parameter, ParameterRole
from portagpu.ir.types import DYNAMIC_SHARED, Pointer, Scalar, element_size
from portagpu.runtime.execution.context import Context


def scalar_dtype(parameter: Parameter) -> Any:
    """The dtype of a number's C parameter; None for memory."""
    if isinstance(parameter.type, Pointer):
        return None
    assert isinstance(parameter.type, Scalar)
    return np.dtype(parameter.type.dtype.name if parameter.type.dtype is not BOOL else "uint8")


def argument_extractor(kernel_source: KernelSource, context: Context) -> Callable[..., tuple[Any, ...]]:
    """A function from kernel arguments to C arguments, as Python code: it runs at each launch."""
    body, names = c_arguments(kernel_source.parameters, context)
    if kernel_source.fused is not None:  # one part for each block
        blocks, unit = kernel_source.fused.blocks, element_size(DYNAMIC_SHARED.element)
        local = context.driver.local_memory
        names["local"] = lambda n: local(blocks * unit * max(1, -(-n // unit)))
    made: Callable[..., tuple[Any, ...]] = eval(
        compile(f"lambda args, shared, record=None, counts=(): ({body})", "<portagpu launch>", "eval"), names
    )
    return made


def c_arguments(
    parameters: tuple[Parameter, ...], context: Context, *, planned: bool = False
) -> tuple[str, dict[str, Any]]:
    """Python text of a tuple of the C arguments, and the names that it uses beside ``args`` and ``shared``.

    The text is made of integers and fixed attribute names only; device arrays' attributes are read without properties.
    Where a launch is ``planned``, the arguments are the variables ``a0``, ``a1`` ..., the items of a tuple ``a1_0``,
    ``a1_1`` ...
    """
    parts = []
    for p in parameters:
        path = "".join(f"[{int(i)}]" for i in p.path)
        value = "a" + "_".join(str(int(i)) for i in p.path) if planned and p.path else f"args{path}"
        unit = str(int(p.unit)) if p.unit else f"{value}.itemsize"
        match p.role:
            case ParameterRole.POINTER:
                parts.append(f"({value}.base is None and {value}._buffer or {value}.buffer)")
            case ParameterRole.SHAPE:
                parts.append(f"{value}._shape[{int(p.axis)}]")
            case ParameterRole.STRIDE:
                parts.append(f"{value}._strides[{int(p.axis)}] // {unit}")
            case ParameterRole.OFFSET:
                parts.append(f"{value}.offset // {unit}")
            case ParameterRole.SCALAR:
                parts.append(value)
            case ParameterRole.DYNAMIC_SHARED:
                parts.append("local(shared)" if isinstance(p.type, Pointer) else "shared")
            case ParameterRole.FAULT:
                parts.append("record")
            case ParameterRole.GRID_CELLS:
                parts.append("cells()")
            case ParameterRole.COUNTS:
                parts.append(f"counts[{int(p.axis)}]")
            case ParameterRole.SHARED:
                raise AssertionError("kernels have no shared parameters")

    local, memory_of = context.driver.local_memory, context.driver.memory_of

    def cells() -> Any:  # new ones for each launch: launches on two streams may overlap
        return memory_of(np.zeros(1, np.uint32))

    return "".join(f"{part}, " for part in parts), {"local": lambda n: local(max(n, 16)), "cells": cells}
