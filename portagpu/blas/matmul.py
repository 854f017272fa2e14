"""`matmul`: NumPy's matrix product for NumPy arrays and device arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from portagpu.blas.arguments import (
    check_beta,
    check_dtypes,
    check_precision,
    check_scalar,
    checked_result,
    operand_of,
    operands_of,
    promoted,
)
from portagpu.blas.gemm.batching import multiply
from portagpu.blas.gemm.integer_products import multiply_whole
from portagpu.blas.gemm.replay.device_products import again, first
from portagpu.blas.gemm.replay.host_products import HostProduct, host_again, host_product
from portagpu.errors import ArgumentTypeError, ShapeError
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.creation import as_device_array, is_device_like, to_device
from portagpu.runtime.arrays.foreign import is_foreign, shared_view
from portagpu.runtime.arrays.host_memory import SharedSpans, finished, map_back, wrap_host
from portagpu.runtime.arrays.overlap import may_overlap
from portagpu.runtime.execution.context import Context, context_of
from portagpu.runtime.execution.host_pool import out_of_memory, results
from portagpu.runtime.execution.recorder import active
from portagpu.runtime.execution.stream import Stream, as_stream

Array = Any
_NUMBERS = (int, float, complex)
_MOST_LEADING = 30  # axes


def matmul(
    a: Array,
    b: Array,
    out: Array = None,
    *,
    alpha: Any = 1,
    beta: Any = 0,
    precision: str | None = None,
    dtype: Any = None,
    stream: Stream | None = None,
) -> Array:
    """`portagpu.matmul`, which tells what it takes.

    New results of NumPy arrays of some KB and more, and those of a vector, are views of memory that serves later
    results once nobody refers to them: they do not own their data, so that `numpy.ndarray.resize` cannot give them
    another size in place. Products that overflow become infinite without NumPy's `RuntimeWarning`. Operands have at
    most 32 axes. Factors that the arithmetic's type rounds to 0 (1e-50 in float32) count as that, but what they scale
    is read.
    """
    plain = not active.depth and _is_plain(alpha, beta, precision, dtype, stream)
    if plain and type(a) is type(b) is DeviceNDArray and (out is None or type(out) is DeviceNDArray):
        numbers = (alpha, beta, type(alpha), type(beta), precision, dtype)
        found = again(a, b, out, stream, numbers)
        if found is not None:
            return found
        return _of_device_arrays(_request(a, b, out, alpha, beta, precision, dtype, stream), numbers)
    numpy = type(a) is type(b) is np.ndarray and (out is None or type(out) is np.ndarray)
    if plain and numpy and (dtype is None or _is_dtype(dtype, a)):
        if (a.ndim == 1 or b.ndim == 1) and _is_vector_product(a, b, out):
            scaled = partial(matmul, alpha=alpha, beta=beta, precision=precision, dtype=dtype, stream=stream)
            return _of_vectors(a, b, out, scaled)
        made = host_again(a, b, out, (alpha, beta, precision), stream)
        if made is not None:
            return made
        host = host_product(a, b, out, (alpha, beta, precision), stream) if a.dtype.isnative else None
        if host is not None:
            if host.again():
                return host.result
            return _of_host_arrays(_request(a, b, out, alpha, beta, precision, dtype, stream), host)
    if type(out) is not DeviceNDArray and (is_device_like(out) or is_foreign(out)):
        into = as_device_array(out) if is_device_like(out) else shared_view(out, "out")
        matmul(a, b, into, alpha=alpha, beta=beta, precision=precision, dtype=dtype, stream=stream)
        return out
    request = _request(a, b, out, alpha, beta, precision, dtype, stream)
    return _of_device_arrays(request, None) if request.on_device else _of_host_arrays(request, None)


def dot(a: Array, b: Array, out: Array = None) -> Array:
    """`numpy.dot` of device arrays where it is a matrix product: of vectors and matrices. See `matmul`."""
    for name, operand in (("a", operand_of(a, "a")), ("b", operand_of(b, "b"))):
        if not 1 <= operand.ndim <= 2:
            raise ShapeError(
                f"numpy.dot of device arrays takes vectors and matrices; operand {name} has {operand.ndim} axes",
                hint="use numpy.matmul, or reshape to two axes" if operand.ndim else "scale with a kernel",
            )
    return matmul(a, b, out)


# requests: arguments that were checked ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Settings:
    """What goes to `portagpu.blas.gemm.batching.multiply` by name."""

    alpha: complex
    beta: complex
    precision: str

    def multiply(self, a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray, stream: Stream) -> None:
        def of_kernels(a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray, alpha: complex, beta: complex) -> None:
            multiply(a, b, c, stream, alpha=alpha, beta=beta, precision=self.precision)

        multiply_whole(a, b, c, self.alpha, self.beta, stream, of_kernels)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """A product whose arguments fit together.

    ``operands``: the dtype that both operands are converted to; ``dtype``: that of the result. ``named``: the stream as
    the caller gave it, ``stream``: where the product runs.
    """

    a: Array
    b: Array
    out: Array
    on_device: bool
    shape: tuple[int, ...]
    operands: np.dtype[Any]
    dtype: np.dtype[Any]
    settings: _Settings
    named: Stream | None
    stream: Stream


def _request(
    a: Array, b: Array, out: Array, alpha: Any, beta: Any, precision: str | None, dtype: Any, named: Stream | None
) -> _Request:
    """Check the arguments of `matmul`. Raises the errors that it names."""
    a, b, on_device = operands_of(a, b)
    check_dtypes(a, b, on_device)
    if a.ndim == 0 or b.ndim == 0:
        hint = "scale with a kernel" if on_device else "use * for scalars"
        raise ShapeError("matmul needs operands with at least one axis", hint=hint)
    shape = _result_shape(a, b)
    stream = as_stream(named, a.context if on_device else context_of(named))
    operands = promoted(a, b, dtype)
    kind = checked_result(out, shape, operands, dtype, on_device)
    settings = _Settings(
        alpha=check_scalar(alpha, "alpha", operands, kind),
        beta=check_scalar(beta, "beta", operands, kind),
        precision=check_precision(precision, operands.name, kind.name, context_of(stream))
        if precision is not None
        else "",
    )
    check_beta(settings.beta, out)
    if on_device:
        if a.context is not b.context:
            raise ArgumentTypeError("the operands are on different devices", hint="copy one of them")
        if context_of(stream) is not a.context:
            raise ArgumentTypeError("the stream is on another device than the operands", hint="use a stream of theirs")
    return _Request(
        a=a,
        b=b,
        out=out,
        on_device=on_device,
        shape=shape,
        operands=operands,
        dtype=kind,
        settings=settings,
        named=named,
        stream=stream,
    )


def _is_vector_product(a: Array, b: Array, out: Array) -> bool:
    """Whether operands of one and two axes fit, so that they can be two matrices; what does not is told as it is."""
    shape = a.shape[:-1] + b.shape[1:]
    if not {a.ndim, b.ndim} <= {1, 2} or a.shape[-1] != b.shape[0] or a.dtype is not b.dtype:
        return False
    return out is None or (out.shape == shape and out.dtype is a.dtype and out.flags.writeable)


def _is_plain(alpha: Any, beta: Any, precision: Any, dtype: Any, stream: Any) -> bool:
    """Whether what a product depends on besides its arrays can be a key, and the stream is one of ours."""
    return (
        type(alpha) in _NUMBERS
        and type(beta) in _NUMBERS
        and (precision is None or type(precision) is str)
        and (dtype is None or isinstance(dtype, str | type | np.dtype))
        and (stream is None or type(stream) is Stream)
    )


def _is_dtype(dtype: Any, a: np.ndarray[Any, Any]) -> bool:
    """Whether the dtype that is asked for is that of the operand."""
    return dtype is a.dtype or dtype is a.dtype.type or (type(dtype) is str and dtype == a.dtype.name)


def _result_shape(a: Any, b: Any) -> tuple[int, ...]:
    inner_a = a.shape[-1]
    inner_b = b.shape[-2] if b.ndim > 1 else b.shape[0]
    if inner_a != inner_b:
        raise ShapeError(
            f"shapes {a.shape} and {b.shape} do not fit: a has {inner_a} columns, b has {inner_b} rows",
            hint="transpose one of them (x.T), or check the order of the operands",
        )
    if a.ndim == b.ndim == 2:
        return a.shape[0], b.shape[1]
    if max(a.ndim, b.ndim) - 2 > _MOST_LEADING:
        raise ShapeError(
            f"an operand has {max(a.ndim, b.ndim)} axes, and matmul takes {_MOST_LEADING + 2}",
            hint="make several leading axes one: x.reshape(-1, *x.shape[-2:])",
        )
    try:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError as error:
        raise ShapeError(
            f"the leading axes of {a.shape} and {b.shape} do not broadcast",
            hint="counted from the last, they are equal, or one is 1 or missing: x[:, None] inserts a 1",
        ) from error
    rows = a.shape[-2:-1] if a.ndim > 1 else ()
    columns = b.shape[-1:] if b.ndim > 1 else ()
    return (*batch, *rows, *columns)


# device arrays ------------------------------------------------------------------------------------------------------


def _of_device_arrays(request: _Request, numbers: tuple[Any, ...] | None) -> DeviceNDArray:
    """The product of device arrays, recorded under ``numbers``, what it depends on besides its arrays, if it can be."""
    new = request.out is None
    target: DeviceNDArray = request.out
    if new:
        target = device_array(request.shape, request.dtype, context=request.a.context)

    def multiply_into(c: DeviceNDArray) -> None:
        _on_device(request.a, request.b, c, request.settings, request.stream)

    if numbers is None:
        multiply_into(target)
    else:
        first(request.a, request.b, target, request.named, numbers, multiply_into, new=new)
    return target


def _on_device(a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray, settings: _Settings, stream: Stream) -> None:
    if c.context is not a.context:
        raise ArgumentTypeError("out is on another device than the operands", hint="copy it, or leave out= away")
    if not (may_overlap((a, c)) or may_overlap((b, c))):
        settings.multiply(a, b, c, stream)
        return
    target = device_array(c.shape, c.dtype, context=a.context)
    if settings.beta != 0:
        target.copy_to_device(c, stream)
    settings.multiply(a, b, target, stream)
    c.copy_to_device(target, stream)


# NumPy arrays -------------------------------------------------------------------------------------------------------


def _of_vectors(a: Array, b: Array, out: Array, multiply: Callable[[Array, Array, Array], Array]) -> Array:
    """The product of a vector and a matrix, or of two vectors, as one of matrices of one row or column."""
    row, column = a.ndim == 1, b.ndim == 1
    left, right = a[None] if row else a, b[:, None] if column else b
    if out is not None:
        wide = out[None] if row else out
        multiply(left, right, wide[..., None] if column else wide)
        return out
    made = multiply(left, right, None)
    made = made[..., 0] if column else made
    return made[0] if row else made


def _of_host_arrays(request: _Request, host: HostProduct | None) -> Any:
    """The product of host arrays; ``host`` remembers its launches for the next product that is like it."""
    result = _on_host(request, request.out if host is None else host.result)
    if host is not None:
        settings, stream = request.settings, request.stream
        host.remember(request.a, request.b, lambda left, right, into: settings.multiply(left, right, into, stream))
    if request.shape or request.out is not None:
        return result
    return result[()]  # of two vectors: a scalar, as NumPy's


def _on_host(request: _Request, out: Any) -> np.ndarray[Any, Any]:
    a, b, shape, stream = request.a, request.b, request.shape, request.stream
    operands, dtype, settings = request.operands, request.dtype, request.settings
    with out_of_memory(max(a.shape, b.shape, key=math.prod), operands, "a converted operand"):
        a, b = a.astype(operands, copy=False), b.astype(operands, copy=False)
    result: np.ndarray[Any, Any] = results.empty(shape, dtype) if out is None else out
    if result.size == 0:
        return result
    context = context_of(stream)
    # neither results that overlap operands nor those in another byte order are written where they are
    apart = not result.dtype.isnative or np.may_share_memory(result, a) or np.may_share_memory(result, b)
    spans = SharedSpans(() if apart else (result,), (a, b))
    shared = None if apart else wrap_host(context, result, spans=spans)
    target = shared
    if target is None:
        target = device_array(shape, dtype, context=context)
        if settings.beta != 0:
            present = result.astype(dtype, copy=False)
            target.copy_to_device(present, stream)
            stream.synchronize()
    with finished(stream):
        settings.multiply(_borrow(a, context, spans), _borrow(b, context, spans), target, stream)
    if shared is not None:
        map_back(shared, stream)
        return result
    stream.synchronize()
    if result.flags.c_contiguous and result.dtype.isnative:
        target.copy_to_host(result)
    else:
        result[...] = target.copy_to_host()
    return result


def _borrow(array: np.ndarray[Any, Any], context: Context, spans: SharedSpans) -> DeviceNDArray:
    """A host operand on the device: its own memory where the device can use it, else a copy."""
    if array.size == 0:
        return device_array(array.shape, array.dtype, context=context)
    shared = wrap_host(context, array, spans=spans, readonly=True)
    return shared if shared is not None else to_device(array, context=context)
