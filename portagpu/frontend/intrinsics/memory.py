"""Shared, local and constant arrays inside kernels."""

from __future__ import annotations

import ast
import math
from dataclasses import replace

import numpy as np

from portagpu import dtypes
from portagpu.dialect.names import VectorMaker
from portagpu.errors import KernelValueError, NeedsConstantError
from portagpu.frontend.arrays.static_arrays import captured_array, static_array
from portagpu.frontend.core.convert import constant, convert, describe, require_fp64
from portagpu.frontend.core.registry import Call, intrinsic
from portagpu.frontend.core.requests import ask_for_constant
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, TupleValue, Value, constants
from portagpu.frontend.operations import original_words
from portagpu.frontend.operations.environment import tuple_items
from portagpu.ir.names import DYNAMIC_SHARED_ARRAY, DYNAMIC_SHARED_BYTES, LOCAL_MARK, SHARED_MARK
from portagpu.ir.nodes import Operation, Var
from portagpu.ir.program import MemoryArray, Parameter, ParameterRole
from portagpu.ir.types import (
    BYTE,
    DYNAMIC_SHARED,
    INT,
    Element,
    Layout,
    Pointer,
    Scalar,
    Space,
    Vector,
    element_size,
    in_memory,
)
from portagpu.source import Span
from portagpu.types.record_layout import Record, alignment_of, parse_record

_MOST_LOCAL_BYTES = 512 * 1024
"""As CUDA's."""


def _shape(ctx: FunctionState, value: Value, dtype: Value, name: str) -> tuple[int, ...]:
    items: tuple[Value, ...] = ()
    if isinstance(value, Const) and isinstance(value.value, int | np.integer):
        items = (value,)
    elif isinstance(value, TupleValue) or (isinstance(value, Const) and isinstance(value.value, tuple | list)):
        items = tuple_items(ctx, value)
    extents = constants(items)
    if not extents or not all(isinstance(n, int | np.integer) and n >= 0 for n in extents):
        unknown = [v.name.partition(".")[0] for v in (items or (value,)) if isinstance(v, Var)]
        if unknown:
            ask_for_constant(ctx, unknown[0])
        ctx.fail(
            f"the shape of {name} must be known at compile time; it is {describe(ctx, value)}",
            kind=NeedsConstantError,
            hint="use a constant, a global, a closure variable or a parameter annotated `cuda.constexpr`",
            notes=(original_words.no_implementation(ctx, name, {"shape": value, "dtype": dtype}),),
        )
    return tuple(int(n) for n in extents)


def _element(ctx: FunctionState, value: Value, name: str, node: ast.AST) -> Element | Record:
    if isinstance(value, Const):
        record = parse_record(value.value)
        if record is not None:
            return record
        if isinstance(value.value, VectorMaker):
            return Vector(value.value.dtype, value.value.lanes)
        dtype = dtypes.parse(value.value)
        if dtype is not None:
            require_fp64(ctx, dtype)
            return Scalar(dtype)
    if isinstance(value, Const) and isinstance(value.value, str):
        ctx.fail(
            f"Invalid NumPy dtype specified: {value.value!r} in {name}",
            hint="for example np.float32, cuda.float32 or cuda.float32x4",
        )
    ctx.fail(
        f"the dtype of {name} must be a NumPy dtype or a vector type, not {describe(ctx, value)}",
        hint="for example np.float32, cuda.float32 or cuda.float32x4",
        notes=original_words.untyped(ctx, node),
    )


@intrinsic("shared.array")
def _shared_array(ctx: FunctionState, site: Call) -> Value:
    shape_value, dtype, aligned = site.bind(ctx, "cuda.shared.array", "shape", "dtype", alignment=Const(None))
    shape = _shape(ctx, shape_value, dtype, "cuda.shared.array")
    element = _element(ctx, dtype, "cuda.shared.array", site.node)
    alignment = _alignment(ctx, aligned, "cuda.shared.array")
    if shape == (0,):
        return _dynamic_shared(ctx, element)
    if 0 in shape:
        ctx.fail(
            "a shared array of zero elements", kind=KernelValueError, hint="shape=0 alone means dynamic shared memory"
        )
    key = (ctx.source.function, site.node.lineno, site.node.col_offset, shape, element)
    array = ctx.program.shared.get(key)
    if array is None:
        name = ctx.program.unique(f"{ctx.name_hint}{SHARED_MARK}")
        array = replace(_memory(name, element, shape, Space.SHARED, ctx.span), alignment=alignment)
        ctx.program.shared[key] = array
    use_shared(ctx, array)
    base = Var(array.name, Pointer(array.element, Space.SHARED), span=ctx.span)
    return static_array(ctx, base, element, shape, Space.SHARED)


def _alignment(ctx: FunctionState, value: Value, name: str) -> int:
    """Bytes, 0 for none asked for."""
    wanted = value.value if isinstance(value, Const) else -1
    if wanted is None:
        return 0
    whole = isinstance(value, Const) and isinstance(wanted, int | np.integer)
    if not whole or not 1 <= wanted <= 1024 or wanted & (wanted - 1):
        ctx.fail(
            f"Alignment must be a constant power of two up to 1024: in {name} it is {describe(ctx, value)}",
            kind=KernelValueError,
            notes=() if whole else ("in numba-cuda: RequireLiteralValue: alignment must be a constant integer",),
        )
    return int(wanted)


def _memory(name: str, element: Element | Record, shape: tuple[int, ...], space: Space, span: Span) -> MemoryArray:
    """The C array that holds the elements; records are bytes."""
    if isinstance(element, Record):
        return MemoryArray(
            name=name, element=BYTE, shape=(math.prod(shape) * element.itemsize,), space=space, span=span
        )
    return MemoryArray(name=name, element=in_memory(element), shape=shape, space=space, span=span)


def use_shared(ctx: FunctionState, array: MemoryArray) -> None:
    """Note that this function needs a shared array."""
    ctx.shared[array.name] = array
    ctx.stable.add(array.name)


def _dynamic_shared(ctx: FunctionState, element: Element | Record) -> Value:
    ctx.program.dynamic_shared = True
    for name, kind in ((DYNAMIC_SHARED_ARRAY, DYNAMIC_SHARED), (DYNAMIC_SHARED_BYTES, INT)):
        ctx.hidden[name] = Parameter(name=name, type=kind, role=ParameterRole.DYNAMIC_SHARED)
    raw = Var(DYNAMIC_SHARED_ARRAY, DYNAMIC_SHARED, span=ctx.span)
    record = isinstance(element, Record)
    size = element.itemsize if isinstance(element, Record) else element_size(element)
    held_as = BYTE if isinstance(element, Record) else in_memory(element)
    base = Operation("reinterpret", (raw,), Pointer(held_as, Space.SHARED), span=ctx.span)
    count = Operation(
        "floordiv",
        (Var(DYNAMIC_SHARED_BYTES, INT, span=ctx.span), constant(ctx, size, INT)),
        INT,
        span=ctx.span,
    )
    held = ctx.temp(count)
    shape = convert(ctx, held, ctx.program.shape_type)
    return ArrayValue(
        element=element,
        base=base,
        shape=(shape,),
        strides=(constant(ctx, size if record else 1, ctx.program.index_type),),
        space=Space.SHARED,
        readonly=False,
        layout=Layout.C,
        dynamic=True,
        align=alignment_of(size) if record else 0,
    )


@intrinsic("local.array")
def _local_array(ctx: FunctionState, site: Call) -> Value:
    shape_value, dtype, aligned = site.bind(ctx, "cuda.local.array", "shape", "dtype", alignment=Const(None))
    shape = _shape(ctx, shape_value, dtype, "cuda.local.array")
    element = _element(ctx, dtype, "cuda.local.array", site.node)
    if 0 in shape:
        ctx.fail("a local array of zero elements", kind=KernelValueError)
    size = math.prod(shape) * (element.itemsize if isinstance(element, Record) else element_size(element))
    if size > _MOST_LOCAL_BYTES:
        ctx.fail(
            f"a local array of {size} bytes, where a thread has {_MOST_LOCAL_BYTES}",
            hint="give each thread a part of a device array",
            kind=KernelValueError,
        )
    alignment = _alignment(ctx, aligned, "cuda.local.array")
    return local_memory(ctx, site, element, shape, alignment)


def local_memory(
    ctx: FunctionState, site: Call, element: Element | Record, shape: tuple[int, ...], alignment: int = 0
) -> ArrayValue:
    """The array in each thread's own memory that a call makes."""
    span = ctx.span
    array = ctx.memory_array(
        (site.node.lineno, site.node.col_offset, shape, element, alignment),
        lambda name: replace(_memory(name, element, shape, Space.THREAD, span), alignment=alignment),
        f"{ctx.name_hint}{LOCAL_MARK}",
    )
    base = Var(array.name, Pointer(array.element, Space.THREAD), span=ctx.span)
    return static_array(ctx, base, element, shape, Space.THREAD)


@intrinsic("const.array_like")
def _array_like(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "cuda.const.array_like", "array")
    if isinstance(value, ArrayValue):  # as the original does, what is no constant stays what it is
        return value
    if isinstance(value, Const):
        return captured_array(ctx, np.asarray(value.value))
    ctx.fail(
        f"cuda.const.array_like needs an array, not {describe(ctx, value)}",
        kind=KernelValueError,
    )
