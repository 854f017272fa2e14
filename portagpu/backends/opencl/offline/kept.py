"""Finished compilations on disk: thousands of programs are compiled once, and a check that was killed goes on.

A compilation is found by the target, the program, the options, the files of the compiler with their sizes and times,
and the text of this package that runs compilers and reads what they write. Refusals are not kept.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from portagpu import notices
from portagpu.backends.offline import Compiled, InstructionMix, OfflineFigures
from portagpu.backends.opencl.offline.target import Target
from portagpu.files import FileCache
from portagpu.settings import Settings

_MAGIC = b"PORTAGPU-OFFLINE\n"
_LIMIT_BYTES = 512 * 1024 * 1024
_MOST_TEXT = 256 * 1024 * 1024  # bytes of an entry that is unpacked
_Data = dict[str, Any]


def kept_or(
    compiled: Callable[[], Compiled], target: Target, source: str, options: tuple[str, ...], tools: Iterable[str]
) -> Compiled:
    """The compilation that is kept, else that of ``compiled``, which is kept then. ``tools``: the compiler's files."""
    settings = Settings.from_environment()
    if not settings.disk_cache:
        return compiled()
    told = partial(notices.unkept, settings)
    kept = FileCache(settings.cache_dir / "offline", ".compiled", _MAGIC, _LIMIT_BYTES, told)
    key = _key(target, source, options, tools)
    found = _read(kept, key)
    if found is not None:
        kept.touch(key)
        return found
    made = compiled()
    text = json.dumps(_as_data(made), separators=(",", ":"), ensure_ascii=True)
    kept.write(key, zlib.compress(text.encode(), 3))
    return made


def _key(target: Target, source: str, options: tuple[str, ...], tools: Iterable[str]) -> str:
    named = [target.name, target.compiler, target.options, target.math_libraries, options, _reading()]
    parts = [json.dumps([named, [_identity(tool) for tool in tools]]), source]
    return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()


def _identity(tool: str) -> tuple[str, int, int]:
    """A file, so that a newer one is told from it; of a folder its time, which changes with what is in it."""
    path = Path(tool).resolve()
    try:
        status = path.stat()
    except OSError:
        return str(path), -1, -1
    return str(path), status.st_size, status.st_mtime_ns


@cache
def _reading() -> str:
    """A digest of the text of this folder."""
    digest = hashlib.sha256()
    waiting = [files("portagpu.backends.opencl.offline")]
    while waiting:
        for entry in sorted(waiting.pop().iterdir(), key=lambda one: one.name):
            if entry.is_dir() and entry.name != "__pycache__":
                waiting.append(entry)
            elif entry.name.endswith((".py", ".cl")):
                digest.update(entry.name.encode() + b"\0" + entry.read_bytes())
    return digest.hexdigest()


# entries ------------------------------------------------------------------------------------------------------------


def _as_data(made: Compiled) -> _Data:
    data = asdict(made)
    data["scratch_lines"] = _pairs(made.scratch_lines)
    mix = made.figures.mix
    if mix is not None:
        data["figures"]["mix"] |= {"loads": _pairs(mix.loads), "stores": _pairs(mix.stores)}
    return data


def _pairs(counts: Mapping[int, int]) -> list[list[int]]:
    """Numbers by numbers: keys of JSON would be text."""
    return [[key, value] for key, value in counts.items()]


def _read(kept: FileCache, key: str) -> Compiled | None:
    packed = kept.read(key)
    if packed is None:
        return None
    try:
        unpacker = zlib.decompressobj()
        data = json.loads(unpacker.decompress(packed, _MOST_TEXT))
        mix = data["figures"]["mix"]
        if mix is not None:
            mix = InstructionMix(**{**mix, "loads": dict(mix["loads"]), "stores": dict(mix["stores"])})
        figures = OfflineFigures(**{**data["figures"], "mix": mix})
        return Compiled(**{**data, "figures": figures, "scratch_lines": dict(data["scratch_lines"])})
    except (ValueError, TypeError, LookupError, zlib.error, RecursionError):
        return None
