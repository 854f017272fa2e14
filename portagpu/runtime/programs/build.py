"""Builds of programs, with a cache of binaries in memory and on disk.

A cache file has what the compiler said and the driver's binary; its name is a digest of everything that matters:
schema, package version, device and driver, source, options. Corrupt and foreign files are rewritten.

Options that only make a compiler talk (`Context.remarks`) are no part of the name: any binary serves a context without
them. A context that has them takes a binary only with what was said of it, and else has it compiled anew.
"""

from __future__ import annotations

import hashlib
import logging
import struct
import weakref
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from portagpu import notices
from portagpu.files import FileCache
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.errors import translate_errors
from portagpu.version import __version__

_SCHEMA = "2"
_MAGIC = b"PORTAGPU-BINARY\n"
_UNKNOWN = 0xFFFFFFFF  # in place of the length of what the compiler said
_LIMIT_BYTES = 512 * 1024 * 1024
_log = logging.getLogger(__name__)
_said: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()


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


def remarks_of(program: Any) -> str | None:
    """What the compiler said of a program that `build` made for a context with `Context.remarks`; None: not known."""
    return _said.get(program)


def build(context: Context, source: str, options: tuple[str, ...]) -> Any:
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
    parts = (_SCHEMA, __version__, context.device.key, source, *options, *context.driver.compile_stamp(source))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _cache(context: Context) -> FileCache:
    told = partial(notices.unkept, context.settings)
    return FileCache(context.settings.cache_dir / "programs", ".bin", _MAGIC, _LIMIT_BYTES, told)


def _entry(context: Context, key: str) -> _Entry | None:
    if not context.settings.disk_cache:
        return None
    data = _cache(context).read(key)
    return None if data is None else _Entry.read(data)


def _load(context: Context, key: str, options: tuple[str, ...]) -> Any:
    entry = _entry(context, key)
    if entry is None or (context.remarks and entry.said is None):
        return None
    driver = context.driver
    try:
        program = driver.load(entry.binary, options)
        _cache(context).touch(key)
        return _noted(program, entry.said)
    except Exception as error:  # a driver may answer with anything to a binary it does not like
        _log.debug("cache file %s was refused: %s", _cache(context).path(key), error)
        return None


def _compile(context: Context, key: str, source: str, options: tuple[str, ...]) -> Any:
    apart = context.capabilities.crashing_compiler and context.settings.builds_apart
    with translate_errors(context):
        built = context.driver.compile(source, options, context.remarks, apart=apart)
    said = built.said
    if said is None and context.remarks:  # perhaps another process has compiled it meanwhile, and was told
        known = _entry(context, key)
        said = None if known is None else known.said
    program = _noted(built.program, said)
    _save(context, key, program)
    return program


def _noted(program: Any, said: str | None) -> Any:
    if said is not None:
        _said[program] = said
    return program


def _save(context: Context, key: str, program: Any) -> None:
    if not context.settings.disk_cache:
        return
    if context.capabilities.compiles_for_binaries and not context.settings.binaries:
        return  # the driver's own cache serves later processes, at less speed
    try:
        binary = context.driver.binary_of(program)
    except context.backend.errors as error:
        _log.debug("the binary is not kept: %s", error)
        return
    if binary is not None:
        _cache(context).write(key, _Entry(binary, remarks_of(program)).written())
