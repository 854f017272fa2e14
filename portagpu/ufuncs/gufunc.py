"""`guvectorize`'s result: a function of sub-arrays applied along the remaining axes."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from portagpu.dispatch.arguments import dates
from portagpu.dispatch.arguments.signatures import check_count
from portagpu.dispatch.arguments.typeof import typeof
from portagpu.dispatch.decorators import jit
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.dispatch.pickling import Pickled
from portagpu.errors import ArgumentCountError, ArgumentTypeError, KernelTypeError, SettingsError, ShapeError
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.copies import copied_if_shared
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.stream import Stream, as_stream
from portagpu.types import Array, NoneType, Number, Signature, as_signature
from portagpu.ufuncs import operands
from portagpu.ufuncs.core_dimensions import Layout
from portagpu.ufuncs.kernel_source import kernel_from, launch_for_user, position
from portagpu.ufuncs.operands import Result, is_array, shape_of
from portagpu.ufuncs.ufunc import convert_into


class GeneralizedFunction(Pickled):
    """A function of sub-arrays that takes arrays with further axes in front, and broadcasts those.

    ``f(*inputs, *outputs, out=None, stream=0)``; outputs that are not passed are made. With a device array among the
    arguments the results are device arrays and nothing waits, else they are copied to the host.
    """

    __name__: str

    def __init__(
        self,
        function: Any,
        signatures: Sequence[Signature],
        layout: str,
        options: dict[str, Any],
        writable: Sequence[int | str],
    ) -> None:
        self.core = function if isinstance(function, Dispatcher) else jit(function, device=True)
        functools.update_wrapper(self, self.core.py_func)
        self.py_func: Callable[..., Any] = self.core.py_func
        self.layout = Layout.parse(layout)
        self.signature = str(self.layout)
        self.nin, self.nout = len(self.layout.inputs), len(self.layout.outputs)
        self.max_blocksize: int | None = None
        self.signatures: list[Signature] = []
        self._options = options
        self._kernels: dict[Any, Dispatcher] = {}
        self._lock = threading.RLock()
        names = self.core.source.parameters
        if len(names) != self.nin + self.nout:
            raise KernelTypeError(
                f"`{self.__name__}` has {len(names)} parameters, the layout {self.layout} {self.nin + self.nout}",
                span=self.core.source.span(self.core.source.tree),
            )
        self._writable = frozenset(_position(w, names, self.nin) for w in writable)
        for signature in signatures:
            self.add(signature)

    def _parts(self) -> tuple[Any, ...]:
        return self.core, self.signatures, self.signature, self._options, sorted(self._writable)

    def add(self, signature: Any) -> None:
        """Add a signature, such as ``void(float32[:], float32[:])``. Raises `KernelTypeError`."""
        found = as_signature(signature)
        check_count(found, self.core.source)
        if not isinstance(found.return_type, NoneType | None):
            raise KernelTypeError(
                f"guvectorized functions cannot return values: '{found}' specifies {found.return_type} return type",
                hint="write results into the last parameters",
            )
        for kind, axes in zip(found.args, (*self.layout.inputs, *self.layout.outputs), strict=True):
            ndim = kind.ndim if isinstance(kind, Array) else 0
            if not isinstance(kind, Array | Number) or (ndim != len(axes) and (axes or ndim != 1)):
                raise KernelTypeError(f"{kind} in '{found}' does not fit ({','.join(axes)}) in {self.layout}")
        for kind in found.args[self.nin :]:
            if not isinstance(kind, Array):
                raise KernelTypeError(f"an output is an array, not {kind}", hint=f"write {kind}[:]")
        self.signatures.append(found)

    @property
    def types(self) -> list[str]:
        """The signatures as NumPy's ufuncs show them: ``ff->f``."""
        chars = ["".join(_dtype(t).char for t in s.args) for s in self.signatures]
        return [f"{c[: self.nin]}->{c[self.nin :]}" for c in chars]

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0) -> Any:
        """Apply the function; gives the output, or a tuple of several."""
        outs = self._outs(args, out)
        inputs = [operands.operand(a) for a in args[: self.nin]]
        signature = self._signature(inputs, outs)
        context = operands.context_of([*inputs, *outs], stream)
        loops, extents = self.layout.resolve(
            [shape_of(v) for v in inputs], [None if o is None else np.shape(o) for o in outs]
        )
        loop = operands.broadcast_shapes(loops)
        for n in self._writable:
            if loops[n] != loop:
                raise ShapeError(f"the writable input {n} would be broadcast from {loops[n]} to {loop}")
        results = [
            Result(o, loop + self.layout.core(axes, extents), _dtype(kind), drops_ones=True)
            for o, axes, kind in zip(outs, self.layout.outputs, signature.args[self.nin :], strict=True)
        ]
        keep = any(isinstance(v, DeviceNDArray) for v in inputs) or any(r.is_on_device for r in results)
        placed = [
            self._place(n, v, _dtype(k), context, stream)
            for n, (v, k) in enumerate(zip(inputs, signature.args, strict=False))
        ]
        targets = [r.target(context, stream, filled=True) for r in results]
        works = [
            t if t.dtype == r.dtype else self._converted(t, r.dtype, stream)
            for t, r in zip(targets, results, strict=True)
        ]
        if int(np.prod(loop)):
            where = as_stream(stream, context)
            placed = [v if n in self._writable else _apart(v, works, where) for n, v in enumerate(placed)]
            self._run(loop, placed, works, signature, context, stream)
        self._write_back(args, inputs, placed, stream)
        for work, target in zip(works, targets, strict=True):
            if work is not target:
                convert_into(work, target, stream)
        found = tuple(r.finish(t, stream, keep=keep) for r, t in zip(results, targets, strict=True))
        return found if len(found) > 1 else found[0]

    def _outs(self, args: tuple[Any, ...], out: Any) -> list[Any]:
        if len(args) not in (self.nin, self.nin + self.nout):
            raise ArgumentCountError(
                f"gufunc accepts {self.nin} positional arguments (inputs only) or {self.nin + self.nout} positional"
                f" arguments (inputs and outputs). Got {len(args)} positional argument{'s' * (len(args) != 1)}."
            )
        if len(args) == self.nin:
            given = list(out) if isinstance(out, tuple) else [out] * (1 if out is not None else self.nout)
            if len(given) != self.nout:
                raise ArgumentCountError(f"`{self.__name__}` has {self.nout} outputs, out= has {len(given)}")
            return given
        if out is not None:
            raise SettingsError("cannot specify argument 'out' as both positional and keyword")
        return list(args[self.nin :])

    def _signature(self, inputs: Sequence[Any], outs: Sequence[Any]) -> Signature:
        if self.signatures:
            return operands.choose(self.signatures, self.__name__, inputs, narrows=True)
        if any(o is None for o in outs):
            raise ArgumentTypeError(
                f"`{self.__name__}` was made without signatures, so nothing tells the dtype of its outputs",
                hint="pass the outputs, or give guvectorize a signature",
            )
        kinds: list[Any] = []
        for value, axes in zip((*inputs, *map(operands.operand, outs)), self._axes(), strict=True):
            number = typeof(value if hasattr(value, "dtype") else np.asarray(value)[()])
            element = number.dtype if isinstance(number, Array) else number
            scalar = not axes and len(kinds) < self.nin
            kinds.append(element if scalar else Array(element, len(axes) or 1))
        return Signature(None, tuple(kinds))

    def _axes(self) -> tuple[tuple[str, ...], ...]:
        return (*self.layout.inputs, *self.layout.outputs)

    def _place(self, n: int, value: Any, dtype: np.dtype[Any], context: Context, stream: Any) -> Any:
        value = dates.converted(value, dtype) if is_array(value) else value
        if not is_array(value):
            value = np.asarray(operands.number(value, dtype))
        if isinstance(value, np.ndarray):
            return operands.on_device(value.astype(dtype, copy=False), context, stream)
        return value if value.dtype == dtype else self._converted(value, dtype, stream)

    def _converted(self, array: DeviceNDArray, dtype: np.dtype[Any], stream: Any) -> DeviceNDArray:
        result = device_array(array.shape, dtype, stream=stream)
        convert_into(array, result, stream)
        return result

    def _write_back(self, args: Sequence[Any], inputs: Sequence[Any], placed: Sequence[Any], stream: Any) -> None:
        for n in self._writable:
            if isinstance(inputs[n], DeviceNDArray):
                if placed[n] is not inputs[n]:
                    convert_into(placed[n], inputs[n], stream)
            elif isinstance(args[n], np.ndarray):
                host = placed[n].copy_to_host(stream=stream)
                if stream:
                    stream.synchronize()
                args[n][...] = host

    def _run(
        self,
        loop: tuple[int, ...],
        inputs: Sequence[DeviceNDArray],
        outputs: Sequence[DeviceNDArray],
        signature: Signature,
        context: Context,
        stream: Any,
    ) -> None:
        count = int(np.prod(loop))
        cores = [a.shape[a.ndim - len(axes) :] for a, axes in zip((*inputs, *outputs), self._axes(), strict=True)]
        whole = [
            a if a.shape == loop + core else a.broadcast_to(loop + core)
            for a, core in zip((*inputs, *outputs), cores, strict=True)
        ]
        flat = len(loop) != 1 and all(a.is_c_contiguous() for a in whole)
        ndim = 1 if flat or not loop else len(loop)
        shape = (count,) if ndim == 1 else loop
        args = []
        for array, core, kind in zip(whole, cores, signature.args, strict=True):
            extra = (1,) if isinstance(kind, Array) and not core else ()
            wanted = shape + core + extra
            args.append(array if array.shape == wanted else _with_axes(array, wanted, bool(extra), flat or not loop))
        scalars = tuple(isinstance(kind, Number) for kind in signature.args)
        axes = tuple(max(len(core), 1) for core in cores)
        kernel = self._kernel(ndim, scalars, axes)
        launch_for_user(kernel, count, self.max_blocksize, stream, (shape, *args), context)

    def _kernel(self, ndim: int, scalars: tuple[bool, ...], axes: tuple[int, ...]) -> Dispatcher:
        key = (ndim, scalars, axes)
        with self._lock:
            if key not in self._kernels:
                lines, index = position(ndim, "loop")
                names = [f"a{n}" for n in range(len(axes))]
                parts = [
                    f"{name}[{index}{'' if scalar else ', :' * count}]"
                    for name, scalar, count in zip(names, scalars, axes, strict=True)
                ]
                size = " * ".join(f"loop[{axis}]" for axis in range(ndim))
                text = [
                    f"def kernel(loop, {', '.join(names)}):",
                    "    i = grid(1)",
                    f"    if i < {size}:",
                    *lines,
                    f"        core({', '.join(parts)})",
                ]
                self._kernels[key] = kernel_from(text, {"core": self.core}, self._options)
            return self._kernels[key]

    def __repr__(self) -> str:
        return f"<portagpu generalized function {self.__name__} {self.layout}>"


def _with_axes(array: DeviceNDArray, shape: tuple[int, ...], extra: bool, flattened: bool) -> DeviceNDArray:
    """The array in the shape that the kernel takes; without flattening only an axis of length one is added."""
    if flattened:
        return array.reshape(*shape)
    found: DeviceNDArray = array[..., None] if extra else array
    return found


def _apart(x: DeviceNDArray, outputs: Sequence[DeviceNDArray], stream: Stream) -> DeviceNDArray:
    for output in outputs:
        x = copied_if_shared(x, output, stream)
    return x


def _dtype(kind: Any) -> np.dtype[Any]:
    element = kind.dtype.dtype if isinstance(kind, Array) else kind.dtype
    found: np.dtype[Any] = element
    return found


def _position(value: int | str, names: tuple[str, ...], nin: int) -> int:
    found = names.index(value) if isinstance(value, str) and value in names else value
    if not isinstance(found, int) or not 0 <= found < nin:
        raise ArgumentTypeError(f"writable_args names {value!r}, which is no input", hint="use names of parameters")
    return found
