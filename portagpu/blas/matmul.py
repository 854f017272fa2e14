"""`matmul`: NumPy's matrix product for NumPy arrays and device arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from portagpu.blas.arguments import (
    check_beta,
    check_dtypes,
    check_precision,
    check_scalar,
    checked_result,
    operands_of,
    product_shape,
    promoted,
)
from portagpu.blas.borrowed import borrowed_operands, product_of_borrowed
from portagpu.blas.epilogues import arrays_of, checked_epilogue, known_by, read_only
from portagpu.blas.gemm.batching import finish_all, multiply
from portagpu.blas.gemm.core.fusion import Fusion
from portagpu.blas.gemm.integer_products import is_converted, multiply_whole
from portagpu.blas.gemm.replay.device_products import again, first
from portagpu.blas.gemm.replay.host_products import HostProduct, host_again, host_product
from portagpu.blas.host_arrays import Loan
from portagpu.blas.reductions.launch import reduce
from portagpu.blas.reductions.operations import Reduction, check_reducible, checked_reductions
from portagpu.blas.replay.calls import repeated
from portagpu.blas.replay.host_trace import new_host
from portagpu.errors import ArgumentTypeError, ShapeError
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.creation import view_of
from portagpu.runtime.arrays.host_memory import finished
from portagpu.runtime.arrays.overlap import may_overlap
from portagpu.runtime.execution.context import context_of
from portagpu.runtime.execution.host_pool import out_of_memory, results
from portagpu.runtime.execution.recorder import active
from portagpu.runtime.execution.stream import Stream, as_stream

Array = Any
_NUMBERS = (int, float, complex)
_NO_ARGUMENTS: tuple[Any, ...] = ()  # Python has one empty tuple
_UNFUSED = ((), ())  # nothing that tells it from others, and no arrays
_OF_OURS = (type(None), np.ndarray, DeviceNDArray)  # which are written where they are


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
    epilogue: Any = None,
    epilogue_args: Any = (),
    reductions: Any = (),
) -> Any:
    """`portagpu.matmul`, which tells what it takes.

    New results of NumPy arrays of some KB and more, and those of a vector, are views of memory that serves later
    results once nobody refers to them: they do not own their data, so that `numpy.ndarray.resize` cannot give them
    another size in place. Products that overflow become infinite without NumPy's `RuntimeWarning`. Operands have at
    most 32 axes. Factors that the arithmetic's type rounds to 0 (1e-50 in float32) count as that, but what they scale
    is read.
    """
    if reductions is not _NO_ARGUMENTS:
        options = {"alpha": alpha, "beta": beta, "precision": precision, "dtype": dtype, "stream": stream}
        return _reduced(a, b, out, reductions, {**options, "epilogue": epilogue, "epilogue_args": epilogue_args})
    fused = epilogue is not None or epilogue_args is not _NO_ARGUMENTS
    plain = not active.depth and _is_plain(alpha, beta, precision, dtype, stream)
    ours = type(a) is type(b) is DeviceNDArray and (out is None or type(out) is DeviceNDArray)
    if plain and ours and a.token and b.token and (out is None or out.token):
        known = _UNFUSED if not fused else known_by(epilogue, epilogue_args)
        if known is not None:
            key, further = known
            numbers = (alpha, beta, type(alpha), type(beta), precision, dtype, *key)
            found = again(a, b, out, stream, numbers, further)
            if found is not None:
                return found
            request = _request(a, b, out, alpha, beta, precision, dtype, stream, epilogue, epilogue_args)
            return _of_device_arrays(request, numbers, further)
    numpy = type(a) is type(b) is np.ndarray and (out is None or type(out) is np.ndarray)
    if plain and numpy and not fused and (dtype is None or _is_dtype(dtype, a)):
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
        return repeated(_of_numpy, "matmul", (a, b, out, alpha, beta, precision, dtype), {"stream": stream})
    if not numpy:
        borrowed = borrowed_operands(a, b, out, stream)
        if borrowed is not None:

            def checked(a: Array, b: Array, c: Array, stream: Any) -> _Request:
                return _request(a, b, c, alpha, beta, precision, dtype, stream, epilogue, epilogue_args)

            numbers = (alpha, beta, type(alpha), type(beta), precision, dtype)
            return product_of_borrowed(borrowed, checked, _enqueue, numbers if plain and not fused else None)
    into = None if type(out) in _OF_OURS else view_of(out, "out")
    if into is not None:
        of_product: dict[str, Any] = {"alpha": alpha, "beta": beta, "precision": precision, "dtype": dtype}
        matmul(a, b, into, **of_product, stream=stream, epilogue=epilogue, epilogue_args=epilogue_args)
        return out
    request = _request(a, b, out, alpha, beta, precision, dtype, stream, epilogue, epilogue_args)
    return _of_device_arrays(request, None) if request.on_device else _of_host_arrays(request, None)


def _reduced(a: Array, b: Array, out: Array, reductions: Any, options: dict[str, Any]) -> Any:
    """The product, and what its elements are reduced to, as a tuple; the product alone without reductions."""
    wanted = checked_reductions(reductions)
    if not wanted:
        return matmul(a, b, out, **options)
    a, b, on_device = operands_of(a, b)
    seen = None if type(out) in _OF_OURS else view_of(out, "out")
    into = out if seen is None else seen
    names = ("alpha", "beta", "precision", "dtype", "stream", "epilogue", "epilogue_args")
    request = _request(a, b, into, *(options[name] for name in names))
    check_reducible(wanted, request.shape, request.dtype)
    if on_device:
        c = matmul(a, b, into, **options)
        found = tuple(reduce(c, each, request.stream) for each in wanted)
    else:
        c, found = _on_host(request, into, wanted)
    return c if out is None else out, *found


# requests: arguments that were checked ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Settings:
    """What goes to `portagpu.blas.gemm.batching.multiply` by name."""

    alpha: complex
    beta: complex
    precision: str
    fusion: Fusion | None = None

    def multiply(self, a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray, stream: Stream) -> None:
        # a function sees numbers as they are in c, which kernels for converted ones have not
        follows = self.fusion is not None and is_converted(a, b, c)
        fusion = None if follows else self.fusion

        def of_kernels(a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray, alpha: complex, beta: complex) -> None:
            multiply(a, b, c, stream, alpha=alpha, beta=beta, precision=self.precision, fusion=fusion)

        multiply_whole(a, b, c, self.alpha, self.beta, stream, of_kernels)
        if follows and self.fusion is not None:
            finish_all(c, self.fusion, stream, row=a.ndim == 1, column=b.ndim == 1)


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
    a: Array,
    b: Array,
    out: Array,
    alpha: Any,
    beta: Any,
    precision: str | None,
    dtype: Any,
    named: Stream | None,
    epilogue: Any = None,
    epilogue_args: Any = (),
) -> _Request:
    """Check the arguments of `matmul`. Raises the errors that it names."""
    a, b, on_device = operands_of(a, b)
    check_dtypes(a, b, on_device)
    if a.ndim == 0 or b.ndim == 0:
        hint = "scale with a kernel" if on_device else "use * for scalars"
        raise ShapeError("matmul needs operands with at least one axis", hint=hint)
    shape = product_shape(a, b)
    stream = as_stream(named, a.context if on_device else context_of(named))
    operands = promoted(a, b, dtype)
    kind = checked_result(out, shape, operands, dtype, on_device)
    settings = _Settings(
        alpha=check_scalar(alpha, "alpha", operands, kind),
        beta=check_scalar(beta, "beta", operands, kind),
        precision=check_precision(precision, operands.name, kind.name, context_of(stream))
        if precision is not None
        else "",
        fusion=checked_epilogue(
            epilogue,
            epilogue_args,
            on_device=on_device,
            context=a.context if on_device else context_of(stream),
            dtype=kind,
        ),
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


# device arrays ------------------------------------------------------------------------------------------------------


def _of_device_arrays(
    request: _Request, numbers: tuple[Any, ...] | None, further: tuple[DeviceNDArray, ...] = ()
) -> DeviceNDArray:
    """The product of device arrays, recorded under ``numbers``, what it depends on besides its arrays, if it can be.

    ``further``: what its epilogue reads, as the caller has it.
    """
    new = request.out is None
    target: DeviceNDArray = request.out
    if new:
        target = device_array(request.shape, request.dtype, context=request.a.context)

    def multiply_into(c: DeviceNDArray) -> None:
        _enqueue(request, c)

    if numbers is None:
        multiply_into(target)
    else:
        first(request.a, request.b, target, request.named, numbers, multiply_into, new=new, further=further)
    return target


def _enqueue(request: _Request, c: DeviceNDArray) -> None:
    _on_device(request.a, request.b, c, request.settings, request.stream)


def _on_device(a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray, settings: _Settings, stream: Stream) -> None:
    if c.context is not a.context:
        raise ArgumentTypeError("out is on another device than the operands", hint="copy it, or leave out= away")
    if not any(may_overlap((x, c)) for x in (a, b, *arrays_of(settings.fusion))):
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


def _of_numpy(
    a: Array, b: Array, out: Array, alpha: Any, beta: Any, precision: str | None, dtype: Any, *, stream: Any
) -> Any:
    """The product of NumPy arrays that is `repeated` where no `HostProduct` serves: batches, and small matrices."""
    return _of_host_arrays(_request(a, b, out, alpha, beta, precision, dtype, stream), None)


def _of_host_arrays(request: _Request, host: HostProduct | None) -> Any:
    """The product of host arrays; ``host`` remembers its launches for the next product that is like it."""
    result, _ = _on_host(request, request.out if host is None else host.result)
    if host is not None:
        settings, stream = request.settings, request.stream
        host.remember(request.a, request.b, lambda left, right, into: settings.multiply(left, right, into, stream))
    if request.shape or request.out is not None:
        return result
    return result[()]  # of two vectors: a scalar, as NumPy's


def _on_host(
    request: _Request, out: Any, reductions: tuple[Reduction, ...] = ()
) -> tuple[np.ndarray[Any, Any], tuple[Any, ...]]:
    """The product, and what it is reduced to."""
    a, b, shape, stream = request.a, request.b, request.shape, request.stream
    operands, dtype, settings = request.operands, request.dtype, request.settings
    with out_of_memory(max(a.shape, b.shape, key=math.prod), operands, "a converted operand"):
        a, b = a.astype(operands, copy=False), b.astype(operands, copy=False)
    result: np.ndarray[Any, Any] = new_host(shape, dtype) if out is None else out
    context = context_of(stream)
    if result.size == 0:
        empty = device_array(shape, dtype, context=context)
        return result, tuple(reduce(empty, each, stream).copy_to_host()[()] for each in reductions)
    # neither results that overlap operands nor those in another byte order are written where they are
    read = (a, b, *(x for x in arrays_of(settings.fusion) if isinstance(x, np.ndarray)))
    held = result
    if not result.dtype.isnative or any(np.may_share_memory(result, x) for x in read):
        held = results.empty(shape, dtype) if settings.beta == 0 else result.astype(dtype)
    loan = Loan(stream, (held,), read)
    target = loan.write(held, copied=settings.beta != 0, order="C")
    if settings.fusion is not None:
        arguments = settings.fusion.arguments
        moved = tuple(read_only(loan.read(x)) if isinstance(x, np.ndarray) else x for x in arguments)
        settings = replace(settings, fusion=settings.fusion.with_arguments(moved))
    with finished(stream):
        settings.multiply(loan.read(a), loan.read(b), target, stream)
        reduced = [reduce(target, each, stream) for each in reductions]
    loan.bring_back()
    if held is not result:
        result[...] = held
    return result, tuple(x.copy_to_host()[()] for x in reduced)
