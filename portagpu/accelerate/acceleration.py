"""`Acceleration`: a block in which products of NumPy arrays go to a device where that is faster."""

from __future__ import annotations

import contextlib
import functools
import math
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

import numpy as np

from portagpu.accelerate import taken
from portagpu.accelerate.blocks import Blocks
from portagpu.accelerate.experience import Experience, Key
from portagpu.accelerate.late_imports import AfterImport
from portagpu.accelerate.names import Names
from portagpu.accelerate.products import OF_VECTORS, PRODUCTS, elements_of, product_work
from portagpu.accelerate.rates import Rates
from portagpu.accelerate.report import Record, Report
from portagpu.accelerate.ufunc_loops import MatmulLoops, Operands
from portagpu.accelerate.work import Left, Planner, Work
from portagpu.blas.matmul import matmul
from portagpu.device import DeviceRecord, find_device
from portagpu.errors import ArgumentTypeError, PortaGPUError, SettingsError
from portagpu.runtime.execution.context import Context, current_context
from portagpu.settings import Settings

_LEAST = 2.0e6  # operations of a call that may be worth looking at: some 10 us of a core's time
_FASTER = 0.8  # the share of NumPy's time that the device may take: expectations are that uncertain
_MATMUL = "numpy.matmul, @"


class Acceleration(contextlib.ContextDecorator):
    """A block in which products of NumPy arrays are computed on a device; what `portagpu.accelerate()` returns.

    It may be entered several times, by several threads, within itself and within others.
    """

    def __init__(self, device: DeviceRecord, threshold: float | None) -> None:
        self.device = device
        self.threshold = threshold
        self._experience = _experience_of(device.key)
        self._rates = Rates(device, Settings.from_environment(), PRODUCTS)
        self._record = Record()
        self._remarks: dict[str, None] = {}

    def __enter__(self) -> Acceleration:
        _blocks.enter(self)
        if not _reaches_operator:
            self.remark("a @ b is NumPy's: its C interface for loops of ufuncs was not found")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _blocks.leave(self)

    def report(self) -> Report:
        """What was taken over so far, what was left to NumPy and why, the time of both, and the estimated gain."""
        name = f"{self.device.name} ({self.device.platform})"
        return Report(device=name, rows=self._record.rows(), remarks=tuple(self._remarks))

    def __str__(self) -> str:
        return str(self.report())

    def serve(
        self, title: str, planner: Planner, original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The result of a call, by the device or by the function itself."""
        plan = _planned(planner, args, kwargs)
        if isinstance(plan, Left):
            return self._left(title, plan, functools.partial(original, *args, **kwargs))
        key = (title, plan.operands, plan.work.dtype)
        why, numpy_seconds = self._judged(plan.work, key)
        if not why:
            begin = time.perf_counter()
            try:
                result = self._run(plan.run)
            except (PortaGPUError, MemoryError) as error:
                why = self._failed(error)
                result = NotImplemented
            else:
                why = "" if result is not NotImplemented else "the function has errors or warnings for such values"
            if not why:
                seconds = time.perf_counter() - begin
                self._experience.of_device(key, seconds)
                self._record.add(title, plan.operands, plan.work.dtype, "", seconds, numpy_seconds)
                return result
        left = Left(why, plan.operands, plan.work.dtype)
        return self._left(title, left, functools.partial(original, *args, **kwargs))

    def serve_product(self, operands: Operands, extents: tuple[int, int, int, int], dtype: np.dtype[Any]) -> str:
        """Compute a product that `numpy.matmul`'s loop was called for; the reason where that is left to the loop."""
        count, m, n, k = extents
        work = product_work((m, n, k), dtype, count=count)
        if count == 1 and work.flops >= _LEAST:
            a, b, _ = operands()
            work = product_work((m, n, k), dtype, operands=elements_of(a[0], b[0]))
        key = (_MATMUL, _extents(extents), dtype.name)
        why, numpy_seconds = (OF_VECTORS, None) if min(m, n) == 1 else self._judged(work, key)
        if not why:
            begin = time.perf_counter()
            try:
                self._run(lambda: matmul(*operands()))
            except (PortaGPUError, MemoryError) as error:
                why = self._failed(error)
            else:
                seconds = time.perf_counter() - begin
                self._experience.of_device(key, seconds)
                self._record.add(*key, "", seconds, numpy_seconds)
        return why

    def left_product(self, extents: tuple[int, int, int, int], dtype: np.dtype[Any], why: str, seconds: float) -> None:
        """Count a product that NumPy's loop has computed."""
        key = (_MATMUL, _extents(extents), dtype.name)
        self._experience.of_numpy(key, seconds)
        self._record.add(*key, why, seconds, None)

    def remark(self, text: str) -> None:
        """Say something in the report, once."""
        self._remarks.setdefault(text)

    def _left(self, title: str, left: Left, call: Callable[[], Any]) -> Any:
        begin = time.perf_counter()
        result = call()
        if left.counts:
            key, seconds = (title, left.operands, left.dtype), time.perf_counter() - begin
            self._experience.of_numpy(key, seconds)
            self._record.add(*key, left.why, seconds, None)
        return result

    def _run(self, function: Callable[[], Any]) -> Any:
        with _blocks.serving(), Context.for_device(self.device):
            return function()

    def _judged(self, work: Work, key: Key) -> tuple[str, float | None]:
        """Why a call is left to NumPy, or "", and how long NumPy should take, where that is known."""
        flops = work.flops * work.count
        if self.threshold is not None:
            if flops < self.threshold or not flops:
                return f"less than {self.threshold:g} operations", None
            known = self._rates.known(work)
            return "", None if known is None else known.numpy
        if flops < _LEAST:
            return "too small", None
        try:
            expected = self._run(lambda: self._rates.expected(work))
        except (PortaGPUError, MemoryError) as error:
            return self._failed(error), None
        if expected.device > _FASTER * expected.numpy:
            return "NumPy is as fast, by measured rates", expected.numpy
        if self._experience.prefers_numpy(key, expected.numpy):
            return "NumPy is as fast, by earlier calls", expected.numpy
        return "", expected.numpy

    def _failed(self, error: Exception) -> str:
        self.remark(f"the device failed, and NumPy computed instead: {error}")
        return f"the device failed: {type(error).__name__}"


def _planned(planner: Planner, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return planner(*args, **kwargs)
    except TypeError as error:
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:  # not by the call itself
            raise
        return Left("unusual arguments")


def _extents(extents: tuple[int, int, int, int]) -> str:
    count, m, n, k = extents
    batch = "" if count == 1 else f"{count}x"
    return f"{batch}{m}x{k} {batch}{k}x{n}"


# the process: NumPy's functions are replaced while any block is open ------------------------------------------------


def _serve(planner: Planner, title: str, original: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    block = _blocks.current()
    return original(*args, **kwargs) if block is None else block.serve(title, planner, original, args, kwargs)


def _product(operands: Operands, extents: tuple[int, int, int, int], dtype: Any, compute: Callable[[], None]) -> None:
    block = _blocks.current()
    if block is None:
        compute()
        return
    why = block.serve_product(operands, extents, dtype)
    if why:
        begin = time.perf_counter()
        compute()
        block.left_product(extents, dtype, why, time.perf_counter() - begin)


def _take_over() -> None:
    global _reaches_operator
    _reaches_operator = _loops.install()
    _install(taken.of_numpy(matmul=not _reaches_operator) | taken.of_scipy())
    _scipy.start()


def _install(table: taken.Table) -> None:
    _names.install(
        {title: (original, functools.partial(_serve, planner)) for title, (original, planner) in table.items()}
    )


def _give_back() -> None:
    _scipy.stop()
    _loops.restore()
    _names.restore()


_reaches_operator = True
_names = Names()
_loops = MatmulLoops(_product)
_scipy = AfterImport(taken.SCIPY, lambda: _install(taken.of_scipy()))
_blocks: Blocks[Acceleration] = Blocks(_take_over, _give_back)


@functools.cache
def _experience_of(device: str) -> Experience:
    """What calls took on a device in this process, by the device's key."""
    return Experience()


# the public function ------------------------------------------------------------------------------------------------


def accelerate(*, device: str | int | DeviceRecord | None = None, threshold: float | None = None) -> Acceleration:
    """A context manager in which NumPy's and SciPy's products of matrices are computed on a device.

    ``with portagpu.accelerate():`` lets `numpy.matmul` and ``@``, `numpy.dot`, `numpy.inner`, `numpy.tensordot` and
    `numpy.einsum` of plain arrays of float32, float64 and both complex dtypes go to the device and back where measured
    rates let expect that to be faster; results are NumPy arrays of the same shapes and dtypes, equal within rounding.
    Everything else is NumPy's. Where the device fails, NumPy computes the call.

    ``device``: a number, "gpu" or "cpu", or a part of a name, as `portagpu.cuda.select_device` takes it; by default the
    current one. ``threshold``: operations (2 m n k, four times that for complex numbers) from which on a call is taken
    over, in place of what is measured; 0 for all. The first large call of a dtype measures for some seconds; what is
    measured is kept on disk.

    ``report()`` of the result, or ``str``, tells what was taken over. docs/accelerate.md has the rest.

    Raises `NoDeviceError`, `DeviceSelectionError`, `ArgumentTypeError`, `SettingsError`.
    """
    if device is not None and (isinstance(device, bool) or not isinstance(device, str | int | DeviceRecord)):
        raise ArgumentTypeError(
            f"device is a {type(device).__name__}",
            hint='a device is chosen by number or text: 0, "gpu", a part of its name',
        )
    if threshold is not None:
        if isinstance(threshold, bool) or not isinstance(threshold, int | float | np.integer | np.floating):
            raise ArgumentTypeError(
                f"threshold is a {type(threshold).__name__}", hint="a number of operations, or None"
            )
        if not 0 <= threshold < math.inf:
            raise SettingsError(f"threshold={threshold} is no number of operations", hint="0 takes over every product")
    if device is None:
        record = current_context().device
    else:
        record = device if isinstance(device, DeviceRecord) else find_device(device)
    return Acceleration(record, None if threshold is None else float(threshold))
