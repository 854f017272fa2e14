"""Lowering of warp operations as inline PTX; without it, a pass makes exchanges through shared memory of them."""

from __future__ import annotations

from portagpu.backends.c_family.c_types import c_type
from portagpu.backends.c_family.precedence import POSTFIX
from portagpu.backends.c_family.registry import Lowered, Printing
from portagpu.backends.opencl.codegen.table import OPENCL
from portagpu.dtypes import UINT32
from portagpu.ir.nodes import Cast, Operation
from portagpu.ir.types import Scalar

_VALUES = {"warp_shfl": 1, "warp_match_any": 1, "warp_match_all": 1}
_NATIVE_VOTES = ("warp_all", "warp_any", "warp_eq", "warp_ballot")
_MOST_VOTES = 8  # that take less time than a comparison of whole values
_ALL_LANES = 0xFFFFFFFF
_WORDS = ("warp_active", *_NATIVE_VOTES)


def _typed(printer: Printing, expr: Operation) -> Lowered:
    """A helper made for the type of the value that is exchanged."""
    kind = expr.args[_VALUES[expr.name]].type
    assert isinstance(kind, Scalar)
    return _call(printer, expr, c_type(kind))


def _match_any(printer: Printing, expr: Operation) -> Lowered:
    """Of values that are known to have few bits, by a vote on each: comparing whole values is one slow instruction.

    Only among all lanes: a compiler gives up votes in several branches (docs/driver-quirks.md).
    """
    mask, value = expr.args
    known = printer.facts.ranges.of(value)
    assert isinstance(value.type, Scalar)
    is_whole = printer.facts.ranges.of(mask).low == _ALL_LANES
    if not (is_whole and value.type.dtype.is_integer and known.is_nonnegative and known.high < 1 << _MOST_VOTES):
        return _typed(printer, expr)
    bits = max(1, int(known.high).bit_length())
    helper = printer.helpers.use("warp", "warp_match_bits_ptx", "uint", variant=str(bits))
    word = Cast(value, Scalar(UINT32), span=expr.span)
    return f"{helper}({printer.text(mask)}, {printer.text(word)})", POSTFIX


def _untyped(printer: Printing, expr: Operation) -> Lowered:
    return _call(printer, expr, "uint")


def _call(printer: Printing, expr: Operation, kind: str) -> Lowered:
    args = expr.args
    name = "warp_shuffle_ptx" if expr.name == "warp_shfl" else f"{expr.name}_ptx"
    if expr.name in _NATIVE_VOTES:
        args = (args[0], Cast(args[1], Scalar(UINT32), span=expr.span))
    return f"{printer.helpers.use('warp', name, kind)}({', '.join(map(printer.text, args))})", POSTFIX


def _sync(printer: Printing, expr: Operation) -> Lowered:
    return f'asm volatile("bar.warp.sync %0;" :: "r"({printer.text(expr.args[0])}) : "memory")', POSTFIX


def _nanosleep(printer: Printing, expr: Operation) -> Lowered:
    return f'asm volatile("nanosleep.u32 %0;" :: "r"({printer.text(expr.args[0])}) : "memory")', POSTFIX


def _grid_sync(printer: Printing, expr: Operation) -> Lowered:
    # a fence that only orders is cheaper than one in sequence with all others
    variant = "" if printer.helpers.caps.ptx_target < (7, 0) else "ordered"
    helper = printer.helpers.use("warp", "warp_grid_sync", "uint", variant=variant)
    return f"{helper}({printer.text(expr.args[0])})", POSTFIX


OPENCL.update(dict.fromkeys(_VALUES, _typed))
OPENCL.update(dict.fromkeys(_WORDS, _untyped))
OPENCL["warp_match_any"] = _match_any
OPENCL.update({"warp_sync": _sync, "nanosleep": _nanosleep, "grid_sync": _grid_sync})
