"""Fills `Capabilities` by trying: small kernels are built and run, and their results checked."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl

from portagpu.device.capabilities import Capabilities, DeviceType
from portagpu.device.quirks import quirks_for, warp_size_attribute

_EMULATED_WARP = 32


class Trial:
    """Builds and runs probe kernels on one device.

    ``announce`` is called with a label before each; kernels whose label is in ``skip`` count as failed (they took an
    earlier process down).
    """

    def __init__(
        self,
        device: cl.Device,
        skip: frozenset[str] = frozenset(),
        announce: Callable[[str], None] = lambda label: None,
    ) -> None:
        self.device = device
        self._skip = skip
        self._announce = announce
        self.context = cl.Context([device])
        self.queue = cl.CommandQueue(self.context)

    def builds(self, source: str, options: tuple[str, ...] = ()) -> cl.Program | None:
        """The built program, or None."""
        try:
            return cl.Program(self.context, source).build(list(options), cache_dir=False)
        except Exception:  # a driver may answer with anything; the capability is then not there
            return None

    def run(
        self,
        body: str,
        expected: Any,
        *,
        result: str = "float",
        items: int = 1,
        options: tuple[str, ...] = (),
        preamble: str = "",
        local: int | None = None,
    ) -> bool:
        """Whether a kernel with this body writes the expected numbers to ``out``."""
        argument = ", __local uchar* scratch" if local is not None else ""
        label = hashlib.sha256(f"{preamble}|{body}|{result}|{options}|{local}".encode()).hexdigest()[:16]
        if label in self._skip:
            return False
        self._announce(label)
        program = self.builds(f"{preamble}\n__kernel void probe(__global {result}* out{argument}) {{ {body} }}", options)
        if program is None:
            return False
        wanted = np.asarray(expected)
        try:
            buffer = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, max(wanted.nbytes, 16))
            cl.enqueue_fill_buffer(self.queue, buffer, np.uint8(0), 0, max(wanted.nbytes, 16))
            kernel = cl.Kernel(program, "probe")
            kernel.set_arg(0, buffer)
            if local is not None:
                kernel.set_arg(1, cl.LocalMemory(local))
            cl.enqueue_nd_range_kernel(self.queue, kernel, (items,), (items,))
            found = np.empty_like(wanted)
            cl.enqueue_copy(self.queue, found, buffer)
            self.queue.finish()
        except Exception:
            return False
        return bool(np.array_equal(found, wanted))


def works(device: cl.Device, announce: Callable[[str], None] = lambda label: None) -> str | None:
    """Build and run one kernel; None if the result is right, else what went wrong."""
    announce("works")
    try:
        trial = Trial(device)
        program = cl.Program(
            trial.context, "__kernel void probe(__global int* out) { out[get_global_id(0)] = get_global_id(0) * 3 + 1; }"
        ).build(cache_dir=False)
    except Exception as error:
        return f"it cannot build a kernel: {_first_line(error)}"
    try:
        out = np.zeros(64, np.int32)
        buffer = cl.Buffer(trial.context, cl.mem_flags.READ_WRITE, out.nbytes)
        kernel = cl.Kernel(program, "probe")
        kernel.set_arg(0, buffer)
        cl.enqueue_nd_range_kernel(trial.queue, kernel, (64,), None)
        cl.enqueue_copy(trial.queue, out, buffer)
        trial.queue.finish()
    except Exception as error:
        return f"it cannot run a kernel: {_first_line(error)}"
    if not np.array_equal(out, np.arange(64) * 3 + 1):
        return "a kernel's result is wrong"
    return None


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower()]
    return (telling or lines or [type(error).__name__])[0][:200]


def probe(
    device: cl.Device,
    skip: frozenset[str] = frozenset(),
    announce: Callable[[str], None] = lambda label: None,
) -> Capabilities:
    """Find out what a working device can do."""
    trial = Trial(device, skip, announce)
    extensions = frozenset(device.extensions.split())
    identity = f"{device.platform.name} {device.vendor} {device.name}"
    kind = DeviceType.GPU if device.type & cl.device_type.GPU else DeviceType.CPU
    if device.type & cl.device_type.ACCELERATOR:
        kind = DeviceType.ACCELERATOR
    ptx = trial.run('float x = 1.5f; asm volatile("add.f32 %0, %0, %1;" : "+f"(x) : "f"(2.0f)); out[0] = x;', np.float32([3.5]))
    argument = _largest_local_argument(trial)
    values: dict[str, Any] = {
        "device_type": kind,
        "opencl_c_version": _version(device),
        "address_bits": int(device.address_bits),
        "compute_units": int(device.max_compute_units),
        "clock_mhz": int(device.max_clock_frequency),
        "global_memory": int(device.global_mem_size),
        "max_allocation": int(device.max_mem_alloc_size),
        "constant_memory": int(device.max_constant_buffer_size),
        "mem_base_alignment": max(1, int(device.mem_base_addr_align) // 8),
        "local_memory_static": _largest_static_local(trial, argument, hidden=ptx),
        "local_memory_argument": argument,
        "local_memory_dedicated": device.local_mem_type == cl.device_local_mem_type.LOCAL,
        "global_cache": int(device.global_mem_cache_size),
        "host_unified_memory": bool(device.host_unified_memory) or kind is DeviceType.CPU,
        "max_work_group_size": int(device.max_work_group_size),
        "max_work_item_sizes": tuple((*map(int, device.max_work_item_sizes), 1, 1)[:3]),
        "preferred_multiple": _preferred_multiple(trial),
        "warp_size": _warp_size(device, identity, kind),
        "fp64": _fp64(trial),
        "fp16": trial.run("half h = (half)1.5f; h = h * h; out[0] = (float)h;", np.float32([2.25]), preamble=_pragma("cl_khr_fp16", extensions)),
        "fp16_storage": trial.run(
            "__private half cell[1]; vstore_half(2.5f, 0, cell); out[0] = vload_half(0, cell);", np.float32([2.5])
        ),
        "correctly_rounded_divide_sqrt": trial.run(
            "out[0] = sqrt(2.0f);", np.sqrt(np.float32([2.0])), options=("-cl-fp32-correctly-rounded-divide-sqrt",)
        )
        and bool(device.single_fp_config & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT),
        "vector_width_float": int(device.native_vector_width_float) or 1,
        "vector_width_double": int(device.native_vector_width_double) or 1,
        "int64_atomics": _int64_atomics(trial, extensions),
        "inline_ptx": ptx,
        "subgroups": trial.run(
            "out[0] = sub_group_reduce_add(1.0f) >= 1.0f ? 1.0f : 0.0f;",
            np.float32([1.0]),
            preamble=_pragma("cl_khr_subgroups", extensions),
        ),
        "subgroup_shuffle": "cl_khr_subgroup_shuffle" in extensions,
        "required_subgroup_size": "cl_intel_required_subgroup_size" in extensions,
        "printf": trial.builds('__kernel void probe() { printf("%d", 1); }') is not None,
        "line_directives": False,
        "max_registers_option": False,
        "allows_build_option_g": True,
        "extensions": extensions,
    }
    for memory, space in (("global", "__global"), ("local", "__local")):
        for name, c_type in (("float", "float"), ("double", "double")):
            values[f"{name}_atomic_add_{memory}"] = _float_atomics(trial, c_type, space, extensions)
    values.update(quirks_for(identity))
    return Capabilities(**values)


def _version(device: cl.Device) -> tuple[int, int]:
    text = device.opencl_c_version.removeprefix("OpenCL C ").split()[0]
    major, _, minor = text.partition(".")
    return int(major), int(minor or 0)


def _pragma(extension: str, extensions: frozenset[str]) -> str:
    return f"#pragma OPENCL EXTENSION {extension} : enable" if extension in extensions else ""


def _fp64(trial: Trial) -> bool:
    return trial.run(
        "double x = 1.0 + 1e-15 * get_global_size(0); out[0] = x * x;",
        np.float64([(1.0 + 1e-15) ** 2]),
        result="double",
    )


def _preferred_multiple(trial: Trial) -> int:
    program = trial.builds("__kernel void probe(__global float* out) { out[get_global_id(0)] = 1.0f; }")
    if program is None:
        return 1
    kernel = cl.Kernel(program, "probe")
    info = cl.kernel_work_group_info.PREFERRED_WORK_GROUP_SIZE_MULTIPLE
    return int(kernel.get_work_group_info(info, trial.device))


def _warp_size(device: cl.Device, identity: str, kind: DeviceType) -> int:
    if kind is not DeviceType.GPU:
        return _EMULATED_WARP
    attribute = warp_size_attribute(identity)
    if attribute is not None:
        try:
            return int(getattr(device, attribute))
        except Exception:
            return _EMULATED_WARP
    return _EMULATED_WARP


def _int64_atomics(trial: Trial, extensions: frozenset[str]) -> bool:
    preamble = "\n".join(
        _pragma(e, extensions) for e in ("cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics")
    )
    body = "out[0] = 5; long old = atom_add(out, 4); atom_max(out, 20); out[1] = old + atom_cmpxchg(out, 20, 7);"
    return trial.run(body, np.int64([7, 25]), result="long", preamble=preamble)


def _float_atomics(trial: Trial, c_type: str, space: str, extensions: frozenset[str]) -> bool:
    if "cl_ext_float_atomics" not in extensions:
        return False
    dtype = np.float32 if c_type == "float" else np.float64
    local = f"__local {c_type} cell; cell = 0; __local {c_type}* place = &cell;"
    body = f"{local if space == '__local' else f'__global {c_type}* place = out; out[0] = 0;'} atomic_fetch_add_explicit((volatile {space} atomic_{c_type}*)place, ({c_type})1.5f, memory_order_relaxed, memory_scope_device); out[0] = *place;"
    return trial.run(body, dtype([1.5]), result=c_type, options=("-cl-std=CL3.0",))


def _largest_local_argument(trial: Trial) -> int:
    reported = int(trial.device.local_mem_size)
    body = "scratch[0] = 7; out[0] = scratch[0];"
    for size in (reported, reported - 64, reported - 512, reported - 1024, reported // 2, 16384, 8192):
        if size > 0 and trial.run(body, np.int32([7]), result="int", local=size):
            return size
    return 0


def _largest_static_local(trial: Trial, argument: int, *, hidden: bool) -> int:
    """Largest static __local array. Some drivers report less than they can do; they are tried beyond it."""
    reported = int(trial.device.local_mem_size)

    def fits(size: int) -> bool:
        body = f"__local uchar tile[{size}]; tile[0] = 3; tile[{size - 1}] = 4; out[0] = tile[0] + tile[{size - 1}];"
        return trial.run(body, np.int32([7]), result="int")

    if hidden:
        for kib in (226, 224, 162, 160, 98, 96, 64):
            if fits(kib * 1024):
                return kib * 1024
    for size in (reported, reported - 512, reported // 2):
        if size > 0 and fits(size):
            return size
    return argument
