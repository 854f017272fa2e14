"""The driver's statistics of a built kernel: registers, memory, threads."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyopencl as cl
from pyopencl import _cl

from portagpu.device.capabilities import DeviceType
from portagpu.runtime.execution.driver_errors import translate_cl_errors
from portagpu.runtime.programs.build import build_quietly

if TYPE_CHECKING:
    from portagpu.runtime.programs.launch import CompiledKernel


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Figures of one specialisation; bytes. None: the device does not tell."""

    regs_per_thread: int | None
    shared_mem_per_block: int
    local_mem_per_thread: int | None
    const_mem_size: int
    max_threads_per_block: int


def figures_of(compiled: CompiledKernel, options: tuple[str, ...]) -> Figures:
    """Ask the driver about a kernel."""
    binary, context = compiled.binary, compiled.context
    with translate_cl_errors(context):
        private: Any = compiled.figure(cl.kernel_work_group_info.PRIVATE_MEM_SIZE)
        threads: Any = compiled.figure(cl.kernel_work_group_info.WORK_GROUP_SIZE)
        # CPU drivers give the size of their own stack frames, or nothing
        is_gpu = context.capabilities.device_type is DeviceType.GPU
        return Figures(
            regs_per_thread=_registers(compiled, options),
            shared_mem_per_block=binary.shared_bytes,
            local_mem_per_thread=int(private) if is_gpu else binary.local_bytes,
            const_mem_size=binary.constant_bytes,
            max_threads_per_block=int(threads),
        )


def _registers(compiled: CompiledKernel, options: tuple[str, ...]) -> int | None:
    """Registers of a thread, from the compiler's log. The driver keeps no log with binaries that it caches."""
    context = compiled.context
    if not context.capabilities.max_registers_option:
        return None
    # a second kernel of a name of its own makes the driver compile anew, and tell
    unique = f"__kernel void pg_{uuid.uuid4().hex}(void) {{ }}"
    program: Any = _cl._Program(context.cl_context, f"{compiled.binary.source}\n{unique}\n")
    build_quietly(program, (*options, "-cl-nv-verbose"))
    log = program.get_build_info(context.device.cl_device, cl.program_build_info.LOG)
    found = re.search(rf"entry function '{compiled.binary.name}'.*?Used (\d+) registers", log, re.DOTALL)
    return int(found.group(1)) if found else None


def assembly(compiled: CompiledKernel) -> str | None:
    """The driver's binary where it is text."""
    data = compiled.driver_binary()
    try:
        text = data.rstrip(b"\0").decode("ascii")
    except UnicodeDecodeError:
        return None
    return text if text.isprintable() or "\n" in text else None
