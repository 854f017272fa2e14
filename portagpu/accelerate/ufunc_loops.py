"""`numpy.matmul`'s inner loops, replaced: the way to ``a @ b``, which asks no name of a module.

NumPy's C interface has `PyUFunc_ReplaceLoopBySignature` for this. NumPy's own checks, promotion, broadcasting,
``out=``, ``axes=`` and ``casting=`` go on before the loop is called, and the loop gets addresses, extents and steps. A
product that is not taken over, or that fails, is computed by NumPy's own loop.

An exception cannot pass C's loop: of Ctrl-C, or another that a signal's handler raises as soon as Python runs. Python
then asks `sys.unraisablehook`, before the loop returns; ours has NumPy's own loop compute, and the exception raised
at the next line of the function that asked for the product.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, TypeAlias

import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

from portagpu.accelerate.work import DTYPES

Array = np.ndarray[Any, Any]
Operands: TypeAlias = Callable[[], tuple[Array, Array, Array]]
Product: TypeAlias = Callable[[Operands, tuple[int, int, int, int], Any, Callable[[], None]], None]
_REPLACE = 30  # its place in the table of NumPy's C interface for ufuncs: numpy/__ufunc_api.h
_EXTENTS, _STEPS = 4, 9
_SIZES = ctypes.POINTER(ctypes.c_ssize_t)
_Loop = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p), _SIZES, _SIZES, ctypes.c_void_p)
_probe = threading.local()


class _Memory:
    """Memory of NumPy's at an address, for `numpy.asarray`."""

    __slots__ = ("__array_interface__",)

    def __init__(self, interface: dict[str, Any]) -> None:
        self.__array_interface__ = interface


class MatmulLoops:
    """The loops of `numpy.matmul` for float32, float64 and both complex dtypes.

    ``product`` is called for each call of a loop. It gets a function that makes the operands and the result as arrays,
    the extents (batch, m, n, k), the dtype, and NumPy's own loop for these.
    """

    def __init__(self, product: Product) -> None:
        self._product = product
        self._installed = False
        self._lock = threading.RLock()
        self._replace: Any = None
        # by dtype; C's functions stay, since NumPy may be about to call them
        self._own: dict[Any, Any] = {}
        self._functions: dict[Any, Any] = {}  # the dtype of each in Python
        self._former: dict[Any, Any] = {}
        self._hook: Any = None

    def install(self) -> bool:
        """Replace the loops. False where this Python or NumPy has no such interface."""
        with self._lock:
            try:
                self._replace = self._replace or _replace_function()
            except (AttributeError, ValueError, OSError):
                return False
            self._installed = True
            for dtype in DTYPES:
                own = self._own.get(dtype) or self._make(dtype)
                former = self._put(dtype, _address(own))
                if former != _address(own):
                    self._former[dtype] = _Loop(former)
            if all(self._arrives(dtype) for dtype in DTYPES):
                self._hook, sys.unraisablehook = sys.unraisablehook, self._unraisable
                return True
            self.restore()
            return False

    def restore(self) -> None:
        """Put NumPy's own loops back; one that somebody else has put there since stays."""
        with self._lock:
            if not self._installed:
                return
            self._installed = False
            if sys.unraisablehook == self._unraisable:
                sys.unraisablehook = self._hook
            for dtype, former in self._former.items():
                present = self._put(dtype, _address(former))
                if present != _address(self._own[dtype]):
                    self._put(dtype, present)

    def _put(self, dtype: Any, address: int) -> int:
        """Put a loop in its place; the address of the one that was there."""
        number, former = dtype.num, ctypes.c_void_p()
        if self._replace(np.matmul, address, (ctypes.c_int * 3)(number, number, number), ctypes.byref(former)):
            return address  # there is none for the dtype, and `_arrives` will say so
        return former.value or 0

    def _arrives(self, dtype: Any) -> bool:
        """Whether products of a dtype come to the loop that was put there."""
        _probe.arrived = False
        two = np.full((1, 1), 2, dtype)
        return bool((two @ two)[0, 0] == 4 and _probe.arrived)

    def _make(self, dtype: Any) -> Any:
        """C's function for a dtype."""

        def loop(addresses: Any, extents: Any, steps: Any, data: Any) -> None:
            count, m, k, n = extents[:_EXTENTS]

            def arrays() -> tuple[Array, Array, Array]:
                return _arrays(addresses[:3], (count, m, n, k), steps[:_STEPS], dtype)

            def compute() -> None:
                self._compute(dtype, addresses, extents, steps, data)

            if m * n * k <= 1:
                _probe.arrived = True
                compute()
            else:
                self._product(arrays, (count, m, n, k), dtype, compute)

        self._functions[loop] = dtype
        self._own[dtype] = _Loop(loop)
        return self._own[dtype]

    def _compute(self, dtype: Any, *arguments: Any) -> None:
        """Call NumPy's own loop."""
        former = self._former.get(dtype)
        if former is None:  # another thread is about to note it
            with self._lock:
                former = self._former[dtype]
        former(*arguments)

    def _unraisable(self, unraisable: Any) -> None:
        """`sys.unraisablehook` meanwhile: what a loop raised is raised again when the loop has returned."""
        dtype = self._functions.get(unraisable.object) if callable(unraisable.object) else None
        if dtype is None or unraisable.exc_traceback is None:
            self._hook(unraisable)
            return
        frame = unraisable.exc_traceback.tb_frame
        given = frame.f_locals
        self._compute(dtype, *(given[name] for name in ("addresses", "extents", "steps", "data")))
        if frame.f_back is None:  # no Python called `numpy.matmul`, so none can be told
            self._hook(unraisable)
        else:
            _raise_in(frame.f_back, unraisable.exc_value)


def _arrays(
    addresses: Sequence[int], extents: tuple[int, int, int, int], steps: Sequence[int], dtype: Any
) -> tuple[Array, Array, Array]:
    """The operands and the result over NumPy's memory; of a batch with three axes."""
    count, m, n, k = extents
    shapes: tuple[tuple[int, ...], ...] = ((m, k), (k, n), (m, n))
    made = []
    for place, shape in enumerate(shapes):
        strides = tuple(steps[3 + 2 * place : 5 + 2 * place])
        if count != 1:
            shape, strides = (count, *shape), (steps[place], *strides)
        interface = {
            "version": 3,
            "typestr": dtype.str,
            "shape": shape,
            "strides": strides,
            "data": (addresses[place], place < 2),
        }
        made.append(np.asarray(_Memory(interface)))
    return made[0], made[1], made[2]


def _raise_in(frame: FrameType, error: BaseException) -> None:
    """Raise an exception of this thread in a function that is being run, at its next line.

    Python has no other way: what is raised asynchronously would come in the next loop that Python is called for.
    """
    tracer, local_tracer = sys.gettrace(), frame.f_trace

    def at_next_line(frame: FrameType, event: str, argument: Any) -> Any:
        sys.settrace(tracer)
        frame.f_trace = local_tracer
        raise error.with_traceback(None)

    frame.f_trace = at_next_line
    sys.settrace(lambda *event: None)


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _replace_function() -> Any:
    """`PyUFunc_ReplaceLoopBySignature`, from the table that NumPy's header reads it from."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = ctypes.cast(pointer(_multiarray_umath._UFUNC_API, None), ctypes.POINTER(ctypes.c_void_p))
    return ctypes.PYFUNCTYPE(
        ctypes.c_int, ctypes.py_object, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_void_p)
    )(table[_REPLACE])
