"""Expressions whose elements are written into arrays that they may read."""

from __future__ import annotations

from typing import Any

from portagpu.errors import ArgumentTypeError
from portagpu.expressions.evaluation import evaluate
from portagpu.expressions.node import Node
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.copies import copy_strided
from portagpu.runtime.arrays.overlap import crosses, shares_elements
from portagpu.runtime.execution.current import current_stream


def write(node: Node, target: DeviceNDArray, value: DeviceNDArray | None = None) -> None:
    """Compute a node's elements into an array of its shape, after all that is to be computed from what it holds now.

    ``value``: an array of the program's that the node reads; where it is put off, the same kernel computes it, if it
    has an element for each that is written. Else it is computed before, since it may read what is written.
    Raises `ArgumentTypeError` where the array is on another device than what is computed.
    """
    target.buffer  # noqa: B018 - where it is itself put off
    context = node.context
    if target.context is not context:
        raise ArgumentTypeError(
            f"what is computed on {context.device.name} is not written to an array on {target.context.device.name}",
            hint="copy it: x[...] = y",
        )
    context.unsettled.settle(value if _is_stored_beside(value, target) else None, current_stream(context))
    with context.unsettled:
        if not target.align and not _reads_elsewhere(node, target):
            evaluate(node, into=target)
            return
        node.applied = None  # what is kept beside it is written to arrays that lie like the target, not like this one
        made = device_array(target.shape, target.dtype, context=context)
        evaluate(node, into=made)
        copy_strided(made, target, current_stream(context))


def _is_stored_beside(value: DeviceNDArray | None, target: DeviceNDArray) -> bool:
    """Whether the kernel that writes a target stores an array that is put off, too."""
    if value is None or value.shape != target.shape:
        return False
    deferred: Any = value.deferred
    return deferred is not None and deferred.node.shifts is None


def _reads_elsewhere(node: Node, target: DeviceNDArray) -> bool:
    """Whether an element's value depends on other elements of the target, which may have been written by then."""
    if node.result is not None:
        return crosses(node.result, target)
    operands: tuple[Any, ...] = node.operands
    if node.shifts is not None:
        return shares_elements(operands[0], target)
    for x in operands:
        if _reads_elsewhere(x, target) if type(x) is Node else isinstance(x, DeviceNDArray) and crosses(x, target):
            return True
    return False
