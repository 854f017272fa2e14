"""Launches by what programs call on other back ends: dpctl's ``submit``, and ``cuLaunchKernel`` of cuda-bindings."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import itertools
import warnings
from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.bench.launching.calls import SIZE, Array, compiled_name, vectors
from portagpu.bench.method.turns import Call
from portagpu.device import DeviceRecord
from portagpu.runtime.execution.context import Context

_BINDINGS = "cuda.bindings.driver"


def dpctl_for(device: DeviceRecord) -> str | None:
    """dpctl's version, if it is installed and lists the device; else None."""
    if device.backend != "sycl" or importlib.util.find_spec("dpctl") is None:
        return None
    dpctl: Any = importlib.import_module("dpctl")
    return str(dpctl.__version__) if _listed(device) is not None else None


def bindings_for(device: DeviceRecord) -> str | None:
    """The version of cuda-bindings, if it is installed and the device is a card of CUDA's; else None."""
    if device.backend != "cuda" or importlib.util.find_spec("cuda") is None:
        return None
    try:
        bindings: Any = importlib.import_module("cuda.bindings")
    except ImportError:
        return None
    return str(bindings.__version__)


def _listed(device: DeviceRecord) -> Any:
    """dpctl's object for a device."""
    dpctl: Any = importlib.import_module("dpctl")
    for found in dpctl.get_devices():
        if (found.name, found.sycl_platform.name) == (device.name, device.platform):
            return found
    return None


def of_dpctl(context: Context, kernel: Any, sets: int) -> Call:
    """``SyclQueue.submit`` of the OpenCL C that PortaGPU makes of the kernel, on an in-order queue."""
    dpctl: Any = importlib.import_module("dpctl")
    usm: Any = importlib.import_module("dpctl.memory")
    queue = dpctl.SyclQueue(_listed(context.device), property="in_order")
    name = compiled_name(context, kernel)
    source = next(iter(kernel.inspect_opencl().values()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the module has another name in later releases
        program: Any = importlib.import_module("dpctl.program")
        native = program.create_program_from_source(queue, source).get_sycl_kernel(name)
    sets_of_memory = []
    for one in vectors(kernel, sets):
        memory = [usm.MemoryUSMDevice(4 * SIZE, queue=queue) for _ in one]
        for block, host in zip(memory, one, strict=True):
            block.copy_from_host(host.view(np.uint8))
        # the kernels ask for the size of their first vector only
        sets_of_memory.append([memory[0], ctypes.c_int(SIZE), *memory[1:]])
    following = itertools.cycle(sets_of_memory)

    def fetch() -> Array:
        host = np.zeros(SIZE, np.float32)
        sets_of_memory[0][0].copy_to_host(host.view(np.uint8))
        return host

    return Call(enqueue=lambda: queue.submit(native, next(following), [SIZE], [SIZE]), wait=queue.wait, fetch=fetch)


def of_cuda_bindings(context: Context, kernel: Any, sets: int) -> Call:
    """``cuLaunchKernel`` of the program that PortaGPU compiled, on CUDA's default stream."""
    driver: Any = importlib.import_module(_BINDINGS)
    name = compiled_name(context, kernel)
    binary = next(iter(kernel.overloads.values())).compiled.driver_binary()
    module = _checked(driver.cuModuleLoadData(binary.rstrip(b"\0") + b"\0"))
    function = _checked(driver.cuModuleGetFunction(module, name.encode()))
    given = [[cuda.to_device(vector) for vector in one] for one in vectors(kernel, sets)]
    pointers = [[x.__cuda_array_interface__["data"][0] for x in one] for one in given]
    types = (ctypes.c_void_p, ctypes.c_int, *(ctypes.c_void_p for _ in pointers[0][1:]))
    following = itertools.cycle([((one[0], SIZE, *one[1:]), types) for one in pointers])

    def launch() -> None:
        _checked(driver.cuLaunchKernel(function, 1, 1, 1, SIZE, 1, 1, 0, 0, next(following), 0))

    def wait() -> None:
        _checked(driver.cuStreamSynchronize(0))

    return Call(enqueue=launch, wait=wait, fetch=given[0][0].copy_to_host)


def _checked(result: Any) -> Any:
    """What a call of cuda-bindings gives beside its code. Raises `RuntimeError`, as a peer's error."""
    code, *rest = result
    if int(code):
        raise RuntimeError(f"CUDA's driver says {code}")
    return rest[0] if rest else None


__all__ = ["bindings_for", "dpctl_for", "of_cuda_bindings", "of_dpctl"]
