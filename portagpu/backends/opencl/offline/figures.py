"""What compiled kernels need, read from the outputs of offline compilers: assembly text of LLVM, binaries of ocloc."""

from __future__ import annotations

import re
import struct

from portagpu.backends.offline import OfflineFigures
from portagpu.errors import LoweringError


def figures_of_assembly(text: str) -> OfflineFigures:
    """Figures from the comments and metadata of LLVM's assembly for amdgcn."""

    def number(pattern: str, default: int | None = None) -> int:
        found = re.search(pattern, text, re.MULTILINE)
        if found is not None:
            return int(found.group(1))
        if default is None:
            raise LoweringError(f"the compiler's assembly does not say {pattern!r}: its format is another one")
        return default

    return OfflineFigures(
        registers=number(r"^; TotalNumVgprs: (\d+)", number(r"^; NumVgprs: (\d+)")),
        matrix_registers=number(r"^; NumAgprs: (\d+)", 0),
        scalar_registers=number(r"^; NumSgprs: (\d+)"),
        spilled=number(r"^\s*\.vgpr_spill_count:\s*(\d+)"),  # scalar registers spill into lanes of vector registers
        scratch_bytes=number(r"^; ScratchSize: (\d+)"),
        local_bytes=number(r"^; LDSByteSize: (\d+)"),
        lanes=number(r"^\s*\.wavefront_size:\s*(\d+)"),
        occupancy=number(r"^; Occupancy: (\d+)", 0) or None,
    )


_SECTION = struct.Struct("<IIQQQQIIQQ")


def _sections(data: bytes) -> dict[str, bytes]:
    """The sections of a 64-bit ELF file by name. Raises `LoweringError` for anything else."""
    try:
        if data[:5] != b"\x7fELF\x02":
            raise ValueError("no 64-bit ELF file")
        (offset,) = struct.unpack_from("<Q", data, 0x28)
        size, count, names = struct.unpack_from("<HHH", data, 0x3A)
        headers = [_SECTION.unpack_from(data, offset + number * size) for number in range(count)]
        text = headers[names][4]
        return {data[text + h[0] : data.index(b"\0", text + h[0])].decode(): data[h[4] : h[4] + h[5]] for h in headers}
    except (ValueError, IndexError, struct.error) as error:
        raise LoweringError(f"the offline compiler's binary cannot be read: {error}") from error


def figures_of_binary(data: bytes) -> tuple[OfflineFigures, tuple[str, ...]]:
    """Figures from the text in one of ocloc's binaries, and the functions that it calls and does not hold."""
    sections = _sections(data)
    if ".ze_info" not in sections:
        raise LoweringError("ocloc's binary has no .ze_info section: its version is too old, or too new")
    info = sections[".ze_info"].decode(errors="replace")

    def number(name: str, default: int = 0) -> int:
        found = re.search(rf"^\s*{name}:\s*(\d+)", info, re.MULTILINE)
        return int(found.group(1)) if found else default

    registers = number("grf_count", 128)
    figures = OfflineFigures(
        registers=registers,
        matrix_registers=0,
        scalar_registers=None,
        spilled=None,
        scratch_bytes=_scratch(info),
        local_bytes=number("slm_size"),
        lanes=number("simd_size"),
        occupancy=None,
    )
    return figures, _unresolved(sections)


def _scratch(info: str) -> int:
    """Bytes of memory that each hardware thread needs for itself."""
    found = re.search(
        r"^\s*per_thread_memory_buffers:\n((?:\s+(?:- )?(?:type|usage|size|slot):.*\n)+)", info, re.MULTILINE
    )
    return sum(map(int, re.findall(r"size:\s*(\d+)", found.group(1)))) if found else 0


def _unresolved(sections: dict[str, bytes]) -> tuple[str, ...]:
    """Names in the table of symbols that are of no section: what the kernel calls and nobody defines."""
    symbols, names = sections.get(".symtab", b""), sections.get(".strtab", b"")
    found = []
    for place in range(0, len(symbols) - 23, 24):
        name, _, _, section = struct.unpack_from("<IBBH", symbols, place)
        if name and section == 0:
            found.append(names[name : names.index(b"\0", name)].decode(errors="replace"))
    return tuple(sorted(found))
