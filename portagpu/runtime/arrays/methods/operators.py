"""Python's operators on device arrays: the matrix product, conversions, errors for what needs a kernel."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from portagpu.errors import ArgumentTypeError, CopyNeededError, ShapeError, unknown_attribute
from portagpu.runtime.arrays import numpy_dispatch
from portagpu.runtime.arrays.cuda_array_interface import NAME, address, described, is_asked_for
from portagpu.runtime.arrays.dlpack import device_of, exported
from portagpu.runtime.arrays.memory_pointer import MemoryPointer
from portagpu.runtime.arrays.methods.base import ArrayBase
from portagpu.runtime.arrays.methods.element_reads import note_iteration
from portagpu.runtime.arrays.nearest import hint_for, is_known

if TYPE_CHECKING:
    from typing_extensions import Self


_elementwise, _writing = numpy_dispatch.ELEMENTWISE, numpy_dispatch.IN_PLACE
_OTHERS = (type(None), str, bytes)  # are no operands
_NUMBERS = (bool, int, float, complex, np.number, np.bool_)  # which the functions of elements take at once


def _unary(name: str) -> Callable[[Any], Any]:
    def operator(self: Any) -> Any:
        function = _elementwise.get(name)
        return numpy_dispatch.call(name, self) if function is None else function(self)

    return operator


def _binary(name: str) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, _OTHERS):
            return NotImplemented
        function = _elementwise.get(name)
        return numpy_dispatch.call(name, self, other) if function is None else function(self, other)

    return operator


def _reflected(name: str) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, _OTHERS):
            return NotImplemented
        function = _elementwise.get(name)
        return numpy_dispatch.call(name, other, self) if function is None else function(other, self)

    return operator


def _in_place(name: str) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, _OTHERS):
            return NotImplemented
        function = _writing.get(name)
        return numpy_dispatch.call(name, self, other, out=self) if function is None else function(self, other)

    return operator


def _compared(name: str, symbol: str) -> Callable[[Any, Any], Any]:
    """``==`` or ``!=``, which have answers for operands of all kinds."""

    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, ArrayOperators) or isinstance(other, _NUMBERS):  # noqa: SIM101 - a tuple takes longer
            function = _elementwise.get(name)
            return numpy_dispatch.call(name, self, other) if function is None else function(self, other)
        return numpy_dispatch.call(symbol, self, other)

    return operator


class ArrayOperators(ArrayBase):
    """Operators of `DeviceNDArray`."""

    __slots__ = ()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The CUDA Array Interface (version 3), for objects of this process that wrap the array.

        On the back end `cuda` its pointer is the memory's address. Elsewhere it is a name that PortaGPU knows, no
        address: CUDA's libraries cannot use it, since the memory is OpenCL's. There it is for Python code that asks for
        it by name, and for nobody else: `torch.as_tensor`, `jax.numpy.asarray` and `cupy.asarray` see an array with
        DLPack and ``__array__``, which they take.
        """
        if not self.context.driver.shares_addresses and not is_asked_for(sys._getframe(1)):
            raise AttributeError(NAME)  # what is told is in `nearest`
        return described(self)

    @property
    def device_ctypes_pointer(self) -> ctypes.c_void_p:
        """The pointer of ``__cuda_array_interface__``, as ctypes has it."""
        return ctypes.c_void_p(address(self) or None)

    @property
    def gpu_data(self) -> MemoryPointer:
        """The array's memory, by the names of CUDA-Python's pointers; `buffer` is the driver's own object."""
        return MemoryPointer.of(self)

    def __getitem__(self, key: Any) -> Any:
        raise NotImplementedError

    def __matmul__(self, other: Self) -> Self:
        found: Self = numpy_dispatch.call("matmul", self, other)
        return found

    def __rmatmul__(self, other: Self) -> Self:
        found: Self = numpy_dispatch.call("matmul", other, self)
        return found

    def __imatmul__(self, other: Self) -> Self:
        # without it Python would only bind the name anew
        found: Self = numpy_dispatch.call("matmul", self, other, out=self)
        return found

    @property
    def mT(self) -> Self:
        """View with the last two axes exchanged. Raises `ShapeError` for fewer axes."""
        found: Self = numpy_dispatch.call("matrix_transpose", self)
        return found

    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any:
        """The functions of the array API standard: `portagpu.xp`. Raises `ArgumentTypeError` for other versions."""
        return numpy_dispatch.call("array_namespace", self, api_version)

    @property
    def device(self) -> Any:
        """The device that the memory is on."""
        return self.context.device

    def to_device(self, device: Any, /, *, stream: Any = None) -> Self:
        """The array itself on its device, a copy on another one, which goes through the host."""
        found: Self = numpy_dispatch.call("to_device", self, device, stream)
        return found

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return numpy_dispatch.dispatch(self.context, ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        with self.context:
            return numpy_dispatch.dispatch_function(func, args, kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise CopyNeededError(
                "`copy=False` is not supported: a device array becomes a host array only by a copy",
                hint="leave copy=False away",
            )
        host = self.copy_to_host()
        return host if dtype is None else host.astype(dtype)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """The same memory for other libraries, on CPUs and on the back end `cuda`, else `MemoryNotSharedError`."""
        options = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        return exported(self, options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return device_of(self)

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        """View with two axes exchanged. Raises `ShapeError`."""
        return numpy_dispatch.call("swapaxes", self, axis1, axis2)

    def __len__(self) -> int:
        if not self.shape:
            raise ArgumentTypeError("a 0-d array has no len()")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        """Views along the first axis; of a 1-D array its elements, copied to the host once, when iteration begins."""
        if not self.shape:
            raise ArgumentTypeError("a 0-d array cannot be iterated over")
        if len(self.shape) == 1:
            note_iteration(self.context, self.size)
            return iter(self.copy_to_host())
        return (self[i] for i in range(self.shape[0]))

    def __bool__(self) -> bool:
        return bool(self._only("truth value"))

    def __float__(self) -> float:
        return float(self._only_real("float()"))

    def __int__(self) -> int:
        return int(self._only_real("int()"))

    def __complex__(self) -> complex:
        return complex(self._only("complex()"))

    def __index__(self) -> int:
        if self.shape or self.dtype.kind not in "iu":
            raise ArgumentTypeError("only a 0-d device array of integers can be an index")
        return int(self._only("index"))

    def __str__(self) -> str:
        """The elements, as NumPy shows them; `repr` tells shape, dtype and device, and waits for nothing."""
        return str(np.asarray(self))

    def __format__(self, spec: str) -> str:
        """An array without axes as the number that it holds. Raises `ArgumentTypeError` for others with a format."""
        if spec and self.shape:
            raise ArgumentTypeError(
                f"the format {spec!r} is for numbers, not for an array of shape {self.shape}",
                hint="format its elements: [f'{n:.3f}' for n in x.copy_to_host()]",
            )
        return format(np.asarray(self), spec)

    def __copy__(self) -> Self:
        made: Self = self.copy("K")
        return made

    def __deepcopy__(self, memo: Any) -> Self:
        made: Self = self.copy("K")
        return made

    def __reduce__(self) -> Any:
        raise ArgumentTypeError(
            "device arrays cannot be pickled or sent to another process", hint="send a host array: x.copy_to_host()"
        )

    def _only(self, what: str) -> Any:
        """The only element, on the host. Raises `ShapeError` for other sizes than one."""
        if self.size != 1:
            raise ShapeError(
                f"the {what} of an array with {self.size} elements is ambiguous",
                hint="copy it with copy_to_host() and use .any(), .all() or an element",
            )
        return self.copy_to_host().item()

    def _only_real(self, what: str) -> Any:
        if self.dtype.kind == "c":
            raise ArgumentTypeError(f"{what} of a complex number", hint="use complex(x), or x.real")
        return self._only(what)

    if TYPE_CHECKING:  # as the functions below that are made of names

        def __add__(self, other: Any) -> Self: ...
        def __radd__(self, other: Any) -> Self: ...
        def __iadd__(self, other: Any) -> Self: ...
        def __sub__(self, other: Any) -> Self: ...
        def __rsub__(self, other: Any) -> Self: ...
        def __isub__(self, other: Any) -> Self: ...
        def __mul__(self, other: Any) -> Self: ...
        def __rmul__(self, other: Any) -> Self: ...
        def __imul__(self, other: Any) -> Self: ...
        def __truediv__(self, other: Any) -> Self: ...
        def __rtruediv__(self, other: Any) -> Self: ...
        def __itruediv__(self, other: Any) -> Self: ...
        def __floordiv__(self, other: Any) -> Self: ...
        def __rfloordiv__(self, other: Any) -> Self: ...
        def __ifloordiv__(self, other: Any) -> Self: ...
        def __mod__(self, other: Any) -> Self: ...
        def __rmod__(self, other: Any) -> Self: ...
        def __imod__(self, other: Any) -> Self: ...
        def __pow__(self, other: Any) -> Self: ...
        def __rpow__(self, other: Any) -> Self: ...
        def __ipow__(self, other: Any) -> Self: ...
        def __lshift__(self, other: Any) -> Self: ...
        def __rlshift__(self, other: Any) -> Self: ...
        def __ilshift__(self, other: Any) -> Self: ...
        def __rshift__(self, other: Any) -> Self: ...
        def __rrshift__(self, other: Any) -> Self: ...
        def __irshift__(self, other: Any) -> Self: ...
        def __and__(self, other: Any) -> Self: ...
        def __rand__(self, other: Any) -> Self: ...
        def __iand__(self, other: Any) -> Self: ...
        def __or__(self, other: Any) -> Self: ...
        def __ror__(self, other: Any) -> Self: ...
        def __ior__(self, other: Any) -> Self: ...
        def __xor__(self, other: Any) -> Self: ...
        def __rxor__(self, other: Any) -> Self: ...
        def __ixor__(self, other: Any) -> Self: ...
        def __divmod__(self, other: Any) -> tuple[Self, Self]: ...
        def __rdivmod__(self, other: Any) -> tuple[Self, Self]: ...
        def __lt__(self, other: Any) -> Self: ...
        def __le__(self, other: Any) -> Self: ...
        def __gt__(self, other: Any) -> Self: ...
        def __ge__(self, other: Any) -> Self: ...
        def __eq__(self, other: object) -> Self: ...  # type: ignore[override]
        def __ne__(self, other: object) -> Self: ...  # type: ignore[override]
        def __neg__(self) -> Self: ...
        def __pos__(self) -> Self: ...
        def __invert__(self) -> Self: ...
        def __abs__(self) -> Self: ...
        def __contains__(self, item: Any) -> bool: ...

        __hash__ = None  # type: ignore[assignment]

    if not TYPE_CHECKING:  # checkers say it before the program runs

        def __getattr__(self, name: str) -> Any:
            """Raise, with the name that was meant, or the way to do what NumPy's arrays do."""
            if name.startswith("_") and not is_known(name):  # protocols that libraries ask for
                context = self.context  # type: ignore[attr-defined]
                if name in context.backend.interfaces:
                    return self._interface(name)
                raise AttributeError(f"device arrays have no {name!r}", name=name, obj=self)
            hint = hint_for(name) if is_known(name) or hasattr(np.ndarray, name) else ""
            raise unknown_attribute("a device array", name, self, () if hint else dir(self), hint=hint)

        __eq__ = _compared("equal", "==")
        __ne__ = _compared("not_equal", "!=")
        __lt__ = _binary("less")
        __le__ = _binary("less_equal")
        __gt__ = _binary("greater")
        __ge__ = _binary("greater_equal")
        __add__, __radd__, __iadd__ = _binary("add"), _reflected("add"), _in_place("add")
        __sub__, __rsub__, __isub__ = _binary("subtract"), _reflected("subtract"), _in_place("subtract")
        __mul__, __rmul__, __imul__ = _binary("multiply"), _reflected("multiply"), _in_place("multiply")
        __truediv__, __rtruediv__, __itruediv__ = _binary("divide"), _reflected("divide"), _in_place("divide")
        __floordiv__, __rfloordiv__, __ifloordiv__ = (
            _binary("floor_divide"),
            _reflected("floor_divide"),
            _in_place("floor_divide"),
        )
        __mod__, __rmod__, __imod__ = _binary("remainder"), _reflected("remainder"), _in_place("remainder")
        __pow__, __rpow__, __ipow__ = _binary("**"), _reflected("power"), _in_place("**")
        __lshift__, __rlshift__, __ilshift__ = _binary("left_shift"), _reflected("left_shift"), _in_place("left_shift")
        __rshift__, __rrshift__, __irshift__ = (
            _binary("right_shift"),
            _reflected("right_shift"),
            _in_place("right_shift"),
        )
        __and__, __rand__, __iand__ = _binary("bitwise_and"), _reflected("bitwise_and"), _in_place("bitwise_and")
        __or__, __ror__, __ior__ = _binary("bitwise_or"), _reflected("bitwise_or"), _in_place("bitwise_or")
        __xor__, __rxor__, __ixor__ = _binary("bitwise_xor"), _reflected("bitwise_xor"), _in_place("bitwise_xor")
        __divmod__, __rdivmod__ = _binary("divmod"), _reflected("divmod")
        __neg__ = _unary("negative")
        __pos__ = _unary("positive")
        __invert__ = _unary("invert")
        __abs__ = _unary("absolute")

        def __round__(self, ndigits: int | None = None) -> Any:
            rounded = numpy_dispatch.call("round", self, 0 if ndigits is None else ndigits)
            return int(rounded) if ndigits is None else rounded

        def __contains__(self, item: Any) -> bool:
            found = self == item
            return bool(numpy_dispatch.call("any", found) if isinstance(found, ArrayOperators) else found)

        __hash__ = None  # type: ignore[assignment]
