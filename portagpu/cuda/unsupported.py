"""Names of CUDA-Python's for what OpenCL has not: each says so, and what to do instead."""

from __future__ import annotations

from typing import Any, NoReturn

from portagpu.device import working_devices
from portagpu.errors import NoDeviceError, UnsupportedError
from portagpu.runtime.execution.cuda_members import refuse_ipc

CudaSupportError = NoDeviceError


def _no_ptx(name: str) -> NoReturn:
    raise UnsupportedError(
        f"cuda.{name} makes PTX or LLVM IR, and kernels here become OpenCL C",
        hint="kernel.inspect_opencl() gives the OpenCL C, kernel.inspect_asm() the driver's code where it is text",
    )


def compile(pyfunc: Any, sig: Any, *args: Any, **options: Any) -> NoReturn:
    """Raise `UnsupportedError`: there is no PTX."""
    _no_ptx("compile")


def compile_for_current_device(pyfunc: Any, sig: Any, *args: Any, **options: Any) -> NoReturn:
    """Raise `UnsupportedError`: there is no PTX."""
    _no_ptx("compile_for_current_device")


def compile_ptx(pyfunc: Any, sig: Any, *args: Any, **options: Any) -> NoReturn:
    """Raise `UnsupportedError`: there is no PTX."""
    _no_ptx("compile_ptx")


def compile_ptx_for_current_device(pyfunc: Any, sig: Any, *args: Any, **options: Any) -> NoReturn:
    """Raise `UnsupportedError`: there is no PTX."""
    _no_ptx("compile_ptx_for_current_device")


def declare_device(name: str, sig: Any, *args: Any, **options: Any) -> NoReturn:
    """Raise `UnsupportedError`: CUDA C and PTX cannot be linked."""
    raise UnsupportedError(
        f"`{name}` would be linked from CUDA C or PTX, which OpenCL does not take",
        hint="write it in Python with @cuda.jit(device=True)",
    )


def open_ipc_array(handle: Any, shape: Any, dtype: Any, *args: Any, **options: Any) -> NoReturn:
    """Raise `MemoryNotSharedError`: processes do not share device memory."""
    refuse_ipc()


def is_supported_version() -> bool:
    """Whether kernels run; OpenCL has no runtime whose version could be too old."""
    return bool(working_devices())
