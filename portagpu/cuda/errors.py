"""numba.cuda's names of errors and warnings, for programs that catch them.

All are classes of `portagpu.errors`, most under their own name there; a `KernelTypeError` is a `TypingError`.
"""

from __future__ import annotations

from portagpu.dispatch.code.options import NumbaInvalidConfigWarning as NumbaInvalidConfigWarning
from portagpu.errors import *  # noqa: F403
from portagpu.errors import (
    BuildError,
    DeviceError,
    KernelError,
    KernelNameError,
    KernelTypeError,
    KernelValueError,
    NoDeviceError,
    OutOfBoundsError,
    PortaGPUError,
    PortaGPUPerformanceWarning,
    PortaGPUWarning,
    UnsupportedSyntaxError,
)
from portagpu.errors import __all__ as _own

NumbaError = PortaGPUError
CompilerError = KernelError
NumbaTypeError = KernelTypeError
NumbaValueError = KernelValueError
NumbaAttributeError = UntypedAttributeError = NotDefinedError = KernelNameError
NumbaNotImplementedError = UnsupportedBytecodeError = UnsupportedSyntaxError
NumbaIndexError = OutOfBoundsError
ConstantInferenceError = RequireLiteralValue = KernelValueError
CudaSupportError = NoDeviceError
CudaRuntimeError = DeviceError
LinkerError = NvvmError = BuildError
KernelRuntimeError = DeviceError


NumbaWarning = PortaGPUWarning
NumbaPerformanceWarning = PortaGPUPerformanceWarning

# of the warnings below PortaGPU gives none; they are here to be filtered


class NumbaDeprecationWarning(NumbaWarning, DeprecationWarning):
    """A deprecated feature."""


class NumbaPendingDeprecationWarning(NumbaWarning, PendingDeprecationWarning):
    """A feature that will be deprecated."""


class NumbaExperimentalFeatureWarning(NumbaWarning):
    """A feature that may change."""


class NumbaTypeSafetyWarning(NumbaWarning):
    """A conversion that may lose information."""


class NumbaDebugInfoWarning(NumbaWarning):
    """Debug information that may be incomplete."""


__all__ = [
    *_own,
    *("CompilerError", "ConstantInferenceError", "CudaRuntimeError", "CudaSupportError"),
    *("KernelRuntimeError", "LinkerError", "NotDefinedError", "NumbaAttributeError", "NumbaDebugInfoWarning"),
    *("NumbaDeprecationWarning", "NumbaError", "NumbaExperimentalFeatureWarning", "NumbaIndexError"),
    *("NumbaInvalidConfigWarning", "NumbaNotImplementedError", "NumbaPendingDeprecationWarning"),
    *("NumbaPerformanceWarning", "NumbaTypeError", "NumbaTypeSafetyWarning", "NumbaValueError", "NumbaWarning"),
    *("NvvmError", "RequireLiteralValue", "UnsupportedBytecodeError", "UntypedAttributeError"),
]
