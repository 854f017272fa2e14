"""Functions of elements applied to operands of any kind: an array is made that is computed when it is needed."""

from __future__ import annotations

import sys
from collections.abc import Container, Sequence
from typing import Any
from weakref import ref

import numpy as np

from portagpu.errors import ArgumentTypeError, DTypeError, NumberRangeError, OutOfMemoryError, ShapeError
from portagpu.expressions.applied import PYTHON, Applied, as_operand, key_of, known, remember, typed
from portagpu.expressions.evaluation import evaluate, evaluate_again
from portagpu.expressions.node import MOST_WEIGHT, Node
from portagpu.expressions.operations import Operation, conversion, operation, operation_of, operations_of
from portagpu.expressions.repeated import repeat_into
from portagpu.expressions.stores import write
from portagpu.expressions.together import evaluate_all
from portagpu.notices import users_frame
from portagpu.package_stamp import FOLDER
from portagpu.runtime.arrays.array import DeviceNDArray, allocations
from portagpu.runtime.arrays.checks import check_writable
from portagpu.runtime.arrays.creation import operand_array, to_device
from portagpu.runtime.arrays.factory import with_facts
from portagpu.runtime.arrays.facts import facts_for
from portagpu.runtime.arrays.layout import strides_in_order_k, strides_like
from portagpu.runtime.arrays.layout import strides_of as contiguous_strides
from portagpu.runtime.execution.context import Context, current_context
from portagpu.runtime.execution.current import current_stream
from portagpu.runtime.execution.stream import Stream
from portagpu.ufuncs.operands import broadcast_shapes, mask_of, operand

_MOST_WAITING = 256  # arrays that are put off, most of them gone


def apply(ufunc: np.ufunc, *values: Any) -> DeviceNDArray:
    """The array of a NumPy function of elements: operands broadcast, and dtypes are those that NumPy gives.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`.
    """
    key = key_of(ufunc, values)
    applied = known(key, values)
    if applied is not None:
        try:
            operands = values if applied.dtypes is None else typed(values, applied.dtypes)
        except OverflowError:
            pass
        else:
            return lazy_array(_node(applied, operands), 3)
    try:
        operands, kinds, shape, context = as_operands(values)
    except ShapeError:
        _check_dtypes(ufunc, values)
        raise
    function = operation_of(ufunc, *kinds)
    try:
        operands = typed(operands, function.inputs)
    except OverflowError as error:
        return lazy_array(_node_beyond(context, ufunc, function, operands, kinds, shape, error), 3)
    strides = strides_of(operands, shape, function.dtype)
    remember(key, values, function, shape, strides)
    return lazy_array(Node(context, function, operands, shape, strides=strides), 3)


def _node(applied: Applied, values: tuple[Any, ...]) -> Node:
    """The node of a function that was applied before; as it was computed then, if nothing is put off."""
    for x in values:
        if type(x) is DeviceNDArray and x.deferred is not None:
            break
    else:
        return Node(applied.context, applied.operation, values, applied.shape, None, applied)
    operands = tuple(_operand(x, applied.context) if type(x) is DeviceNDArray else x for x in values)
    return Node(applied.context, applied.operation, operands, applied.shape, strides=applied.strides)


def strides_of(operands: tuple[Any, ...], shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[int, ...] | None:
    """Strides of a result in order K of operands as `as_operands` gives them; None for C order."""
    for x in operands:
        if x.strides is not None if type(x) is Node else isinstance(x, DeviceNDArray) and x.layout != "C":
            break
    else:
        return None
    layouts = tuple(_layout_of(x) for x in operands if isinstance(x, DeviceNDArray | Node))
    return strides_in_order_k(shape, layouts, dtype.itemsize)


def _layout_of(x: DeviceNDArray | Node) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return x.shape, contiguous_strides(x.shape, x.dtype, "C") if x.strides is None else x.strides


def _operand(x: DeviceNDArray, context: Context) -> DeviceNDArray | Node:
    """An array as nodes of the current stream take it: its own node where it is put off."""
    deferred: Any = x.deferred
    if deferred is None:
        return x
    if deferred.node.stream is not current_stream(context):
        deferred.evaluate()
    return x if x.deferred is None else deferred.node


def apply_all(
    ufunc: np.ufunc, *values: Any, dtype: np.dtype[Any] | None = None, casting: Any = "same_kind"
) -> tuple[DeviceNDArray, ...]:
    """The arrays of all results of a NumPy function of elements; with a ``dtype``, in NumPy's loop that gives it.

    Raises as `apply`.
    """
    try:
        operands, kinds, shape, context = as_operands(values)
    except ShapeError:
        _check_dtypes(ufunc, values, dtype=dtype, casting=casting)
        raise
    functions = operations_of(ufunc, tuple(kinds), dtype, casting)
    try:
        operands = typed(operands, functions[0].inputs)
    except OverflowError as error:
        raise beyond(ufunc, functions[0], error) from None
    return tuple(lazy_array(result_of(context, function, operands, shape)) for function in functions)


def result_of(context: Context, function: Operation, operands: tuple[Any, ...], shape: tuple[int, ...]) -> Node:
    """The node of a function whose result is in order K."""
    return Node(context, function, operands, shape, strides=strides_of(operands, shape, function.dtype))


_COMPARED = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)


def compared_beyond(ufunc: np.ufunc, operands: tuple[Any, ...], function: Operation) -> np.bool_ | None:
    """What a comparison with a Python integer gives that the other operand's dtype cannot hold: the same everywhere.

    None for other functions.
    """
    if ufunc not in _COMPARED or len({*map(type, operands)} & {int}) != 1 or function.inputs[0].kind not in "iu":
        return None
    first = type(operands[0]) is int
    number = operands[0] if first else operands[1]
    if ufunc in (np.equal, np.not_equal):
        return np.bool_(ufunc is np.not_equal)
    is_above = (number > 0) != first  # whether the second operand is the larger one
    return np.bool_((ufunc in (np.less, np.less_equal)) == is_above)


def beyond(ufunc: np.ufunc, function: Operation, error: OverflowError) -> NumberRangeError:
    """The error for a Python integer that a dtype cannot hold."""
    return NumberRangeError(
        f"numpy.{ufunc.__name__} in {function.inputs[0]}: {error}", hint="convert the array with x.astype(...)"
    )


def _node_beyond(
    context: Context,
    ufunc: np.ufunc,
    function: Operation,
    operands: tuple[Any, ...],
    kinds: tuple[Any, ...],
    shape: tuple[int, ...],
    error: OverflowError,
) -> Node:
    """The node of a comparison with a Python integer that a dtype cannot hold. Raises `NumberRangeError` for others."""
    truth = None if np.dtype(bool) in kinds else compared_beyond(ufunc, operands, function)
    if truth is None:
        raise beyond(ufunc, function, error) from None
    return Node(context, conversion(function.dtype), (as_operand(truth),), shape)


def apply_into(
    out: DeviceNDArray,
    ufunc: np.ufunc,
    *values: Any,
    where: Any = True,
    dtype: np.dtype[Any] | None = None,
    casting: Any = "same_kind",
) -> DeviceNDArray:
    """The same with the elements written to an array, whose dtype they are converted to; where ``where`` is true.

    Raises `ShapeError` for an array of another shape, `DTypeError` for one that cannot hold the results' kind, or whose
    dtype ``casting`` does not allow.
    """
    check_out(out)
    is_usual = dtype is None and casting == "same_kind"
    key = key_of(ufunc, (*values, out)) if where is True and is_usual else None
    if key is not None and repeat_into(out, values, key):
        return out
    try:
        operands, kinds, shape, context = as_operands((*values, out))
    except ShapeError:
        _check_dtypes(ufunc, values, out, dtype, casting)
        raise
    operands, kinds = operands[:-1], kinds[:-1]
    function = operation_of(ufunc, *kinds) if is_usual else operations_of(ufunc, kinds, dtype, casting)[0]
    try:
        node = Node(context, function, typed(operands, function.inputs), shape)
    except OverflowError as error:
        node, key = _node_beyond(context, ufunc, function, operands, kinds, shape, error), None
    if key is not None and not any(type(x) is Node for x in operands):
        node.applied = remember(key, (*values, out), function, shape)
    check_fits(function.dtype, out.dtype, casting)
    if where is not True:
        mask = as_operands((mask_of(where, out.shape, context), out))[0][0]
        chosen = operation("where", (np.dtype(bool), out.dtype, out.dtype), out.dtype)
        node = Node(context, chosen, (mask, node, out), shape)
    store(node, out, casting)
    return out


def convert(x: DeviceNDArray, dtype: np.dtype[Any]) -> DeviceNDArray:
    """An array's elements as another dtype: of complex numbers that become real the real part, as NumPy's.

    In the order of the array's axes, as `numpy.empty_like` has it.
    """
    operands, _, shape, context = as_operands((x,))
    if x.dtype.kind == "c" and dtype.kind == "b":
        return apply(np.not_equal, x, 0)
    if x.dtype.kind == "c" and dtype.kind != "c":
        real = operation(".real", (x.dtype,), np.empty(0, x.dtype).real.dtype)
        operands = (Node(context, real, operands, shape),)
    strides = None if x.layout == "C" else strides_like(shape, x.strides, x.itemsize, dtype.itemsize)
    return lazy_array(Node(context, conversion(dtype), operands, shape, strides=strides))


def store(node: Node, out: DeviceNDArray, casting: Any = "same_kind") -> None:
    """Write a node's elements to an array, after everything that is to be computed from what it holds now."""
    check_writable(out)
    if node.shape != out.shape:
        raise ShapeError(f"the result has shape {node.shape}, out= has {out.shape}")
    check_fits(node.dtype, out.dtype, casting)
    write(node, out)


def _check_dtypes(
    ufunc: np.ufunc,
    values: tuple[Any, ...],
    out: DeviceNDArray | None = None,
    dtype: np.dtype[Any] | None = None,
    casting: Any = "same_kind",
) -> None:
    """Raise `DTypeError` for operands that have a second error beside their shapes: NumPy checks dtypes first."""
    kinds = tuple(as_operands((x,))[1][0] for x in values)
    function = operations_of(ufunc, kinds, dtype, casting)[0]
    if out is not None:
        check_fits(function.dtype, out.dtype, casting)


def check_out(out: Any) -> None:
    """Raise `ArgumentTypeError` for an ``out=`` that is no device array: functions do not write host memory."""
    if not isinstance(out, DeviceNDArray):
        raise ArgumentTypeError(
            f"out= of a function of device arrays is a device array, not {type(out).__name__}",
            hint="leave out= away and copy the result: x.copy_to_host(host)",
        )


def check_fits(found: np.dtype[Any], wanted: np.dtype[Any], casting: Any = "same_kind") -> None:
    """Results of a dtype may be written to an array of another; of complex numbers never to one of real ones.

    Raises `DTypeError`.
    """
    if found is wanted:
        return
    if not np.can_cast(found, wanted, casting) or (found.kind == "c" and wanted.kind != "c"):
        hint = "write x = x + y, or convert with astype"
        if casting not in ("same_kind", "unsafe"):
            hint += f"; casting={casting!r} allows no more"
        raise DTypeError(f"results of {found} cannot become {wanted}", hint=hint)


def as_operands(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[int, ...], Context]:
    """Operands as nodes take them, their dtypes or Python types, the common shape, and where they are."""
    operands: list[Any] = []
    kinds: list[Any] = []
    shape: tuple[int, ...] | None = None
    context: Context | None = None
    for value in values:
        if type(value) is not DeviceNDArray:
            if type(value) in PYTHON:
                operands.append(value)
                kinds.append(type(value))
                continue
            value = operand(value)
            if isinstance(value, np.generic):
                operands.append(as_operand(value))
                kinds.append(value.dtype)
                continue
            if isinstance(value, np.ndarray):
                value = to_device(value, context=_context_among(values) if context is None else context)
        if context is None:
            context = value.context
        elif context is not value.context:
            raise ArgumentTypeError(
                f"operands are on {context.device.name} and on {value.context.device.name}, in different contexts",
                hint="copy one: cuda.to_device(x.copy_to_host())",
            )
        own = value._shape
        if shape is None or shape == own:
            shape = own
        else:
            shape = broadcast_shapes((shape, own))
        operands.append(value if value.deferred is None else _operand(value, context))
        kinds.append(value._dtype)
    if context is None or shape is None:  # numbers only
        context, shape = current_context(), ()
    return tuple(operands), tuple(kinds), shape, context


def _context_among(values: tuple[Any, ...]) -> Context | None:
    """Where the first operand is that is on a device."""
    for value in values:
        found = value if type(value) is DeviceNDArray else None if type(value) in PYTHON else operand_array(value)
        if found is not None:
            return found.context
    return None


class PutOff:
    """What an array that is put off stands for."""

    __slots__ = ("node",)

    def __init__(self, node: Node) -> None:
        self.node = node

    @property
    def stream(self) -> Stream | None:
        """Where the expression was written."""
        return self.node.stream

    def evaluate(self) -> None:
        """Launch the expression's kernel in the stream in which it was written, for which the current one waits.

        See `portagpu.runtime.execution.deferred.Deferred`.
        """
        node = self.node
        context, stream = node.context, node.stream
        unsettled = context.unsettled
        with unsettled.lock:
            if node.result is None:
                node.check()
                try:
                    if not evaluate_again(node):
                        with unsettled:
                            evaluate(node)
                except OutOfMemoryError:  # may be tried again, until what it reads is written
                    raise
                except Exception as error:
                    node.fail(error)
                    raise
        current = current_stream(context)
        if stream is not None and stream is not current:
            current.follow(stream)

    @staticmethod
    def evaluate_all(arrays: Sequence[DeviceNDArray]) -> None:
        """Launch the kernels of several arrays' expressions, those of small ones together.

        One that fails raises its error when it is read, and nothing here.
        """
        evaluate_all([put.node for array in arrays if isinstance(put := array.deferred, PutOff)])


def lazy_array(node: Node, depth: int = 2) -> DeviceNDArray:
    """The array of a node, computed when something needs it: read, stored, shown or overtaken by a launch.

    ``depth``: frames between this one and those that may be the user's.
    """
    context, applied = node.context, node.applied
    facts = None if applied is None else applied.facts
    if facts is None:
        facts = facts_for(DeviceNDArray, context, node.shape, node.operation.dtype, node.strides)
        if applied is not None:
            applied.facts = facts
    made = with_facts(facts)
    made._buffer = made.base = None
    made.stream = 0
    made.allocation_key = next(allocations)
    made.layout_token = None
    made.deferred = PutOff(node)
    frame = sys._getframe(depth)
    if frame.f_code.co_filename.startswith(FOLDER):
        frame = users_frame(frame) or frame
    node.place = frame.f_code, frame.f_lasti
    node.array = reference = ref(made)
    node.stream = stream = current_stream(context)
    waiting = context.unsettled.arrays
    waiting.append(reference)
    if node.weight >= MOST_WEIGHT or stream.external or not _may_wait(node.operands, context.shown):
        made.deferred.evaluate()
    elif len(waiting) >= _MOST_WAITING:
        with context.unsettled.lock:  # what another thread computes has no memory yet, or its kernel is enqueued
            waiting[:] = [r for r in waiting if (array := r()) is not None and array.deferred is not None]
    return made


def _may_wait(operands: tuple[Any, ...], shown: Container[int]) -> bool:
    """Whether nobody but PortaGPU can change operands meanwhile."""
    for x in operands:
        if isinstance(x, DeviceNDArray) and (x.token is None or x.stream != 0 or x.allocation_key in shown):
            return False
    return True
