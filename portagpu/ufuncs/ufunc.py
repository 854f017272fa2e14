"""`vectorize`'s result: a function of numbers applied to arrays, element by element."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from portagpu.device.capabilities import Capabilities
from portagpu.device.ideal_device import IDEAL
from portagpu.dispatch.arguments import dates
from portagpu.dispatch.arguments.conversion import argument_type
from portagpu.dispatch.arguments.signatures import check_count
from portagpu.dispatch.decorators import jit
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.dispatch.pickling import Pickled
from portagpu.dtypes import DType
from portagpu.errors import (
    ArgumentCountError,
    ArgumentTypeError,
    KernelTypeError,
    OutOfBoundsError,
    SettingsError,
    ShapeError,
)
from portagpu.ir.types import Scalar
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.copies import copied_if_shared
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.arrays.overlap import crosses
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.stream import as_stream
from portagpu.types import Number, Signature, Type, as_signature, from_dtype
from portagpu.ufuncs import operands
from portagpu.ufuncs.kernel_source import kernel_from, launch_for_user, position
from portagpu.ufuncs.operands import Result, is_array, shape_of


class VectorizedFunction(Pickled):
    """A function of numbers that takes arrays, broadcasts them as NumPy does and runs on the device.

    ``f(*inputs, out=None, stream=0)``; with a device array among inputs or as ``out`` the result is a device array and
    nothing waits, else it is copied to the host. ``max_blocksize`` limits the threads of a block.
    """

    __name__: str

    nout = 1

    def __init__(self, function: Any, signatures: Sequence[Signature], options: dict[str, Any], identity: Any) -> None:
        self.core = function if isinstance(function, Dispatcher) else jit(function, device=True)
        functools.update_wrapper(self, self.core.py_func)
        self.py_func: Callable[..., Any] = self.core.py_func
        self.nin = len(self.core.source.parameters)
        self.nargs = self.nin + self.nout
        self.identity = identity
        self.signatures: list[Signature] = []
        self.max_blocksize: int | None = None
        self._options = options
        self._kernels: dict[Any, Dispatcher] = {}
        self._results: dict[Any, np.dtype[Any]] = {}
        self._lock = threading.RLock()
        for signature in signatures:
            self.add(signature)

    def _parts(self) -> tuple[Any, ...]:
        return self.core, self.signatures, self._options, self.identity

    def add(self, signature: Any) -> None:
        """Add a signature, such as ``float32(float32, float32)``; without a result's type that is inferred."""
        found = as_signature(signature)
        check_count(found, self.core.source)
        if found.return_type is None and all(isinstance(t, Number) for t in found.args):
            found = Signature(self._inferred(found.args), found.args)
        if not isinstance(found.return_type, Number) or not all(isinstance(t, Number) for t in found.args):
            raise KernelTypeError(
                f"'{found}' is no signature of a function of numbers",
                hint="write the result's and the arguments' types: 'float32(float32, float32)'",
            )
        self.signatures.append(found)

    def _inferred(self, arguments: tuple[Any, ...]) -> Type:
        """The type of the result for arguments of these types."""
        if any(dates.is_date(_dtype(t)) for t in arguments):
            return from_dtype(dates.result_dtype(self.py_func, [_dtype(t) for t in arguments]))
        return Number(_result_dtype(self.py_func, tuple(Scalar(t.row.computed) for t in arguments), IDEAL))

    @property
    def types(self) -> list[str]:
        """The signatures as NumPy's ufuncs show them: ``ff->f``."""
        return [f"{''.join(_dtype(t).char for t in s.args)}->{_dtype(s.return_type).char}" for s in self.signatures]

    @property
    def ntypes(self) -> int:
        """Number of signatures."""
        return len(self.signatures)

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0) -> Any:
        """Apply the function."""
        if len(args) == self.nargs:
            if out is not None:
                raise SettingsError("cannot specify argument 'out' as both positional and keyword")
            out = args[-1]
        elif len(args) != self.nin:
            raise ArgumentCountError(
                f"`{self.__name__}` takes {self.nin} arrays or numbers, and perhaps out; {len(args)} given"
            )
        if isinstance(out, tuple) and len(out) == 1:
            out = out[0]
        inputs = [operands.operand(a) for a in args[: self.nin]]
        context = operands.context_of([*inputs, out], stream)
        wanted, dtype = self._types(inputs, context)
        inputs = [v if is_array(v) or w is None else operands.number(v, w) for v, w in zip(inputs, wanted, strict=True)]
        inputs = [dates.converted(v, w) for v, w in zip(inputs, wanted, strict=True)]
        shape = operands.broadcast_shapes([shape_of(v) for v in inputs])
        result = Result(out, shape, dtype)
        keep = result.is_on_device or any(isinstance(v, DeviceNDArray) for v in inputs)
        placed = [operands.on_device(v, context, stream) if is_array(v) else v for v in inputs]
        target = result.target(context, stream)
        if target.size:
            where = as_stream(stream, context)
            placed = [copied_if_shared(v, target, where, crosses) if is_array(v) else v for v in placed]
            self._run(target, placed, wanted, context, stream)
        found = result.finish(target, stream, keep=keep)
        return found[()] if isinstance(found, np.ndarray) and found.ndim == 0 and result.out is None else found

    def reduce(self, array: Any, axis: int = 0, stream: Any = 0) -> Any:
        """Combine the elements along an axis pairwise, in order; of a 1-D array to a number, else to an array.

        Raises `ShapeError` for an empty axis of a function without identity, `ArgumentTypeError` unless the function
        takes two values.
        """
        if self.nin != 2:
            raise ArgumentTypeError(f"`{self.__name__}` takes {self.nin} values; only functions of two can reduce")
        source = operands.operand(array)
        if not is_array(source) or not -source.ndim <= axis < source.ndim:
            raise OutOfBoundsError(f"there is no axis {axis} to reduce in {np.shape(array)}")
        context = operands.context_of([source], stream)
        keep = isinstance(source, DeviceNDArray) and source.ndim > 1
        order = [axis % source.ndim, *(n for n in range(source.ndim) if n != axis % source.ndim)]
        work = operands.on_device(source, context, stream).transpose(*order)
        if work.shape[0] == 0:
            return self._nothing(work, keep)
        while work.shape[0] > 1:
            work = self._halved(work, stream)
        if keep:
            return work[0]
        host = work.copy_to_host(stream=stream)
        if stream:
            stream.synchronize()
        return host[0]

    def _halved(self, work: DeviceNDArray, stream: Any) -> DeviceNDArray:
        pairs, odd = divmod(work.shape[0], 2)
        _, dtype = self._types([work, work], work.context)
        half = device_array((pairs + odd, *work.shape[1:]), dtype, stream=stream)
        self(work[: 2 * pairs : 2], work[1 : 2 * pairs : 2], out=half[:pairs], stream=stream)
        if odd:
            convert_into(work[2 * pairs :], half[pairs:], stream)
        return half

    def _nothing(self, work: DeviceNDArray, keep: bool) -> Any:
        if self.identity is None:
            raise ShapeError(f"`{self.__name__}` has no identity, so nothing cannot be reduced")
        host = np.full(work.shape[1:], self.identity, work.dtype)
        return to_device(host) if keep else host[()]

    def _types(self, inputs: Sequence[Any], context: Context) -> tuple[list[np.dtype[Any] | None], np.dtype[Any]]:
        """Dtypes to which the inputs are converted (None: as they are), and the result's."""
        if self.signatures:
            found = operands.choose(self.signatures, self.__name__, inputs)
            return [_dtype(t) for t in found.args], _dtype(found.return_type)
        wanted = _numbers_adopt(inputs)
        kinds = tuple(
            Scalar(dates.stored(w or v.dtype).computed) if w or hasattr(v, "dtype") else argument_type(v, alias=False)
            for v, w in zip(inputs, wanted, strict=True)
        )
        given = [w or getattr(v, "dtype", None) for v, w in zip(inputs, wanted, strict=True)]
        dated = any(map(dates.is_date, given))
        key = (tuple(given) if dated else kinds, context.key)
        if key not in self._results and dated:
            self._results[key] = dates.result_dtype(self.py_func, [d or np.dtype(np.int64) for d in given])
        elif key not in self._results:
            self._results[key] = _result_dtype(self.py_func, kinds, context.capabilities).numpy
        return wanted, self._results[key]

    def _run(
        self,
        target: DeviceNDArray,
        inputs: Sequence[Any],
        wanted: Sequence[np.dtype[Any] | None],
        context: Context,
        stream: Any,
    ) -> None:
        shape = target.shape
        arrays = [v for v in inputs if is_array(v)]
        flat = all(a.shape == shape and a.is_c_contiguous() for a in [target, *arrays])
        if flat or target.ndim == 0:
            placed = [v.reshape(target.size) if is_array(v) else v for v in inputs]
            target = target.reshape(target.size)
        else:
            placed = [v.broadcast_to(shape) if is_array(v) and v.shape != shape else v for v in inputs]
        casts = tuple(
            w if is_array(v) and w is not None and v.dtype != w else None for v, w in zip(placed, wanted, strict=True)
        )
        kernel = self._kernel(target.ndim, tuple(is_array(v) for v in placed), casts)
        launch_for_user(kernel, target.size, self.max_blocksize, stream, (target, *placed), context)

    def _kernel(self, ndim: int, arrays: tuple[bool, ...], casts: tuple[np.dtype[Any] | None, ...]) -> Dispatcher:
        key = (ndim, arrays, casts)
        with self._lock:
            found = self._kernels.get(key)
            if found is None:
                found = self._kernels[key] = self._make(ndim, arrays, casts)
            return found

    def _make(self, ndim: int, arrays: tuple[bool, ...], casts: tuple[np.dtype[Any] | None, ...]) -> Dispatcher:
        lines, index = position(ndim, "out.shape")
        values = [f"a{n}[{index}]" if is_array else f"a{n}" for n, is_array in enumerate(arrays)]
        values = [v if c is None else f"cast{n}({v})" for n, (v, c) in enumerate(zip(values, casts, strict=True))]
        names = {f"cast{n}": c.type for n, c in enumerate(casts) if c is not None}
        text = [
            f"def kernel(out, {', '.join(f'a{n}' for n in range(self.nin))}):",
            "    i = grid(1)",
            "    if i < out.size:",
            *lines,
            f"        out[{index}] = core({', '.join(values)})",
        ]
        return kernel_from(text, {"core": self.core, **names}, self._options)

    def __repr__(self) -> str:
        return f"<portagpu vectorized function {self.__name__}>"


def _numbers_adopt(inputs: Sequence[Any]) -> list[np.dtype[Any] | None]:
    """Dtypes for Python numbers among arrays, as NumPy gives them; None elsewhere."""
    strong = [v.dtype for v in inputs if hasattr(v, "dtype") and not dates.is_date(v.dtype)]
    if not strong:
        return [None] * len(inputs)
    return [None if hasattr(v, "dtype") else np.result_type(*strong, v) for v in inputs]


def _result_dtype(function: Callable[..., Any], kinds: tuple[Any, ...], caps: Capabilities) -> DType:
    from portagpu.frontend.result_types import result_dtype  # the compiler, which no function that is not called needs

    return result_dtype(function, kinds, caps)


def _dtype(kind: Any) -> np.dtype[Any]:
    found: np.dtype[Any] = kind.dtype
    return found


def convert_into(source: DeviceNDArray, target: DeviceNDArray, stream: Any) -> None:
    """Copy one device array into another of the same shape, whatever their dtypes."""
    if source.dtype == target.dtype:
        target.copy_to_device(source, stream)
    else:
        _converter()(source, out=target, stream=stream)


@functools.cache
def _converter() -> VectorizedFunction:
    def same(x: Any) -> Any:
        return x

    return VectorizedFunction(same, (), {}, None)
