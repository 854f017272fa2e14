"""Settings from the environment, read once at the edge and passed down as a value."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from portagpu.errors import SettingsError
from portagpu.files import user_path

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"", "0", "false", "no", "off"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a user can set from outside.

    ``device``: selector of the default device (``PORTAGPU_DEVICE``), or None.
    ``backend``: name of the back end whose devices programs see (``PORTAGPU_BACKEND``), or None: OpenCL.
    ``cache_dir``: generated code, compiled programs and probe results (``PORTAGPU_CACHE_DIR``); safe to delete.
    ``data_dir``: tuning results (``PORTAGPU_DATA_DIR``); worth keeping. In both ``~`` is the home folder.
    ``disk_cache``: whether generated code and compiled programs are kept on disk (``PORTAGPU_DISK_CACHE``, default on).
    ``binaries``: whether a driver that compiles once more for a program's binary is asked for it, for the sake of later
    processes (``PORTAGPU_BINARIES``, default off: its own cache serves them).
    ``builds_apart``: whether programs are built in a child process where the driver's compiler is known to end the
    process that calls it (``PORTAGPU_BUILDS_APART``, default on).
    ``build_seconds``: how long such a process has for a program at most, so that a compiler that hangs is an error
    (``PORTAGPU_BUILD_SECONDS``, default 120; 0 for any time).
    ``warnings``: whether kernels and launches that look wrong, or waste a GPU's time, warn (``PORTAGPU_WARNINGS``,
    default on).
    ``hang_seconds``: after how many seconds a warning says that a kernel may never end, on a CPU, if its threads wait
    for each other (``PORTAGPU_HANG_SECONDS``, default 10; 0 for never).
    ``specialisations``: how many compiled kernels a device keeps in memory at most, one for each combination of
    argument types and compile-time arguments; what was not launched for longest goes, and is made again when it is
    wanted (``PORTAGPU_SPECIALISATIONS``, default 512: small ones take 100 to 230 MB on CPUs; 0 for no limit).
    ``traceback``: whether errors of kernels show the compiler's own frames and causes, too (``PORTAGPU_TRACEBACK``,
    default off).
    ``shipped``: whether tuning results that come with the package count (``PORTAGPU_SHIPPED``, default on).
    ``debug``: what `cuda.jit` takes for its option of this name where it is not given (``PORTAGPU_DEBUG``, default
    off).
    ``boundscheck``: the same (``PORTAGPU_BOUNDSCHECK``, default off).
    ``interface_sync``: whether arrays from a CUDA Array Interface wait for the stream that it names, as they are taken
    (``PORTAGPU_INTERFACE_SYNC``, default on; without it the program sees to the order).
    ``linalg_checks``: whether factorisations of device arrays wait for the device once, to raise `LinAlgError` for
    matrices that are singular or not positive definite (``PORTAGPU_LINALG_CHECKS``, default on).
    ``clblast_tuned``: the folder with files of CLBlast's tuners that benchmarks use (``PORTAGPU_CLBLAST_TUNED``), or
    None.
    ``driver_paths``: extra OpenCL libraries to register (``PORTAGPU_DRIVERS``, separated like ``PATH``).
    """

    device: str | None
    cache_dir: Path
    data_dir: Path
    disk_cache: bool
    driver_paths: tuple[str, ...]
    binaries: bool = False
    builds_apart: bool = True
    build_seconds: float = 120.0
    warnings: bool = True
    shipped: bool = True
    hang_seconds: float = 10.0
    specialisations: int = 512
    traceback: bool = False
    debug: bool = False
    boundscheck: bool = False
    interface_sync: bool = True
    linalg_checks: bool = True
    clblast_tuned: str | None = None
    backend: str | None = None

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Read ``PORTAGPU_*`` variables. Raises `SettingsError` for a value that makes no sense."""
        env = os.environ if environ is None else environ
        cache = env.get("PORTAGPU_CACHE_DIR") or _users(platformdirs.user_cache_dir, "cache")
        data = env.get("PORTAGPU_DATA_DIR") or _users(platformdirs.user_data_dir, "data")
        return cls(
            device=env.get("PORTAGPU_DEVICE") or None,
            cache_dir=user_path(cache),
            data_dir=user_path(data),
            disk_cache=_flag(env, "PORTAGPU_DISK_CACHE", default=True),
            driver_paths=tuple(p for p in env.get("PORTAGPU_DRIVERS", "").split(os.pathsep) if p),
            binaries=_flag(env, "PORTAGPU_BINARIES", default=False),
            builds_apart=_flag(env, "PORTAGPU_BUILDS_APART", default=True),
            build_seconds=build_seconds_wanted(env),
            warnings=_flag(env, "PORTAGPU_WARNINGS", default=True),
            shipped=_flag(env, "PORTAGPU_SHIPPED", default=True),
            hang_seconds=_seconds(env, "PORTAGPU_HANG_SECONDS", default=10.0),
            specialisations=_count(env, "PORTAGPU_SPECIALISATIONS", default=512),
            traceback=_flag(env, "PORTAGPU_TRACEBACK", default=False),
            debug=_flag(env, "PORTAGPU_DEBUG", default=False),
            boundscheck=_flag(env, "PORTAGPU_BOUNDSCHECK", default=False),
            interface_sync=interface_sync_wanted(env),
            linalg_checks=linalg_checks_wanted(env),
            clblast_tuned=env.get("PORTAGPU_CLBLAST_TUNED") or None,
            backend=backend_wanted(env),
        )


def _users(folder: Callable[..., str], name: str) -> str:
    """The system's folder for such files of this user; one below ``/tmp`` for a user who has no home."""
    try:
        return folder("portagpu", appauthor=False)
    except RuntimeError:  # nor an entry among the system's users
        return f"{os.environ.get('TMPDIR') or '/tmp'}/portagpu-{os.geteuid()}/{name}"


def _seconds(env: Mapping[str, str], name: str, *, default: float) -> float:
    text = env.get(name)
    if not text:
        return default
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < 1e9:
        raise SettingsError(f"{name}={text!r} is no number of seconds", hint=f"set {name}=10, or 0 to switch it off")
    return found


def _count(env: Mapping[str, str], name: str, *, default: int) -> int:
    text = env.get(name)
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise SettingsError(f"{name}={text!r} is no number of kernels", hint=f"set {name}={default}, or 0 for no limit")
    return int(text)


def backend_wanted(environ: Mapping[str, str] | None = None) -> str | None:
    """``backend`` alone, which each object of another library may ask for."""
    env = os.environ if environ is None else environ
    return env.get("PORTAGPU_BACKEND", "").strip().lower() or None


def build_seconds_wanted(environ: Mapping[str, str] | None = None) -> float:
    """``build_seconds`` alone, which each build asks for. Raises `SettingsError`."""
    return _seconds(os.environ if environ is None else environ, "PORTAGPU_BUILD_SECONDS", default=120.0)


def checks_wanted(environ: Mapping[str, str] | None = None) -> tuple[bool, bool]:
    """``debug`` and ``boundscheck`` alone, which each decorator asks for. Raises `SettingsError`."""
    env = os.environ if environ is None else environ
    return _flag(env, "PORTAGPU_DEBUG", default=False), _flag(env, "PORTAGPU_BOUNDSCHECK", default=False)


def interface_sync_wanted(environ: Mapping[str, str] | None = None) -> bool:
    """``interface_sync`` alone, which each array that is taken asks for. Raises `SettingsError`."""
    return _flag(os.environ if environ is None else environ, "PORTAGPU_INTERFACE_SYNC", default=True)


def linalg_checks_wanted(environ: Mapping[str, str] | None = None) -> bool:
    """``linalg_checks`` alone, which each factorisation of device arrays asks for. Raises `SettingsError`."""
    return _flag(os.environ if environ is None else environ, "PORTAGPU_LINALG_CHECKS", default=True)


def _flag(env: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = env.get(name)
    if text is None:
        return default
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise SettingsError(f"{name}={text!r} is neither true nor false", hint=f"set {name}=1 or {name}=0")
