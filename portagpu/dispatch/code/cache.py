"""Code generation for a kernel, and the cache of generated code on disk.

Two files lead to a kernel's code. The first is found by everything that is known beforehand: the package's stamp, the
kernel's text, argument types with compile-time values, the device's capabilities, options. It lists what earlier
lowerings read of the program around the kernel: which names in which functions, which attributes. What these mean now
completes the key under which the code itself lies. So a changed device function, global or closure leads to other code
wherever it is defined, and programs that differ in them share the folder without turning each other's code out.

Nothing is unpickled: files are JSON of plain fields.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import zlib
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from portagpu import notices
from portagpu.backends.source import KernelSource
from portagpu.backends.stored import as_data, from_data
from portagpu.dispatch.code.definition import KernelDefinition
from portagpu.dispatch.code.requests import Request
from portagpu.files import FileCache
from portagpu.frontend.source.dependencies import Dependencies, Row, values_now
from portagpu.frontend.source.digests import Digest
from portagpu.package_stamp import package_stamp
from portagpu.settings import Settings

if TYPE_CHECKING:
    pass

_SCHEMA = "2"
_MAGIC = b"PORTAGPU-CODE\n"
_LIMIT_BYTES = 256 * 1024 * 1024
_MOST_TEXT = 256 * 1024 * 1024  # bytes of an entry that is unpacked
_MAX_READINGS = 16  # of one kernel: what is read may depend on values
# of the device, and no concern of its code: drivers of CPUs tell the clock and the free memory of the moment, and rates
# are measured
_AMOUNTS: dict[str, Any] = {
    "compute_units": 1,
    "clock_mhz": 0,
    "global_memory": 0,
    "max_allocation": 0,
    "global_cache": 0,
    "measured_gflops": 0.0,
    "measured_gflops_double": 0.0,
}
_log = logging.getLogger(__name__)


def _new_code(kernel: KernelDefinition, request: Request, record: Dependencies | None) -> KernelSource:
    if request.begins is not None:
        request.begins()
    from portagpu.dispatch.code.generation import new_code  # where all code is kept, the compiler is never loaded

    return new_code(kernel, request, record)


def code_for(kernel: KernelDefinition, request: Request, settings: Settings) -> KernelSource:
    """The code of a kernel, from the disk if it is kept there. Raises `KernelError` subclasses."""
    if not kernel.keeps_code or not settings.disk_cache or request.counts is not None:
        return _new_code(kernel, request, None)
    start = _start(kernel, request)
    if start is None:
        return _new_code(kernel, request, None)
    told = partial(notices.unkept, settings)
    cache = FileCache(settings.cache_dir / "code", ".code", _MAGIC, _LIMIT_BYTES, told)
    generated = _kept_code(cache, start, request)
    if generated is not None:
        return generated
    record = Dependencies(start.fork(), request.types)
    generated = _new_code(kernel, request, record)
    _keep(cache, start, request, record, generated)
    return generated


# keys ---------------------------------------------------------------------------------------------------------------


def _start(kernel: KernelDefinition, request: Request) -> Digest | None:
    """A digest of what is known before lowering; None where it cannot be told."""
    stamp = package_stamp()
    if stamp is None:
        return None
    caps, options, digest = request.caps, kernel.options, Digest()
    try:
        digest.add((_SCHEMA, stamp, np.__version__, request.backend.name))
        digest.function(kernel)
        digest.add(request.types)
        digest.add(dataclasses.replace(caps, **_AMOUNTS))
        digest.add(("fast" in options.fastmath, options.fma, options.debug, options.boundscheck, options.subgroup_size))
        digest.add((options.block_dim or request.block, options.cluster, request.wide))
        digest.add(request.shared if request.shared > caps.local_memory_argument else 0)
    except Exception as error:  # whatever a user's object raises when it is looked at
        _log.debug("the code of `%s` is not kept: %s", kernel.__name__, error)
        return None
    return digest


def _list_key(start: Digest) -> str:
    digest = start.fork()
    digest.add("what is read")
    return digest.text


def _code_key(digest: Digest, rows: Sequence[Row], request: Request, *, fused: bool) -> str:
    """The key of code, from what was read: fused code is for one grid alone."""
    digest = digest.fork()
    digest.add(tuple(rows))
    if request.caps.line_directives:  # the text then names files
        digest.add(digest.files)
    digest.add((request.launch, request.shared) if fused else None)
    return digest.text


# files --------------------------------------------------------------------------------------------------------------


def _read(cache: FileCache, key: str) -> Any:
    data = cache.read(key)
    if data is None:
        return None
    try:
        unpacker = zlib.decompressobj()
        text = unpacker.decompress(data, _MOST_TEXT)
        return json.loads(text) if unpacker.eof else None
    except (ValueError, zlib.error, RecursionError):
        return None


def _write(cache: FileCache, key: str, value: Any) -> None:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True)
    cache.write(key, zlib.compress(text.encode(), 3))


def _readings(cache: FileCache, key: str) -> list[list[Row]]:
    """What earlier lowerings read, the latest first."""
    found = _read(cache, key)
    try:
        return [[(str(how), int(number), str(name)) for how, number, name in rows] for rows in found or ()]
    except (TypeError, ValueError):
        return []


def _kept_code(cache: FileCache, start: Digest, request: Request) -> KernelSource | None:
    listed = _list_key(start)
    for rows in _readings(cache, listed):
        digest = start.fork()
        values = values_now(digest, rows, request.types)
        if values is None:
            continue
        for fused in (False, True) if request.may_fuse else (False,):
            key = _code_key(digest, rows, request, fused=fused)
            data = _read(cache, key)
            if data is None:
                continue
            try:
                generated = from_data(data, digest.files, values)
            except (ValueError, TypeError, LookupError, AttributeError) as error:
                _log.debug("cache file %s is not understood: %s", cache.path(key), error)
                continue
            if generated.cooperative and request.may_fuse and not fused:
                continue  # made for a single block
            cache.touch(key)
            cache.touch(listed)
            return generated
    return None


def _keep(cache: FileCache, start: Digest, request: Request, record: Dependencies, generated: KernelSource) -> None:
    data = None
    if not record.trouble:
        data = as_data(generated, record.digest.files, record.values)
    if data is None:
        _log.debug("the code of `%s` is not kept: %s", generated.name, record.trouble or "its exceptions")
        return
    rows, listed = record.rows, _list_key(start)
    _write(cache, _code_key(record.digest, rows, request, fused=generated.fused is not None), data)
    known = [r for r in _readings(cache, listed) if r != rows]
    _write(cache, listed, [rows, *known][:_MAX_READINGS])
