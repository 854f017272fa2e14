"""Hopper's bulk tensor copies (TMA), and the barriers in shared memory that they signal.

PTX ISA: "Data movement and conversion instructions: cp.async.bulk.tensor", "mbarrier", "Tensor map".
"""

from __future__ import annotations

from portagpu.dtypes import UINT16
from portagpu.errors import KernelTypeError, KernelValueError
from portagpu.frontend.core.convert import describe
from portagpu.frontend.core.registry import Call, intrinsic
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, Value
from portagpu.frontend.intrinsics.instructions import (
    UINT,
    array_of,
    constant_of,
    emit_instruction,
    flag_of,
    global_address,
    number,
    place_of,
    require_architecture,
    require_target,
    shared_address,
)
from portagpu.frontend.operations.environment import index_items
from portagpu.ir.nodes import Expr, Operation
from portagpu.ir.types import ULONG, Scalar, Space

_HINT = "copy with cuda.pipeline_memcpy_async, which works everywhere"
_HOPPER = (9, 0)


def _barrier(ctx: FunctionState, name: str, array: Value, index: Value, space: Space = Space.SHARED) -> Expr:
    """The address of a barrier: an element of a shared array of 64-bit integers, perhaps of a distributed one."""
    found = array_of(ctx, name, "the barrier", array, space)
    if not isinstance(found.element, Scalar) or found.element.dtype.name not in ("uint64", "int64"):
        ctx.fail(
            f"a barrier of cuda.{name} is an element of a shared array of uint64, not of {describe(ctx, array)}",
            kind=KernelTypeError,
        )
    return Operation("shared_address", (place_of(ctx, found, index),), UINT, effect=True, span=ctx.span)


@intrinsic("shared_address")
def _shared_address(ctx: FunctionState, site: Call) -> Value:
    array, index = site.bind(ctx, "cuda.shared_address", "array", "index")
    require_target(ctx, "shared_address", (7, 0), _HINT)
    return ctx.temp(shared_address(ctx, "shared_address", "the array", array, index))


@intrinsic("mbarrier_init")
def _mbarrier_init(ctx: FunctionState, site: Call) -> Value:
    name = "mbarrier_init"
    array, index, count = site.bind(ctx, f"cuda.{name}", "barriers", "index", "count")
    require_target(ctx, name, (8, 0), _HINT)
    operands = (_barrier(ctx, name, array, index), number(ctx, name, "the count", count, UINT))
    return emit_instruction(ctx, name, operands=operands)


@intrinsic("mbarrier_arrive")
def _mbarrier_arrive(ctx: FunctionState, site: Call) -> Value:
    name = "mbarrier_arrive"
    array, index, relaxed = site.bind(ctx, f"cuda.{name}", "barriers", "index", relaxed=Const(False))
    require_target(ctx, name, _HOPPER, _HINT)
    orders = not flag_of(ctx, name, "`relaxed`", relaxed)
    if isinstance(array, ArrayValue) and array.space is Space.CLUSTER:
        operands = (_barrier(ctx, name, array, index, Space.CLUSTER),)
        return emit_instruction(ctx, "mbarrier_arrive_cluster", orders, operands=operands)
    return emit_instruction(ctx, name, operands=(_barrier(ctx, name, array, index),))


@intrinsic("mbarrier_arrive_expect_tx")
def _mbarrier_arrive_expect_tx(ctx: FunctionState, site: Call) -> Value:
    name = "mbarrier_arrive_expect_tx"
    array, index, count = site.bind(ctx, f"cuda.{name}", "barriers", "index", "bytes")
    require_target(ctx, name, _HOPPER, _HINT)
    operands = (_barrier(ctx, name, array, index), number(ctx, name, "the bytes", count, UINT))
    return emit_instruction(ctx, name, operands=operands)


@intrinsic("mbarrier_wait_parity")
def _mbarrier_wait_parity(ctx: FunctionState, site: Call) -> Value:
    name = "mbarrier_wait_parity"
    array, index, parity, relaxed = site.bind(ctx, f"cuda.{name}", "barriers", "index", "parity", relaxed=Const(False))
    require_target(ctx, name, _HOPPER, _HINT)
    operands = (_barrier(ctx, name, array, index), number(ctx, name, "the parity", parity, UINT))
    orders = ctx.program.cluster is not None and not flag_of(ctx, name, "`relaxed`", relaxed)
    return emit_instruction(ctx, name, orders, operands=operands)


@intrinsic("barrier_sync")
def _barrier_sync(ctx: FunctionState, site: Call) -> Value:
    name = "barrier_sync"
    which, threads = site.bind(ctx, f"cuda.{name}", "number", "threads")
    require_target(ctx, name, (7, 0), "use cuda.syncthreads, the barrier of the whole block")
    operands = (number(ctx, name, "the number", which, UINT), number(ctx, name, "the threads", threads, UINT))
    return emit_instruction(ctx, name, operands=operands)


@intrinsic("fence_proxy_async")
def _fence_proxy_async(ctx: FunctionState, site: Call) -> Value:
    site.bind(ctx, "cuda.fence_proxy_async")
    require_target(ctx, "fence_proxy_async", _HOPPER, _HINT)
    return emit_instruction(ctx, "fence_proxy_async")


def _coordinates(ctx: FunctionState, name: str, place: Value) -> list[Expr]:
    """The coordinates of a tile's first element, the fastest axis first, as PTX takes them."""
    items = index_items(ctx, place)
    if not 1 <= len(items) <= 5:
        ctx.fail(f"cuda.{name} takes one to five coordinates, not {len(items)}", kind=KernelValueError)
    return [number(ctx, name, "a coordinate", item, UINT) for item in reversed(items)]


@intrinsic("tma_load")
def _tma_load(ctx: FunctionState, site: Call) -> Value:
    name = "tma_load"
    to, index, tensor_map, which, place, barriers, barrier, mask = site.bind(
        ctx,
        f"cuda.{name}",
        *("target", "target_index", "tensor_maps", "map_index", "coordinates", "barriers", "barrier_index"),
        multicast=Const(None),
    )
    require_target(ctx, name, _HOPPER, _HINT)
    here = shared_address(ctx, name, "the target", to, index)
    described = global_address(ctx, name, "the tensor map", tensor_map, which)
    where = _coordinates(ctx, name, place)
    signal = _barrier(ctx, name, barriers, barrier)
    operands = (here, described, *where, signal)
    if isinstance(mask, Const) and mask.value is None:
        return emit_instruction(ctx, name, len(where), operands=operands)
    to_whom = number(ctx, name, "the ranks", mask, Scalar(UINT16))
    return emit_instruction(ctx, "tma_load_multicast", len(where), operands=(*operands, to_whom))


@intrinsic("tma_store")
def _tma_store(ctx: FunctionState, site: Call) -> Value:
    name = "tma_store"
    tensor_map, which, place, source, index = site.bind(
        ctx, f"cuda.{name}", "tensor_maps", "map_index", "coordinates", "source", "source_index"
    )
    require_target(ctx, name, _HOPPER, _HINT)
    described = global_address(ctx, name, "the tensor map", tensor_map, which)
    where = _coordinates(ctx, name, place)
    here = shared_address(ctx, name, "the source", source, index)
    return emit_instruction(ctx, name, len(where), operands=(described, *where, here))


@intrinsic("tma_store_commit")
def _tma_store_commit(ctx: FunctionState, site: Call) -> Value:
    site.bind(ctx, "cuda.tma_store_commit")
    require_target(ctx, "tma_store_commit", _HOPPER, _HINT)
    return emit_instruction(ctx, "tma_store_commit")


@intrinsic("tma_store_wait")
def _tma_store_wait(ctx: FunctionState, site: Call) -> Value:
    name = "tma_store_wait"
    (left,) = site.bind(ctx, f"cuda.{name}", "n")
    groups = constant_of(ctx, name, "the number", left)
    if not isinstance(groups, int) or not 0 <= groups <= 8:
        ctx.fail(f"cuda.{name} takes the constant 0 to 8, not {groups!r}", kind=KernelValueError)
    require_target(ctx, name, _HOPPER, _HINT)
    return emit_instruction(ctx, name, groups)


@intrinsic("tensor_map_acquire")
def _tensor_map_acquire(ctx: FunctionState, site: Call) -> Value:
    name = "tensor_map_acquire"
    tensor_map, which = site.bind(ctx, f"cuda.{name}", "tensor_maps", "map_index")
    require_target(ctx, name, _HOPPER, _HINT)
    described = global_address(ctx, name, "the tensor map", tensor_map, which)
    return emit_instruction(ctx, name, operands=(described,))


# the number of an element's type in a tensor map
ELEMENTS = {
    "uint8": 0,
    "int8": 0,
    "uint16": 1,
    "int16": 1,
    "uint32": 2,
    "int32": 3,
    "uint64": 4,
    "int64": 5,
    "float16": 6,
    "float32": 7,
    "float64": 9,
    "bfloat16": 10,
    "tfloat32": 11,  # float32, rounded to what matrix units take of it on the way
}
_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}


@intrinsic("tensor_map_encode")
def _tensor_map_encode(ctx: FunctionState, site: Call) -> Value:
    """Write the 128 bytes of a tensor map: the fields in the order in which they depend on each other."""
    name = "tensor_map_encode"
    maps, which, array, shape, strides, box, swizzle, dtype = site.bind(
        ctx, f"cuda.{name}", "tensor_maps", "map_index", "array", "shape", "strides", "box", "swizzle", "dtype"
    )
    require_architecture(ctx, name, _HOPPER, _HINT)
    target = global_address(ctx, name, "the tensor map", maps, which)
    found = array_of(ctx, name, "the array", array, Space.GLOBAL)
    kind = constant_of(ctx, name, "the dtype", dtype)
    pattern = constant_of(ctx, name, "the swizzle", swizzle)
    extents, steps, boxes = (index_items(ctx, v) for v in (shape, strides, box))
    if kind not in ELEMENTS or pattern not in _SWIZZLES or not len(extents) == len(boxes) == len(steps) + 1:
        ctx.fail(
            f"cuda.{name} takes a shape and a box of one to five axes, strides in bytes of all but the last, a swizzle"
            f" of {', '.join(map(str, _SWIZZLES))} bytes, and a dtype among {', '.join(ELEMENTS)}",
            kind=KernelValueError,
        )
    first = global_address(ctx, name, "the array", found, _origin(found.ndim))

    def replace(field: str, value: Expr, width: int, ordinal: int | None = None) -> None:
        emit_instruction(ctx, "tensor_map_replace", field, width, ordinal, operands=(target, value))

    def fixed(field: str, value: int, ordinal: int | None = None) -> None:
        emit_instruction(ctx, "tensor_map_fix", field, ordinal, value, operands=(target,))

    replace("global_address", first, 64)
    fixed("rank", len(extents) - 1)
    for axis, value in enumerate(reversed(boxes)):
        replace("box_dim", number(ctx, name, "the box", value, UINT), 32, axis)
    for axis, value in enumerate(reversed(extents)):
        replace("global_dim", number(ctx, name, "the shape", value, UINT), 32, axis)
    for axis, value in enumerate(reversed(steps)):
        replace("global_stride", number(ctx, name, "a stride", value, ULONG), 64, axis)
    for axis in range(len(extents)):
        fixed("element_stride", 1, axis)
    fixed("elemtype", ELEMENTS[kind])
    fixed("interleave_layout", 0)
    fixed("swizzle_mode", _SWIZZLES[pattern])
    fixed("fill_mode", 0)
    return emit_instruction(ctx, "tensor_map_release")


def _origin(ndim: int) -> Value:
    return Const((0,) * ndim)
