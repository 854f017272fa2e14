"""The driver's statistics of a built kernel: registers, memory, threads."""

from __future__ import annotations

from dataclasses import dataclass

from portagpu.device.capabilities import DeviceType
from portagpu.runtime.execution.errors import translate_errors
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
    kernel_source, context = compiled.kernel_source, compiled.context
    driver = context.driver
    with compiled.any_object() as kernel:
        private, threads = driver.private_bytes(kernel), driver.max_threads(kernel)
    with translate_errors(context):
        # CPU drivers give the size of their own stack frames, or nothing
        is_gpu = context.capabilities.device_type is DeviceType.GPU
        return Figures(
            regs_per_thread=driver.registers(kernel_source.source, kernel_source.name, options),
            shared_mem_per_block=kernel_source.shared_bytes,
            local_mem_per_thread=private if is_gpu else kernel_source.local_bytes,
            const_mem_size=kernel_source.constant_bytes,
            max_threads_per_block=threads,
        )


def assembly(compiled: CompiledKernel) -> str | None:
    """The driver's binary where it is text."""
    data = compiled.driver_binary()
    try:
        text = data.rstrip(b"\0").decode("ascii")
    except UnicodeDecodeError:
        return None
    return text if text.isprintable() or "\n" in text else None
