"""Every exception that PortaGPU raises.

::

    PortaGPUError
    ├── KernelError                    the kernel's Python text is at fault (found while compiling)
    │   ├── TypingError                  what the text means cannot be determined, or is not allowed
    │   │   ├── UnsupportedSyntaxError     a construct that the kernel language does not have (also UnsupportedError)
    │   │   ├── KernelTypeError            operand, argument or return types do not fit      (also TypeError)
    │   │   ├── KernelNameError            an unknown name or attribute                      (also NameError)
    │   │   │   └── UnsetVariableError       a variable is read before it is set               (also UnboundLocalError)
    │   │   └── KernelValueError           a compile-time constant is missing or out of range (also ValueError)
    │   │       └── NeedsConstantError       a parameter of a device function is needed at compile time
    │   ├── SourceUnavailableError       the kernel's Python text cannot be found          (also OSError)
    │   ├── UnsupportedError             what the language or the device does not have
    │   │   ├── UncountedWorkError         the work of a launch cannot be counted exactly
    │   │   └── MissingCapabilityError     this device cannot do what the kernel asks for
    │   │       ├── SharedMemoryError        shared arrays are too large for it         (also KernelValueError)
    │   │       └── NoILP64Error             no BLAS of 64-bit integers apart               (also RuntimeError)
    │   └── LoweringError                the typed kernel could not be translated
    │       └── BuildError                 a compiler refused the program
    ├── LaunchError                    the call of a kernel is at fault
    │   ├── ArgumentCountError           too many, too few or unknown arguments            (also TypeError)
    │   ├── ArgumentValueError           an argument whose value means nothing             (also ValueError)
    │   │   └── ArgumentRangeError         one that is too large for a result               (also OverflowError)
    │   ├── ArgumentTypeError            an argument of a type that no kernel can take     (also TypeError)
    │   │   ├── CopyNeededError            a host array without a copy of what is on a device (also ValueError)
    │   │   ├── LayoutError                a layout of guvectorize that means nothing   (also ValueError)
    │   │   ├── SubscriptTypeError         no integer, slice, or array of integers or bools (also IndexError)
    │   │   └── UnknownOptionError         an option that does not exist       (also SettingsError, KeyError)
    │   ├── LaunchConfigError            grid, block or shared memory do not fit (also ValueError, CudaAPIError)
    │   │   └── LaunchConfigTypeError      they are no integers                             (also TypeError)
    │   ├── KernelOnlyError              the host uses what kernels have (also NotImplementedError, AttributeError)
    │   ├── DeviceFunctionLaunchError    the host calls a device function    (also RuntimeError, ValueError)
    │   ├── KernelPickleError            a kernel pickled by another Python   (also pickle.UnpicklingError)
    │   ├── GraphError                   what a graph of launches cannot have, or be asked for    (also RuntimeError)
    │   └── SpecialisationError          a kernel for one signature cannot be specialised again (also RuntimeError)
    ├── CudaDriverError                what CUDA's driver would report: CudaAPIError with DeviceError below it
    ├── DeviceError                    the device or its driver is at fault               (also CudaAPIError)
    │   ├── NoDeviceError                no OpenCL device works
    │   ├── DeviceSelectionError         the selector names no device, or a broken one     (also ValueError)
    │   │   └── DeviceIndexError           cuda.gpus has no device of this number            (also IndexError)
    │   ├── OutOfMemoryError             the device has no memory left                     (also MemoryError)
    │   ├── DeviceLostError              the device's context died; nothing more can run in it
    │   └── DriverError                  any other error code of the driver
    ├── ClosedError                    a closed array, stream, event or context was used (also CudaAPIError)
    ├── MemoryNotSharedError           memory that others cannot use in place             (also BufferError)
    │   └── MaskedArrayError             an array with a mask                      (also NotImplementedError)
    ├── ShapeError                     shapes, strides or indices do not fit               (also ValueError)
    │   ├── MatrixShapeError             no matrix, or none that fits         (also numpy.linalg.LinAlgError)
    │   ├── NotContiguousError           a view would need a copy                  (also NotImplementedError)
    │   ├── OutOfBoundsError             an index beyond the end of an axis                (also IndexError)
    │   └── ShapeTypeError               a shape, or axes, that are not integers           (also TypeError)
    ├── ZeroWeightsError               the weights of an average sum to 0      (also ZeroDivisionError)
    ├── DTypeError                     a dtype that the operation does not take            (also TypeError)
    │   ├── NumberRangeError             a number that the dtype cannot hold                (also OverflowError)
    │   └── NoNumberError                NaN or text for a dtype that has none              (also ValueError)
    ├── FactorisationError             a matrix has no such factors, or no inverse  (also numpy.linalg.LinAlgError)
    │   ├── NotPositiveDefiniteError     a leading minor is not positive definite
    │   └── SingularMatrixError          a pivot is exactly zero
    ├── MissingCompilerError           an offline compiler is not installed
    ├── MissingPackageError            a package of others is not installed            (also ImportError)
    ├── OperatorError                  an operator of torch or JAX is declared or called wrongly  (also TypeError)
    │   └── NoGradientError              it has no backward function for what is asked for  (also NotImplementedError)
    ├── TuningError                    tuning cannot go on
    ├── StoreError                     a result or cache file is unreadable or of another version
    ├── WorkersError                   workers on other machines are out of reach, or of another version
    └── SettingsError                  an environment variable or option has a bad value   (also ValueError)

Warnings: `PortaGPUWarning` (also UserWarning), of it `PortaGPUCorrectnessWarning` and `PortaGPUPerformanceWarning`.

Every error owns its message, optionally the place in the user's Python text, and optionally a hint what to do about it.
Some bases have names of numba.cuda's, for programs that catch those; `portagpu.cuda.errors` has the remaining names.
"""

from __future__ import annotations

import difflib
import pickle
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from portagpu.source import Span

__all__ = [
    "ArgumentCountError",
    "ArgumentRangeError",
    "ArgumentTypeError",
    "ArgumentValueError",
    "BuildError",
    "ClosedError",
    "CopyNeededError",
    "CudaAPIError",
    "CudaDriverError",
    "DTypeError",
    "DeviceError",
    "DeviceFunctionLaunchError",
    "DeviceIndexError",
    "DeviceLostError",
    "DeviceSelectionError",
    "DriverError",
    "FactorisationError",
    "GraphError",
    "KernelError",
    "KernelNameError",
    "KernelOnlyError",
    "KernelPickleError",
    "KernelTypeError",
    "KernelValueError",
    "LaunchConfigError",
    "LaunchConfigTypeError",
    "LaunchError",
    "LayoutError",
    "LoweringError",
    "MaskedArrayError",
    "MatrixShapeError",
    "MemoryNotSharedError",
    "MissingCapabilityError",
    "MissingCompilerError",
    "MissingPackageError",
    "NeedsConstantError",
    "NoDeviceError",
    "NoGradientError",
    "NoILP64Error",
    "NoNumberError",
    "NotContiguousError",
    "NotPositiveDefiniteError",
    "NumberRangeError",
    "OperatorError",
    "OutOfBoundsError",
    "OutOfMemoryError",
    "PortaGPUCorrectnessWarning",
    "PortaGPUError",
    "PortaGPUPerformanceWarning",
    "PortaGPUWarning",
    "SettingsError",
    "ShapeError",
    "ShapeTypeError",
    "SharedMemoryError",
    "SingularMatrixError",
    "SourceUnavailableError",
    "SpecialisationError",
    "StoreError",
    "SubscriptTypeError",
    "TuningError",
    "TypingError",
    "UncountedWorkError",
    "UnknownOptionError",
    "UnsetVariableError",
    "UnsupportedError",
    "UnsupportedSyntaxError",
    "WorkersError",
    "ZeroWeightsError",
]


class PortaGPUError(Exception):
    """Base of every error of this package.

    Attributes: ``message`` (one sentence), ``span`` (place in the user's text or None), ``hint`` (what to do, or None),
    ``notes`` (further facts, a line each: inferred types, the call chain that led here).
    """

    def __init__(
        self, message: str, *, span: Span | None = None, hint: str | None = None, notes: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.hint = hint
        self.notes = tuple(notes)

    def __str__(self) -> str:
        parts = [self.message]
        if self.span is not None:
            parts.append(f"  at {self.span.excerpt()}")
        parts += [f"  {note}" for note in self.notes]
        if self.hint:
            parts.append(f"  hint: {self.hint}")
        return "\n".join(parts)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, self.span, self.hint, self.notes, self.__dict__)


def _rebuild(
    cls: type[PortaGPUError],
    message: str,
    span: Span | None,
    hint: str | None,
    notes: tuple[str, ...],
    state: dict[str, object],
) -> PortaGPUError:
    error = cls(message, span=span, hint=hint, notes=notes)
    error.__dict__.update(state)
    return error


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The beginning of a hint: the known name that is most like this one, and another one, or nothing."""
    close = difflib.get_close_matches(str(name), [other for other in known if other != name], n=1)
    return f"did you mean `{close[0]}`? " if close else ""


def unknown_attribute(owner: str, name: str, obj: object, known: Iterable[str], *, hint: str = "") -> AttributeError:
    """The error of an attribute that ``obj``, called ``owner`` in the text, has not; it names the one most like it.

    Python says the same below an uncaught error, from ``name`` and ``obj``; notebooks, logs and messages do not. Where
    the name is a property, something else was missing within it: that error is raised, which Python has dropped.
    """
    if isinstance(getattr(type(obj), name, None), property | cached_property):
        object.__getattribute__(obj, name)
    close = [] if name.startswith("_") else difflib.get_close_matches(name, list(known), n=1)
    text = f"{owner} has no {name!r}" + (f", but {close[0]!r}" if close else "") + (f"; {hint}" if hint else "")
    return AttributeError(text, name=name, obj=obj)


def with_article(name: str) -> str:
    """The name of a class after "a" or "an"."""
    return f"{'an' if name[:1].lower() in tuple('aeiou') else 'a'} {name}"


class KernelError(PortaGPUError):
    """The kernel's Python text is at fault; found while compiling, before anything ran."""


class TypingError(KernelError):
    """What the kernel's text means cannot be determined, or is not allowed."""


class UnsupportedError(KernelError):
    """Something that the kernel language or the device does not have."""


class LoweringError(KernelError):
    """The typed kernel could not be translated."""


class UnsupportedSyntaxError(TypingError, UnsupportedError):
    """A Python construct that the kernel language does not have."""


class KernelTypeError(TypingError, TypeError):
    """Operand, argument or return types do not fit."""

    device_array: object = None  # one that the kernel captures, where that is the mistake


class KernelNameError(TypingError, NameError):
    """A name or attribute that is not defined or that kernels cannot use."""


class UnsetVariableError(KernelNameError, UnboundLocalError):
    """A variable is read where no path that leads there has set it.

    ``name`` is the variable.
    """

    name: str


class KernelValueError(TypingError, ValueError):
    """A compile-time constant is missing, of the wrong kind or out of range."""


class NeedsConstantError(KernelValueError):
    """A shape must be known at compile time, and is not.

    A parameter of a device function becomes a constant where the caller passes one.
    """


class SourceUnavailableError(KernelError, OSError):
    """The kernel's Python text cannot be found."""


class MissingCapabilityError(UnsupportedError):
    """The device cannot do what the kernel asks for."""


class SharedMemoryError(MissingCapabilityError, KernelValueError):
    """The shared arrays of the kernel are larger than the device's local memory."""


class UncountedWorkError(UnsupportedError):
    """The work of a launch cannot be counted exactly: the message says what stands in the way."""


class NoILP64Error(MissingCapabilityError, RuntimeError):
    """BLAS or LAPACK functions were asked for that have 64-bit integers, and there is one interface only."""


class BuildError(LoweringError):
    """A compiler refused the program; ``log`` is what it said, ``opencl_source`` what it got.

    ``died``: how it ended its process, where it did.
    """

    log: str = ""
    died: str = ""
    opencl_source: str = ""


class CudaDriverError(PortaGPUError):
    """What CUDA's driver would report."""


class CudaAPIError(CudaDriverError):
    """A call that CUDA's driver would refuse."""

    @property
    def code(self) -> int:
        """OpenCL's error code; 0 where the driver was not asked."""
        return int(getattr(self.__cause__, "code", None) or 0)


class SettingsError(PortaGPUError, ValueError):
    """An environment variable or option has a bad value."""


class LaunchError(PortaGPUError):
    """The call of a kernel is at fault."""


class ArgumentCountError(LaunchError, TypeError):
    """Too many, too few or unknown kernel arguments."""


class ArgumentTypeError(LaunchError, TypeError):
    """An argument of a type that kernels cannot take."""


class ArgumentValueError(LaunchError, ValueError):
    """An argument of the right type whose value means nothing, such as a negative deviation."""


class ArgumentRangeError(ArgumentValueError, OverflowError):
    """An argument too large for a result, such as an infinite range of random numbers."""


class SubscriptTypeError(ArgumentTypeError, IndexError):
    """A subscript that is neither an integer, a slice, nor an array of integers or bools."""


class CopyNeededError(ArgumentTypeError, ValueError):
    """A host array was asked for without a copy, and the elements are on a device."""


class LayoutError(ArgumentTypeError, ValueError):
    """A layout of `guvectorize` that means nothing."""


class UnknownOptionError(ArgumentTypeError, SettingsError, KeyError):
    """An option that a decorator does not have."""


class LaunchConfigError(LaunchError, CudaAPIError, ValueError):
    """Grid, block or shared memory are malformed or exceed what the device can do."""


class LaunchConfigTypeError(LaunchConfigError, TypeError):
    """A launch configuration that is not made of integers."""


class KernelOnlyError(LaunchError, NotImplementedError, AttributeError):
    """What exists only inside kernels was called, or asked for an attribute, on the host."""


class DeviceFunctionLaunchError(LaunchError, RuntimeError, ValueError):
    """A device function was launched or called on the host."""


class GraphError(LaunchError, RuntimeError):
    """What a graph of launches cannot have, or cannot be asked for."""


class SpecialisationError(LaunchError, RuntimeError):
    """A kernel that is made for one signature was to be specialised."""


class KernelPickleError(LaunchError, pickle.UnpicklingError):
    """A pickled kernel comes from another version of Python, whose code cannot run here."""


class DeviceError(CudaAPIError):
    """The device or its driver is at fault."""


class NoDeviceError(DeviceError):
    """No OpenCL device works."""


class DeviceSelectionError(DeviceError, ValueError):
    """The selector names no device, or one that does not work."""


class DeviceIndexError(DeviceSelectionError, IndexError):
    """`cuda.gpus` has no device of this number; also an IndexError, by which Python's loops know the end."""


class OutOfMemoryError(DeviceError, MemoryError):
    """The device has no memory left for the allocation."""


class DeviceLostError(DeviceError):
    """The device's context died (often after an out-of-bounds write); nothing more can run in this process on it."""


class DriverError(DeviceError):
    """Any other error code of the OpenCL driver."""


class ClosedError(CudaAPIError):
    """A closed array, stream, event or context was used."""


class MemoryNotSharedError(PortaGPUError, BufferError, ValueError):
    """Memory that other libraries, or the device, cannot use in place."""


class MaskedArrayError(MemoryNotSharedError, NotImplementedError):
    """An array with a mask, which kernels cannot see."""


class ShapeError(PortaGPUError, ValueError):
    """Shapes, strides or indices do not fit."""


class NotContiguousError(ShapeError, NotImplementedError):
    """A flat view, or one of another shape, of elements that do not lie side by side."""


class ShapeTypeError(ShapeError, TypeError):
    """A shape, or axes, that are not integers."""


class OutOfBoundsError(ShapeError, IndexError):
    """An index lies beyond the end of its axis, or there are more indices than axes."""


class MatrixShapeError(ShapeError, np.linalg.LinAlgError):
    """An array that is no matrix, no square one, or none that fits the other operand, where there must be one."""


class ZeroWeightsError(PortaGPUError, ZeroDivisionError):
    """Weights of an average whose sum is 0."""


class DTypeError(PortaGPUError, TypeError):
    """A dtype that the operation does not take."""


class NumberRangeError(DTypeError, OverflowError):
    """A number of Python's that a dtype cannot hold, such as 300 for uint8."""


class NoNumberError(DTypeError, ValueError):
    """A value that is no number of a dtype: NaN for an integer, or text."""


class FactorisationError(PortaGPUError, np.linalg.LinAlgError):
    """A matrix has no factors of the kind that was asked for, or no inverse.

    ``order``: LAPACK's info, counted from 1; ``matrix``: which one of a batch, a tuple of its indices, empty for one.
    """

    order: int = 0
    matrix: tuple[int, ...] = ()


class NotPositiveDefiniteError(FactorisationError):
    """A leading minor is not positive definite: the one of ``order`` rows is the first."""


class SingularMatrixError(FactorisationError):
    """A pivot is exactly zero: that of column ``order`` is the first."""


class MissingCompilerError(PortaGPUError):
    """An offline compiler, which builds for devices that are not present, is not installed."""


class MissingPackageError(PortaGPUError, ImportError):
    """A package of others, which a part of this one works with, is not installed."""


class OperatorError(PortaGPUError, TypeError):
    """A custom operator of torch or JAX is declared wrongly, or called with what it does not take."""


class NoGradientError(OperatorError, NotImplementedError):
    """A custom operator has no backward function for a gradient that is asked for."""


class TuningError(PortaGPUError):
    """Tuning cannot go on."""


class StoreError(PortaGPUError):
    """A result or cache file is unreadable or of another version."""


class WorkersError(PortaGPUError):
    """Workers on other machines are out of reach, or of another version."""


class PortaGPUWarning(UserWarning):
    """Base of every warning of this package."""


class PortaGPUCorrectnessWarning(PortaGPUWarning):
    """A kernel compiles, but looks wrong: a variable without a value, a read of what another thread writes."""


class PortaGPUPerformanceWarning(PortaGPUWarning):
    """A launch works, but in a way that wastes the device's time."""
