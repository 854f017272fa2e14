"""Builds OpenCL programs; binaries are remembered in memory and on disk.

A cache file has the driver's binary; its name is a digest of everything that matters: schema, package version, device
and driver, source, options. Corrupt and foreign files are rewritten.
"""

from __future__ import annotations

import hashlib
import logging
from typing import TYPE_CHECKING, Any

import pyopencl as cl
from pyopencl import _cl

from portagpu.device import ptx
from portagpu.errors import BuildError
from portagpu.files import FileCache
from portagpu.runtime.translate import translated
from portagpu.version import __version__

if TYPE_CHECKING:
    from portagpu.runtime.context import Context

_SCHEMA = "1"
_MAGIC = b"PORTAGPU-BINARY\n"
_LIMIT_BYTES = 512 * 1024 * 1024
_BUILD_FAILURE = -11
_log = logging.getLogger(__name__)


def build(context: Context, source: str, options: tuple[str, ...]) -> cl.Program:
    """Build a program for a context, from the caches if they have it.

    Raises `BuildError` (with ``log`` and ``opencl_source``) where the driver refuses the text.
    """
    key = _digest(context, source, options)
    with context.build_lock:
        known = context.programs.get(key)
        if known is not None:
            return known
    program = _load(context, key, options) or _compile(context, key, source, options)
    with context.build_lock:
        return context.programs.setdefault(key, program)


def _digest(context: Context, source: str, options: tuple[str, ...]) -> str:
    parts = (_SCHEMA, __version__, context.device.key, source, *options)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _cache(context: Context) -> FileCache:
    return FileCache(context.settings.cache_dir / "programs", ".bin", _MAGIC, _LIMIT_BYTES)


def _load(context: Context, key: str, options: tuple[str, ...]) -> cl.Program | None:
    if not context.settings.disk_cache:
        return None
    cache = _cache(context)
    binary = cache.read(key)
    if binary is None:
        return None
    try:
        program = _cl._Program(context.cl_context, [context.device.cl_device], [binary])
        build_quietly(program, options)
        cache.touch(key)
        return cl.Program(program)
    except Exception as error:  # a driver may answer with anything to a binary it does not like
        _log.debug("cache file %s was refused: %s", cache.path(key), error)
        return None


def _compile(context: Context, key: str, source: str, options: tuple[str, ...]) -> cl.Program:
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
    if ptx.is_marked(source):
        raw = _unmarked(context, raw, options, source)
    program = cl.Program(raw)
    _save(context, key, program)
    return program


def _unmarked(context: Context, compiled: Any, options: tuple[str, ...], source: str) -> Any:
    """The program with instructions that the driver takes in its own text only (see `portagpu.device.ptx`)."""
    text = ptx.unmarked(bytes(compiled.get_info(cl.program_info.BINARIES)[0]))
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
    try:
        binaries: Any = program.get_info(cl.program_info.BINARIES)
        binary = bytes(binaries[0])
    except (cl.Error, IndexError) as error:
        _log.debug("the binary is not kept: %s", error)
        return
    _cache(context).write(key, binary)
