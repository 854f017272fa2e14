"""PTX text of the IR's instructions; ``%0``, ``%1`` ... are their registers, results first."""

from __future__ import annotations

from collections.abc import Callable

from portagpu.ir.nodes import Instruction
from portagpu.ir.types import Scalar

# PTX's types, and its constraints for registers of them, by the types of OpenCL C
PTX_TYPES = {"float": "f32", "double": "f64", "int": "s32", "uint": "u32", "long": "s64", "ulong": "u64"}
REGISTERS = {
    "float": "f",
    "double": "d",
    "int": "r",
    "uint": "r",
    "long": "l",
    "ulong": "l",
    "half": "h",
    "short": "h",
    "ushort": "h",
}
_ELEMENTS = {
    "float16": "f16",
    "bfloat16": "bf16",
    "tfloat32": "tf32",
    "float32": "f32",
    "float64": "f64",
    "int8": "s8",
    "uint8": "u8",
    "int32": "s32",
}
_WGMMA_DEPTH = {"float16": 16, "bfloat16": 16, "tfloat32": 8, "int8": 32, "uint8": 32}
# instructions without attributes
_FIXED = {
    "async_copy_commit": "cp.async.commit_group;",
    "barrier_sync": "barrier.sync.aligned %0, %1;",
    "fence_mbarrier_init": "fence.mbarrier_init.release.cluster;",
    "fence_proxy_async": "fence.proxy.async.shared::cta;",
    "griddepcontrol_launch_dependents": "griddepcontrol.launch_dependents;",
    "griddepcontrol_wait": "griddepcontrol.wait;",
    "mbarrier_arrive": "mbarrier.arrive.shared::cta.b64 _, [%0];",
    "mbarrier_arrive_expect_tx": "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;",
    "mbarrier_init": "mbarrier.init.shared::cta.b64 [%0], %1;",
    "tensor_map_acquire": "fence.proxy.tensormap::generic.acquire.gpu [%0], 128; prefetch.tensormap [%0];",
    "tensor_map_release": "fence.proxy.tensormap::generic.release.gpu;",
    "tma_store_commit": "cp.async.bulk.commit_group;",
    "wgmma_commit_group": "wgmma.commit_group.sync.aligned;",
    "wgmma_fence": "wgmma.fence.sync.aligned;",
}
# what exists on one architecture alone, so that drivers refuse it in source (`backends.opencl.architecture_ptx`)
ARCHITECTURE = frozenset(
    {
        *("setmaxnreg", "tensor_map_fix", "tensor_map_replace"),
        *("wgmma", "wgmma_commit_group", "wgmma_fence", "wgmma_wait_group"),
    }
)


def ptx_text(instruction: Instruction) -> str:
    """The text of an instruction."""
    fixed = _FIXED.get(instruction.name)
    return _FORMS[instruction.name](instruction) if fixed is None else fixed


def _registers(count: int, start: int) -> str:
    return "{" + ", ".join(f"%{i}" for i in range(start, start + count)) + "}"


def _accumulator(instruction: Instruction) -> str:
    kind = instruction.results[0].type
    assert isinstance(kind, Scalar)
    return _ELEMENTS[kind.dtype.name]


def _mma_sync(instruction: Instruction) -> str:
    dtype, shape, a = instruction.attributes
    assert isinstance(a, int)
    c, element, total = len(instruction.results), _ELEMENTS[str(dtype)], _accumulator(instruction)
    place, rest = _registers(c, 0), f"{_registers(a, c)}, {_registers(len(instruction.operands) - a, c + a)}"
    return f"mma.sync.aligned.{shape}.row.col.{total}.{element}.{element}.{total} {place}, {rest}, {place};"


def _ldmatrix(instruction: Instruction) -> str:
    (transposed,), count = instruction.attributes, len(instruction.results)
    trans = ".trans" if transposed else ""
    return f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {_registers(count, 0)}, [%{count}];"


def _wgmma(instruction: Instruction) -> str:
    columns, dtype, in_registers, adds, *flags = instruction.attributes
    element, depth, total = _ELEMENTS[str(dtype)], _WGMMA_DEPTH[str(dtype)], _accumulator(instruction)
    position = len(instruction.results)
    first = _registers(4, position) if in_registers else f"%{position}"
    second = position + (4 if in_registers else 1)
    shape = f"m64n{columns}k{depth}.{total}.{element}.{element}"
    body = f"wgmma.mma_async.sync.aligned.{shape} {_registers(position, 0)}, {first}, %{second}, "
    scales = "" if total == "s32" else ", 1, 1"
    trans = ""
    if depth == 16:
        trans = "".join(f", {int(bool(flag))}" for flag in (flags[1:] if in_registers else flags))
    if adds is not None:
        return f"{body}{int(adds)}{scales}{trans};"
    return f"{{ .reg .pred p; setp.ne.b32 p, %{second + 1}, 0; {body}p{scales}{trans}; }}"


def _mbarrier_wait(instruction: Instruction) -> str:
    (orders,) = instruction.attributes  # what the cluster's threads wrote
    scope = ".acquire.cluster" if orders else ""
    return (
        f"{{ .reg .pred p; WAIT_%=: mbarrier.try_wait.parity{scope}.shared::cta.b64 p, [%0], %1; @p bra DONE_%=;"
        " bra WAIT_%=; DONE_%=: }"
    )


def _setmaxnreg(instruction: Instruction) -> str:
    increase, count = instruction.attributes
    return f"setmaxnreg.{'inc' if increase else 'dec'}.sync.aligned.u32 {count};"


def _tma_load(instruction: Instruction) -> str:
    (axes,) = instruction.attributes
    assert isinstance(axes, int)
    to_several = instruction.name == "tma_load_multicast"
    how, mask = (".multicast::cluster", f", %{3 + axes}") if to_several else ("", "")
    return (
        f"cp.async.bulk.tensor.{axes}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{how}"
        f" [%0], [%1, {_registers(axes, 2)}], [%{2 + axes}]{mask};"
    )


def _tma_store(instruction: Instruction) -> str:
    (axes,) = instruction.attributes
    assert isinstance(axes, int)
    return (
        f"cp.async.bulk.tensor.{axes}d.global.shared::cta.tile.bulk_group [%0, {_registers(axes, 1)}], [%{1 + axes}];"
    )


def _tensor_map_replace(instruction: Instruction) -> str:
    field, width, ordinal = instruction.attributes
    at = "" if ordinal is None else f"{ordinal}, "
    return f"tensormap.replace.tile.{field}.global.b1024.b{width} [%0], {at}%1;"


def _tensor_map_fix(instruction: Instruction) -> str:
    field, ordinal, value = instruction.attributes
    at = "" if ordinal is None else f"{ordinal}, "
    return f"tensormap.replace.tile.{field}.global.b1024.b32 [%0], {at}{value};"


def _async_copy_bytes(instruction: Instruction) -> str:
    (size,) = instruction.attributes
    cached = "cg" if size == 16 else "ca"  # 16 bytes pass by the first-level cache
    read = ", %2" if len(instruction.operands) == 3 else ""
    return f"cp.async.{cached}.shared.global [%0], [%1], {size}{read};"


_FORMS: dict[str, Callable[[Instruction], str]] = {
    "async_copy_bytes": _async_copy_bytes,
    "async_copy_wait": lambda i: f"cp.async.wait_group {i.attributes[0]};",
    "ldmatrix": _ldmatrix,
    "mbarrier_arrive_cluster": lambda i: (
        f"mbarrier.arrive{'.release.cluster' if i.attributes[0] else ''}.shared::cluster.b64 _, [%0];"
    ),
    "mbarrier_wait_parity": _mbarrier_wait,
    "mma_sync": _mma_sync,
    "setmaxnreg": _setmaxnreg,
    "tensor_map_fix": _tensor_map_fix,
    "tensor_map_replace": _tensor_map_replace,
    "tma_load": _tma_load,
    "tma_load_multicast": _tma_load,
    "tma_store": _tma_store,
    "tma_store_wait": lambda i: f"cp.async.bulk.wait_group.read {i.attributes[0]};",
    "wgmma": _wgmma,
    "wgmma_wait_group": lambda i: f"wgmma.wait_group.sync.aligned {i.attributes[0]};",
}
INSTRUCTIONS = frozenset({*_FIXED, *_FORMS})
