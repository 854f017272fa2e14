"""Compiles OpenCL programs by PyOpenCL, without its caches and warnings, and asks for what was compiled."""

from __future__ import annotations

import logging
import re
import uuid
from typing import Any

import pyopencl as cl
from pyopencl import _cl

from portagpu.backends.compilers import UNOPTIMISED
from portagpu.backends.driver import Built
from portagpu.backends.opencl import known_floats
from portagpu.backends.opencl.builder import CompilerDied, NoBuilder, build_apart
from portagpu.backends.opencl.declarations import NO_HEADER, NO_TYPES, with_own_declarations
from portagpu.backends.opencl.ptx import architecture as architecture_ptx
from portagpu.backends.opencl.ptx import miscompiled
from portagpu.device.record import DeviceRecord
from portagpu.errors import BuildError
from portagpu.package_stamp import package_stamp

_BUILD_FAILURE = -11
_KERNEL = re.compile(r"^__kernel void ", re.MULTILINE)
# names in LLVM bitcode of what Oclgrind's interpreter does not know: all but these (and metadata)
_UNKNOWN_INTRINSIC = re.compile(
    rb"llvm\.(?!dbg\.|loop\.|ident|bswap\.|fabs\.|fmuladd\.|lifetime\.|mem(?:cpy|move|set)\.|[su](?:max|min)\.|trap)"
)
_WITHOUT_INTRINSICS = (UNOPTIMISED, "-Drestrict=")  # inlined restricted pointers leave llvm.experimental.noalias
_with_headers: set[str] = set()  # keys of devices whose driver has types in the header that is spared
_log = logging.getLogger(__name__)


def compiled(
    context: cl.Context,
    device: DeviceRecord,
    source: str,
    options: tuple[str, ...],
    remarks: tuple[str, ...],
    *,
    apart: bool,
) -> Built:
    """Compile a program; see `portagpu.backends.driver.Driver.compile`."""
    if apart:
        found = _compiled_apart(context, device, source, options, remarks)
        if found is not None:
            return found
    raw = _built(context, device, source, (*options, *remarks))
    changed = _changed_text(device, raw, source)
    if changed is not None:
        raw = _of_text(context, device, changed, options, source)
        said = log_of(raw, device).strip() if remarks else None
    else:
        said = (log_of(raw, device).strip() if remarks else "") or None  # nothing: the driver had it in a cache
    return Built(program=cl.Program(raw), said=said)


def text_of(context: cl.Context, device: DeviceRecord, source: str, options: tuple[str, ...]) -> str:
    """PTX of a program, from a driver whose binaries are PTX, with the package's changes (`_changed_text`).

    Raises `BuildError` where the compiler refuses the program.
    """
    raw = _built(context, device, source, options)
    return _changed_text(device, raw, source) or _text(raw)


def loaded(context: cl.Context, device: DeviceRecord, binary: bytes, options: tuple[str, ...]) -> cl.Program:
    """The program of a binary. A driver may raise anything."""
    raw = _cl._Program(context, [device.native], [binary])
    build_quietly(raw, options)
    return cl.Program(raw)


def binary_of(program: Any) -> bytes | None:
    """What the driver compiled; None where it has no binaries. Raises the driver's error."""
    binaries: Any = program.get_info(cl.program_info.BINARIES)
    return bytes(binaries[0]) if binaries else None


def stamp(device: DeviceRecord, source: str) -> tuple[str, ...]:
    """The package's state where the binary is what it makes of the driver's."""
    if architecture_ptx.is_marked(source):
        return (package_stamp() or "",)
    if device.capabilities is not None and not device.capabilities.takes_known_floats:
        return (known_floats.REVISION,)
    if device.capabilities is not None and not device.capabilities.runs_optimised:
        return (_UNKNOWN_INTRINSIC.pattern.decode(),)
    return (miscompiled.REVISION,) if _is_rewritten(device) else ()


def registers(
    context: cl.Context, device: DeviceRecord, source: str, name: str, options: tuple[str, ...]
) -> int | None:
    """Registers of a thread, from the compiler's log. The driver keeps no log with binaries that it caches."""
    if device.capabilities is None or not device.capabilities.max_registers_option:
        return None
    # a second kernel of a name of its own makes the driver compile anew, and tell
    unique = f"__kernel void pg_{uuid.uuid4().hex}(void) {{ }}"
    program: Any = _cl._Program(context, f"{source}\n{unique}\n")
    build_quietly(program, (*options, "-cl-nv-verbose"))
    found = re.search(rf"entry function '{name}'.*?Used (\d+) registers", log_of(program, device), re.DOTALL)
    return int(found.group(1)) if found else None


def build_quietly(program: Any, options: tuple[str, ...]) -> None:
    """Build one of PyOpenCL's inner programs; remarks of the compiler stay in its log."""
    # PyOpenCL's public build() warns of every remark of a compiler, and filters of warnings belong to all threads
    program._build(options=" ".join(options).encode(), devices=None)


def log_of(program: Any, device: DeviceRecord) -> str:
    """What the compiler said of one of PyOpenCL's inner programs."""
    try:
        return str(program.get_build_info(device.native, cl.program_build_info.LOG))
    except cl.Error:
        return ""


def _built(context: cl.Context, device: DeviceRecord, source: str, options: tuple[str, ...]) -> Any:
    """The program as the driver builds it, without its header where it is not needed. Raises `BuildError`."""
    caps = device.capabilities
    if caps is not None and not caps.takes_known_floats:
        source = known_floats.with_unknown_arguments(source, has_doubles=caps.fp64)
    raw = _without_header(context, device, source, options)
    if raw is not None:
        return raw
    raw = _cl._Program(context, source)
    try:
        build_quietly(raw, options)
    except cl.Error as error:
        if getattr(error, "code", None) != _BUILD_FAILURE:
            raise
        raise _build_error(error, log_of(raw, device), source) from error
    if caps is not None and not caps.runs_optimised and _UNKNOWN_INTRINSIC.search(binary_of(raw) or b""):
        raw = _cl._Program(context, source)
        build_quietly(raw, (*options, *_WITHOUT_INTRINSICS))
    return raw


def _without_header(context: cl.Context, device: DeviceRecord, source: str, options: tuple[str, ...]) -> Any:
    """The program, compiled without the driver's header; None where there is none, or where the program needs it.

    What a compiler says of a wrong program, it is to say of the program as it is.
    """
    caps = device.capabilities
    if caps is None or not caps.declares_all or device.key in _with_headers:
        return None
    if any(option.startswith("-cl-std") for option in options):  # other versions of the language have more
        return None
    raw = _cl._Program(context, with_own_declarations(source))
    try:
        build_quietly(raw, (*options, NO_HEADER))
    except cl.Error as error:
        if getattr(error, "code", None) != _BUILD_FAILURE:
            raise
        said = log_of(raw, device)
        _log.info("the driver's header is needed: %s", said)
        if NO_TYPES in said:
            _with_headers.add(device.key)
        return None
    return raw


def _compiled_apart(
    context: cl.Context, device: DeviceRecord, source: str, options: tuple[str, ...], remarks: tuple[str, ...]
) -> Built | None:
    """The program as a child process has compiled it; None for what this process is to compile, or to refuse.

    Raises `BuildError` where the driver's compiler dies of it.
    """
    deaths: list[str] = []
    for text, more in ((source, ()), (_by_hand(source), ()), (source, (UNOPTIMISED,))):  # optimisers are what dies
        try:
            built = build_apart(device.key, text, (*options, *more, *remarks))
        except NoBuilder as error:
            _log.info("no process for a compiler that may end it: %s", error)
            return None
        except CompilerDied as error:
            _log.info("the driver's compiler died: %s", error)
            deaths.append(str(error))
            continue
        if not built.status:
            program = loaded(context, device, built.binary, options)
            return Built(program=program, said=built.said.strip() if remarks else None)
        if not deaths:
            return None  # this process is told the same, and in the words of PyOpenCL
    result = BuildError(f"the OpenCL compiler of {device.name} ({device.platform}) died: {deaths[-1]}")
    result.log, result.died, result.opencl_source = "\n".join(deaths), deaths[-1], source
    raise result


def _by_hand(source: str) -> str:
    """The program with kernels that say that they are vectorised by hand: compilers for CPUs then do it not."""
    return _KERNEL.sub("__attribute__((vec_type_hint(float4))) __kernel void ", source)


def _text(program: Any) -> str:
    return bytes(program.get_info(cl.program_info.BINARIES)[0]).decode("latin1").rstrip("\0")


def _is_rewritten(device: DeviceRecord) -> bool:
    return device.capabilities is not None and device.capabilities.rewritten_ptx


def _changed_text(device: DeviceRecord, program: Any, source: str) -> str | None:
    """The program's PTX with marked instructions, and without miscompiled ones; None where the driver's own serves."""
    marked = architecture_ptx.is_marked(source)
    if not (marked or _is_rewritten(device)):
        return None
    text = _text(program)
    changed = architecture_ptx.unmarked(text.encode("latin1"), source).decode("latin1") if marked else text
    if _is_rewritten(device):
        changed = miscompiled.rewritten(changed)
    return None if changed == text else changed


def _of_text(context: cl.Context, device: DeviceRecord, text: str, options: tuple[str, ...], source: str) -> Any:
    """The program of PTX, which the driver takes as a binary. Raises `BuildError`."""
    raw = _cl._Program(context, [device.native], [text.encode("latin1")])
    try:
        build_quietly(raw, options)
    except cl.Error as error:
        raise _build_error(error, log_of(raw, device), f"{source}\n\n{text}") from error
    return raw


def _build_error(error: Any, log: str, source: str) -> BuildError:
    result = BuildError("the driver's OpenCL compiler refused the program")
    result.log = f"{error}\n\n{log}"
    result.opencl_source = source
    return result
