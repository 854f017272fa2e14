"""Builds of OpenCL programs, with a cache of binaries in memory and on disk.

A cache file has what the compiler said and the driver's binary; its name is a digest of everything that matters:
schema, package version, device and driver, source, options. Corrupt and foreign files are rewritten.

Options that only make a compiler talk (`Context.remarks`) are no part of the name: any binary serves a context without
them. A context that has them takes a binary only with what was said of it, and else has it compiled anew.
"""

from __future__ import annotations

import hashlib
import logging
import re
import struct
import weakref
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pyopencl as cl
from pyopencl import _cl

from portagpu import notices
from portagpu.device import architecture_ptx
from portagpu.errors import BuildError
from portagpu.files import FileCache
from portagpu.package_stamp import package_stamp
from portagpu.runtime.execution.driver_errors import translated
from portagpu.runtime.programs.builder import CompilerDied, NoBuilder, build_apart
from portagpu.version import __version__

if TYPE_CHECKING:
    from portagpu.runtime.execution.context import Context

_SCHEMA = "2"
_MAGIC = b"PORTAGPU-BINARY\n"
_UNKNOWN = 0xFFFFFFFF  # in place of the length of what the compiler said
_LIMIT_BYTES = 512 * 1024 * 1024
_BUILD_FAILURE = -11
_log = logging.getLogger(__name__)
_said: weakref.WeakKeyDictionary[cl.Program, str] = weakref.WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class _Entry:
    """What a cache file holds."""

    binary: bytes
    said: str | None  # by the compiler; None where it was not asked, or had nothing to say about what it had cached

    @classmethod
    def read(cls, data: bytes) -> _Entry | None:
        """None for what is no entry."""
        if len(data) < 4:
            return None
        (length,) = struct.unpack_from("<I", data)
        if length == _UNKNOWN:
            return cls(data[4:], None)
        return cls(data[4 + length :], data[4 : 4 + length].decode(errors="replace"))

    def written(self) -> bytes:
        """The file's bytes."""
        text = b"" if self.said is None else self.said.encode()
        return struct.pack("<I", _UNKNOWN if self.said is None else len(text)) + text + self.binary


def remarks_of(program: cl.Program) -> str | None:
    """What the compiler said of a program that `build` made for a context with `Context.remarks`; None: not known."""
    return _said.get(program)


def build(context: Context, source: str, options: tuple[str, ...]) -> cl.Program:
    """Build a program for a context, from the caches if they have it.

    Raises `BuildError` (with ``log`` and ``opencl_source``) where the driver refuses the text or dies of it.
    """
    key = _digest(context, source, options)
    known = context.programs.pop(key, None)
    program = known or _load(context, key, options) or _compile(context, key, source, options)
    found = context.programs.setdefault(key, program)  # another thread may have built it, too
    most = context.settings.specialisations
    while most and len(context.programs) > most:  # kernels that are kept hold theirs themselves
        with suppress(KeyError, RuntimeError):  # two threads may be here
            context.programs.pop(next(iter(context.programs)))
    return found


def _digest(context: Context, source: str, options: tuple[str, ...]) -> str:
    parts = (_SCHEMA, __version__, context.device.key, source, *options)
    if architecture_ptx.is_marked(
        source
    ):  # the binary is what the package, in its present state, makes of the driver's
        parts += (package_stamp() or "",)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _cache(context: Context) -> FileCache:
    told = partial(notices.unkept, context.settings)
    return FileCache(context.settings.cache_dir / "programs", ".bin", _MAGIC, _LIMIT_BYTES, told)


def _entry(context: Context, key: str) -> _Entry | None:
    if not context.settings.disk_cache:
        return None
    data = _cache(context).read(key)
    return None if data is None else _Entry.read(data)


def _load(context: Context, key: str, options: tuple[str, ...]) -> cl.Program | None:
    entry = _entry(context, key)
    if entry is None or (context.remarks and entry.said is None):
        return None
    try:
        raw = _cl._Program(context.cl_context, [context.device.cl_device], [entry.binary])
        build_quietly(raw, options)
        _cache(context).touch(key)
        return _noted(cl.Program(raw), entry.said)
    except Exception as error:  # a driver may answer with anything to a binary it does not like
        _log.debug("cache file %s was refused: %s", _cache(context).path(key), error)
        return None


def _compile(context: Context, key: str, source: str, options: tuple[str, ...]) -> cl.Program:
    if context.capabilities.crashing_compiler and context.settings.builds_apart:
        found = _compiled_apart(context, source, options)
        if found is not None:
            _save(context, key, found)
            return found
    try:
        raw = _cl._Program(context.cl_context, source)
    except cl.Error as error:
        raise translated(error, context) from error
    try:
        build_quietly(raw, (*options, *context.remarks))
    except cl.Error as error:
        if getattr(error, "code", None) != _BUILD_FAILURE:
            raise translated(error, context) from error
        raise _build_error(error, _log_of(raw, context), source) from error
    marked = architecture_ptx.is_marked(source)
    if marked:
        raw = _unmarked(context, raw, options, source)
    said = _log_of(raw, context).strip() if context.remarks else None
    if said == "" and not marked:  # a driver that has the binary in a cache of its own says nothing
        known = _entry(context, key)  # perhaps another process has compiled it meanwhile, and was told
        said = None if known is None else known.said
    program = _noted(cl.Program(raw), said)
    _save(context, key, program)
    return program


def _compiled_apart(context: Context, source: str, options: tuple[str, ...]) -> cl.Program | None:
    """The program as a child process has compiled it; None for what this process is to compile, or to refuse.

    Raises `BuildError` where the driver's compiler dies of it.
    """
    deaths: list[str] = []
    for text in (source, _by_hand(source)):
        try:
            built = build_apart(context.device.key, text, (*options, *context.remarks))
        except NoBuilder as error:
            _log.info("no process for a compiler that may end it: %s", error)
            return None
        except CompilerDied as error:
            _log.info("the driver's compiler died: %s", error)
            deaths.append(str(error))
            continue
        if not built.status:
            raw = _cl._Program(context.cl_context, [context.device.cl_device], [built.binary])
            build_quietly(raw, options)
            return _noted(cl.Program(raw), built.said.strip() if context.remarks else None)
        if not deaths:
            return None  # this process is told the same, and in the words of PyOpenCL
    result = BuildError(f"the OpenCL compiler of {context.device.name} ({context.device.platform}) died: {deaths[-1]}")
    result.log, result.died, result.opencl_source = "\n".join(deaths), deaths[-1], source
    raise result


_KERNEL = re.compile(r"^__kernel void ", re.MULTILINE)


def _by_hand(source: str) -> str:
    """The program with kernels that say that they are vectorised by hand: compilers for CPUs then do it not."""
    return _KERNEL.sub("__attribute__((vec_type_hint(float4))) __kernel void ", source)


def _noted(program: cl.Program, said: str | None) -> cl.Program:
    if said is not None:
        _said[program] = said
    return program


def _unmarked(context: Context, compiled: Any, options: tuple[str, ...], source: str) -> Any:
    """The program with instructions that the driver takes in its own text only (see `device.architecture_ptx`)."""
    text = architecture_ptx.unmarked(bytes(compiled.get_info(cl.program_info.BINARIES)[0]))
    raw = _cl._Program(context.cl_context, [context.device.cl_device], [text])
    try:
        build_quietly(raw, options)
    except cl.Error as error:
        raise _build_error(error, _log_of(raw, context), f"{source}\n\n{text.decode('latin1')}") from error
    return raw


def build_quietly(program: Any, options: tuple[str, ...]) -> None:
    """Build one of PyOpenCL's inner programs; remarks of the compiler stay in its log."""
    # PyOpenCL's public build() warns of every remark of a compiler, and filters of warnings belong to all threads
    program._build(options=" ".join(options).encode(), devices=None)


def _log_of(program: Any, context: Context) -> str:
    try:
        return str(program.get_build_info(context.device.cl_device, cl.program_build_info.LOG))
    except cl.Error:
        return ""


def _build_error(error: Any, log: str, source: str) -> BuildError:
    result = BuildError("the driver's OpenCL compiler refused the program")
    result.log = f"{error}\n\n{log}"
    result.opencl_source = source
    return result


def _save(context: Context, key: str, program: cl.Program) -> None:
    if not context.settings.disk_cache:
        return
    if context.capabilities.compiles_for_binaries and not context.settings.binaries:
        return  # the driver's own cache serves later processes, at less speed
    try:
        binaries: Any = program.get_info(cl.program_info.BINARIES)
        data = _Entry(bytes(binaries[0]), remarks_of(program)).written()
    except (cl.Error, IndexError) as error:
        _log.debug("the binary is not kept: %s", error)
        return
    _cache(context).write(key, data)
