"""Reductions of arrays as NumPy has them: axes, dtypes, initial values, masks, and where results go."""

from __future__ import annotations

import math
import operator
from functools import lru_cache
from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.errors import DTypeError, OutOfBoundsError, PortaGPUError, ShapeError, ShapeTypeError
from portagpu.expressions.applied import as_operand
from portagpu.expressions.apply import apply, as_operands, check_out, convert, lazy_array, result_of, store, strides_of
from portagpu.expressions.node import Node
from portagpu.expressions.operations import conversion, operation
from portagpu.expressions.reductions.reducers import SHORT, Reducer, is_reorderable, reducer_of
from portagpu.expressions.reductions.reducing import key_of, reduced, reduced_again
from portagpu.expressions.writing import element_of
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.creation import to_device
from portagpu.ufuncs.operands import array_of, mask_of

_BOOL, _PLACE = np.dtype(bool), np.dtype(np.int64)


def axes_in(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes, each once and not negative; None is all. Raises `ShapeError`, `ShapeTypeError` for what is no integer."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple | list) else (axis,)
    found = []
    for each in given:
        try:
            number = operator.index(each)
        except TypeError:
            raise ShapeTypeError(f"axis {each!r} is no integer", hint="axis= is None, an integer or a tuple") from None
        if not -ndim <= number < ndim:
            raise OutOfBoundsError(f"there is no axis {number} in an array with {ndim} axes")
        found.append(number % ndim)
    if len(set(found)) != len(found):
        raise ShapeError(f"axis {axis!r} names an axis twice")
    return tuple(found)


def axis_in(axis: Any, ndim: int) -> int:
    """One axis, not negative. Raises as `axes_in`."""
    if axis is None or isinstance(axis, tuple | list):
        raise ShapeTypeError(f"axis {axis!r} is no integer", hint="one axis is named")
    return axes_in(axis, ndim)[0]


def only_axis(axis: Any, ndim: int, method: str) -> int:
    """The axis of a ufunc's method along one: an integer, a tuple of one, or None for the only one.

    Raises `ShapeError`, `ShapeTypeError` for arrays without axes, and as `axes_in`.
    """
    if is_let_pass(axis, ndim) or (not ndim and axis in (None, ())):
        raise ShapeTypeError(f"{method} takes arrays of at least one axis", hint="x.reshape(1)")
    axes = axes_in(axis, ndim) if axis is None or isinstance(axis, tuple) else (axis_in(axis, ndim),)
    if len(axes) != 1:
        raise ShapeError(f"{method} goes along one axis, not along {len(axes)}", hint="pass axis=")
    return axes[0]


def is_let_pass(axis: Any, ndim: int) -> bool:
    """Whether an array has no axes, and NumPy reduces it along this one all the same: the first or the last."""
    return ndim == 0 and hasattr(axis, "__index__") and axis in (0, -1)


def reduce(
    ufunc: np.ufunc,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    *,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> DeviceNDArray:
    """`numpy.ufunc.reduce` of a function of two numbers, on the device.

    Sums of 16-bit floats are formed in float32. The error of a sum of n floats is at most ``k * u * sum(|x|)``, u the
    unit roundoff: k counts the additions that an element goes through, less than ``256 + 2 * log2(n)`` up to 2^40
    elements (N. Higham, "Accuracy and Stability of Numerical Algorithms", 2002, 4.2).

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`.
    """
    key = None
    is_usual = dtype is None and out is None and initial is None and where is True and not keepdims
    if is_usual and (axis is None or type(axis) is int):
        key = key_of(array, ufunc, axis)
        if key is not None and (again := reduced_again(array, key)) is not None:
            return again
    x = array_of(array)
    target = out[0] if isinstance(out, tuple) else out
    wanted = dtype_of_reduction(ufunc, x, dtype, target)
    x = _real(x, wanted)
    reducer, axes, gone, kind = _reduction(ufunc, x.dtype, x.ndim, axis, wanted)
    _check_output(ufunc, dtype, reducer.output)
    if where is not True:
        x = _masked(reducer, x, where, ufunc, initial)
    if initial is not None and not is_reorderable(ufunc.__name__):
        raise DTypeError(f"numpy.{ufunc.__name__}.reduce of device arrays takes no initial=")
    if initial is not None:
        initial = element_of(initial, reducer.output)
    if x.size == 0 and _count(x, axes) == 0:
        found = _nothing(ufunc, x, axes, reducer.output, initial)
    else:
        found = reduced(x, reducer, gone, key=key)
        if initial is not None:
            found = _joined(ufunc, initial, found, kind, reducer.output)
    if not keepdims and target is None:
        return found
    return finished(found, x, axes, keepdims=keepdims, out=target, casting="unsafe")


def dtype_of_reduction(
    ufunc: np.ufunc, x: DeviceNDArray, dtype: Any, out: DeviceNDArray | None
) -> np.dtype[Any] | None:
    """The dtype of ``dtype=``, or what elements and ``out=`` have in common, in which NumPy reduces them.

    None without either. Raises `DTypeError` where they have nothing in common.
    """
    if dtype is not None:
        return np.dtype(dtype)  # type: ignore[no-any-return]
    if out is None or isinstance(ufunc.identity, bool):
        return None
    check_out(out)
    return _in_common(ufunc, x.dtype, out.dtype, x.context.capabilities.fp64)


@lru_cache(1024)
def _in_common(ufunc: np.ufunc, elements: np.dtype[Any], out: np.dtype[Any], fp64: bool) -> np.dtype[Any]:
    """The dtype of the function's loop for both; ``out``'s where the device lacks the float64 that only this needs."""
    if elements == out:
        return out
    try:
        common: np.dtype[Any] = ufunc.resolve_dtypes((out, elements, None))[1]
    except TypeError as error:
        raise DTypeError(
            f"numpy.{ufunc.__name__} cannot reduce elements of {elements} into {out}", hint="convert them with astype"
        ) from error
    return out if common == np.float64 not in (elements, out) and not fp64 else common


def _real(x: DeviceNDArray, dtype: np.dtype[Any] | None) -> DeviceNDArray:
    """The array itself, or the real parts of complex numbers that are reduced in a real dtype."""
    return convert(x, dtype) if dtype is not None and dtype.kind in "iuf" and x.dtype.kind == "c" else x


def _reduction(
    ufunc: np.ufunc, dtype: np.dtype[Any], ndim: int, axis: Any, wanted: np.dtype[Any] | None
) -> tuple[Reducer, tuple[int, ...], frozenset[int], np.dtype[Any]]:
    """The reducer, the axes that go, and the dtype of operands."""
    try:
        return _remembered(ufunc, dtype, ndim, axis, wanted)
    except TypeError as error:
        if isinstance(error, PortaGPUError):
            raise
        return _remembered(ufunc, dtype, ndim, tuple(axis), wanted)  # a list of axes


@lru_cache(1024, typed=True)  # 1.0, which is no axis, is not taken for 1
def _remembered(
    ufunc: np.ufunc, dtype: np.dtype[Any], ndim: int, axis: Any, wanted: np.dtype[Any] | None
) -> tuple[Reducer, tuple[int, ...], frozenset[int], np.dtype[Any]]:
    if ufunc.nin != 2 or ufunc.nout != 1:
        raise DTypeError(f"numpy.{ufunc.__name__} does not take two numbers and give one, and cannot reduce")
    kind, output = kinds_of(ufunc, dtype, wanted)
    axes = () if is_let_pass(axis, ndim) else axes_in(axis, ndim)
    if len(axes) > 1 and not is_reorderable(ufunc.__name__):
        raise ShapeError(
            f"numpy.{ufunc.__name__} depends on the order of elements, so it reduces one axis", hint="pass axis=0"
        )
    return reducer_of(ufunc.__name__, kind, output), axes, frozenset(axes), kind


def _joined(
    ufunc: np.ufunc, start: Any, found: DeviceNDArray, kind: np.dtype[Any], output: np.dtype[Any]
) -> DeviceNDArray:
    """An initial value with what was reduced."""
    (first, second), _, shape, context = as_operands((start, found))
    return lazy_array(result_of(context, operation(ufunc.__name__, (kind, kind), output), (first, second), shape))


@lru_cache(1024)
def kinds_of(
    ufunc: np.ufunc, dtype: np.dtype[Any], wanted: np.dtype[Any] | None
) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """The dtypes of operands and results of a reduction."""
    try:
        if wanted is None:
            loop = ufunc.resolve_dtypes((None, dtype, None), reduction=True)
        else:
            loop = ufunc.resolve_dtypes((wanted, wanted, None), reduction=False)
    except TypeError as error:
        raise DTypeError(
            f"numpy.{ufunc.__name__} cannot reduce elements of {wanted or dtype}", hint="convert them with astype"
        ) from error
    kind, output = loop[1], loop[-1]
    if wanted is not None and kind != wanted and output != kind:
        kind = wanted
    for each in (dtype, kind, output):
        dtypes.from_numpy(each)
    return kind, output


def typed_as(
    ufunc: np.ufunc, x: DeviceNDArray, dtype: Any, out: DeviceNDArray | None
) -> tuple[DeviceNDArray, np.dtype[Any], np.dtype[Any]]:
    """An array that is accumulated, its real parts for a real ``dtype=``, and the dtypes of `kinds_of`."""
    wanted = dtype_of_reduction(ufunc, x, dtype, out)
    x = _real(x, wanted)
    kind, output = kinds_of(ufunc, x.dtype, wanted)
    _check_output(ufunc, dtype, output)
    return x, kind, output


def _check_output(ufunc: np.ufunc, dtype: Any, output: np.dtype[Any]) -> None:
    """Raise `DTypeError` for a ``dtype=`` of which the function has no results."""
    if dtype is not None and output != np.dtype(dtype):
        raise DTypeError(
            f"numpy.{ufunc.__name__} has no results of {np.dtype(dtype)}",
            hint=f"leave dtype= out, and convert the result, of {output}, with astype",
        )


def _count(x: DeviceNDArray, axes: tuple[int, ...]) -> int:
    return math.prod(x.shape[axis] for axis in axes)


def _masked(reducer: Reducer, x: DeviceNDArray, where: Any, ufunc: np.ufunc, initial: Any) -> DeviceNDArray:
    """The array with what changes nothing where a mask is false."""
    if initial is None and ufunc.identity is None:
        raise ShapeError(f"numpy.{ufunc.__name__} has no identity, so where= needs initial=")
    if reducer.identity is None:
        raise DTypeError(f"numpy.{ufunc.__name__}.reduce of device arrays takes no where=")
    kind = reducer.kind
    (mask, value), _, shape, context = as_operands((mask_of(where, x.shape, x.context), x))
    nothing = as_operand(_as(kind, reducer.identity))
    return lazy_array(result_of(context, operation("where", (_BOOL, kind, kind), kind), (mask, value, nothing), shape))


def _nothing(
    ufunc: np.ufunc, x: DeviceNDArray, axes: tuple[int, ...], output: np.dtype[Any], initial: Any
) -> DeviceNDArray:
    """The result of no elements."""
    if initial is None and ufunc.identity is None:
        raise ShapeError(
            f"numpy.{ufunc.__name__} of no elements: the array has the shape {x.shape}", hint="pass initial="
        )
    value = _as(output, ufunc.identity) if initial is None else initial
    return filled(_left(x, axes), value, output, x)


def _as(dtype: np.dtype[Any], identity: Any) -> Any:
    """An identity as a number of a dtype: all bits set are -1, and the largest number of unsigned integers."""
    return np.asarray(identity).astype(dtype)[()]


def filled(shape: tuple[int, ...], value: Any, dtype: np.dtype[Any], like: DeviceNDArray) -> DeviceNDArray:
    """An array of one number, where another array is."""
    return to_device(np.full(shape, value, dtype), context=like.context)


def _left(x: DeviceNDArray, axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(extent for axis, extent in enumerate(x.shape) if axis not in axes)


def finished(
    found: DeviceNDArray,
    x: DeviceNDArray,
    axes: tuple[int, ...],
    *,
    keepdims: bool,
    out: Any = None,
    casting: str = "same_kind",
) -> DeviceNDArray:
    """A result with the axes that NumPy leaves, or stored in an array.

    ``casting``: "unsafe" stores in every dtype, as NumPy's reductions do, but for complex results in real ones.
    """
    if keepdims:
        found = found.reshape(tuple(1 if axis in axes else extent for axis, extent in enumerate(x.shape)))
    if out is None:
        return found
    check_out(out)
    target: DeviceNDArray = out
    operands, _, shape, context = as_operands((found,))
    loses_a_part = found.dtype.kind == "c" != target.dtype.kind
    store(Node(context, conversion(found.dtype), operands, shape), target, "same_kind" if loses_a_part else casting)
    return target


def place(name: str, array: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> DeviceNDArray:
    """`numpy.argmax` and `numpy.argmin`: the first place of the largest or smallest element, or of NaN, as int64."""
    x = array_of(array)
    axes = axes_in(None, x.ndim) if axis is None or is_let_pass(axis, x.ndim) else (axis_in(axis, x.ndim),)
    if _count(x, axes) == 0:
        raise ShapeError(f"numpy.{name} of no elements: the array has the shape {x.shape}")
    return finished(reduced(x, reducer_of(name, x.dtype, _PLACE), frozenset(axes)), x, axes, keepdims=keepdims, out=out)


def count_nonzero(array: Any, axis: Any = None, *, keepdims: bool = False) -> DeviceNDArray:
    """`numpy.count_nonzero`, as int64."""
    x = array_of(array)
    axes = () if is_let_pass(axis, x.ndim) else axes_in(axis, x.ndim)
    if x.size == 0:
        found = filled(_left(x, axes), 0, _PLACE, x)
    else:
        # NumPy's copy as bools has an order of its own where an array is broadcast
        source = convert(x, _BOOL) if x.layout == "A" and x.dtype != _BOOL else x
        found = reduced(source, reducer_of("add", _BOOL, _PLACE), frozenset(axes))
    return finished(found, x, axes, keepdims=keepdims)


def mean(
    array: Any, axis: Any = None, dtype: Any = None, out: Any = None, *, keepdims: bool = False, where: Any = True
) -> DeviceNDArray:
    """`numpy.mean`: one kernel adds and divides. Of integers and bools as float64; 16-bit floats are added as float32.

    The error is that of the sum and half a unit in the last place.
    """
    x = array_of(array)
    wanted = np.float64 if dtype is None and x.dtype.kind in "biu" else dtype
    kind = dtype_of_reduction(np.add, x, wanted, out) or x.dtype
    x = _real(x, kind)
    axes = axes_in(axis, x.ndim)
    if where is not True:
        held = np.dtype(np.float32) if kind.name in SHORT else kind
        total = reduce(np.add, x, axes, held, keepdims=keepdims, where=where)
        mask = array_of(mask_of(where, x.shape, x.context), x.context)
        count = count_nonzero(mask.broadcast_to(x.shape), axes, keepdims=keepdims)
        average = apply(np.divide, total, converted(count, held)).astype(kind, copy=False)
        return finished(average, x, (), keepdims=False, out=out, casting="unsafe")
    average = averaged(x, axes, kind, _count(x, axes))
    return finished(average, x, axes, keepdims=keepdims, out=out, casting="unsafe")


def check_inexact(name: str, dtype: Any, *, of_complex: bool = False) -> None:
    """Raise `DTypeError` for a dtype of integers, in which means and squares of differences would be truncated.

    ``of_complex``: for real ones, too, in which they would lose a part.
    """
    if np.dtype(dtype).kind in ("biuf" if of_complex else "biu"):
        wanted = "complex numbers" if of_complex else "floats"
        raise DTypeError(f"numpy.{name} is not computed in {np.dtype(dtype)}", hint=f"pass a dtype of {wanted}")


def averaged(
    x: DeviceNDArray, axes: tuple[int, ...], kind: np.dtype[Any], divisor: float, *, root: bool = False
) -> DeviceNDArray:
    """The sum along some axes, divided by a number, or the square root of that."""
    if _count(x, axes) == 0:
        nothing = complex(math.nan, math.nan) if kind.kind == "c" else math.nan
        return filled(_left(x, axes), nothing, kind, x)
    reducer = reducer_of("add", kind, kind)._replace(mean=True, root=root, divisor=divisor)
    return reduced(x, reducer, frozenset(axes))


def variance(
    array: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    *,
    correction: float = 0,
    keepdims: bool = False,
    root: bool = False,
) -> DeviceNDArray:
    """`numpy.var`, or `numpy.std` with ``root``: the mean first, then the mean of squares of what differs from it.

    The relative error is about ``(n + 2) * u + (n * u * mean / deviation)^2`` with the k of a sum in place of n
    (T. Chan, G. Golub, R. LeVeque, "Algorithms for computing the sample variance", 1983).
    """
    x = array_of(array)
    kind = np.dtype(dtype) if dtype is not None else x.dtype if x.dtype.kind not in "biu" else np.dtype(np.float64)
    x = _real(x, kind)
    axes = axes_in(axis, x.ndim)
    held = np.dtype(np.float32) if kind.itemsize == 2 else kind
    middle = finished(averaged(x, axes, held, _count(x, axes)), x, axes, keepdims=True)
    (value, centre), _, shape, context = as_operands((x, middle))
    apart = Node(context, operation("subtract", (held, held), held), (value, centre), shape)
    if held.kind == "c":
        real = np.dtype(f"float{4 * held.itemsize}")
        parts = [Node(context, operation(name, (held,), real), (apart,), shape) for name in (".real", ".imag")]
        squares = [Node(context, operation("square", (real,), real), (part,), shape) for part in parts]
        node = Node(context, operation("add", (real, real), real), tuple(squares), shape)
        kind = np.dtype(f"float{4 * kind.itemsize}")
    else:
        node = Node(context, operation("square", (held,), held), (apart,), shape)
    divisor = max(_count(x, axes) - correction, 0)
    node.strides = strides_of((value,), shape, node.dtype)
    found = averaged(lazy_array(node), axes, kind, divisor, root=root)
    if dtype is not None:  # a complex one is the result's, too
        found = found.astype(dtype, copy=False)
    return finished(found, x, axes, keepdims=keepdims, out=out, casting="same_kind" if root else "unsafe")


def converted(x: DeviceNDArray, dtype: np.dtype[Any]) -> DeviceNDArray:
    """An array's elements as another dtype, as real numbers where that is complex."""
    kind = np.dtype(f"float{4 * dtype.itemsize}") if dtype.kind == "c" else dtype
    operands, _, shape, context = as_operands((x,))
    return lazy_array(result_of(context, conversion(kind), operands, shape))
