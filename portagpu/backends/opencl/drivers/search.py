"""Where OpenCL drivers lie on disk: the search table, and what the operating system's files say.

One of the two modules in which vendors' names may appear (the other is `portagpu.backends.opencl.quirks`).
"""

from __future__ import annotations

import os
import re
import site
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

_LINKER_CACHE = Path("/etc/ld.so.cache")


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverFamily:
    """One driver that exists in the wild without being registered.

    ``sonames``: file names looked up wherever the dynamic linker looks. ``patterns``: globs of further places;
    ``{prefix}`` is the Python environment, ``{site}`` each of its package folders. ``package``: what to install where
    it is missing or broken.
    """

    name: str
    reason: str
    sonames: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    package: str | None = None


FAMILIES: tuple[DriverFamily, ...] = (
    DriverFamily(
        name="NVIDIA",
        reason="containers get the library from the host, but no .icd file",
        sonames=("libnvidia-opencl.so.1",),
        patterns=(
            "/usr/local/nvidia/lib64/libnvidia-opencl.so.1",
            "/usr/lib/wsl/lib/libnvidia-opencl.so.1",
            "/run/opengl-driver/lib/libnvidia-opencl.so.1",
        ),
        package="apt install nvidia-opencl-icd (in containers: NVIDIA_DRIVER_CAPABILITIES=compute,utility)",
    ),
    DriverFamily(
        name="Intel CPU runtime",
        reason="the package from PyPI ships an .icd file that names its build machine's path",
        patterns=(
            "{prefix}/lib/libintelocl.so",
            "{site}/../../libintelocl.so",
            "/opt/intel/oneapi/compiler/latest/lib/libintelocl.so",
            "/opt/intel/opencl/libintelocl.so",
        ),
        package="pip install intel-opencl-rt intel-cmplr-lib-rt",
    ),
    DriverFamily(
        name="Intel GPU runtime",
        reason="built from source or unpacked into a user's folder it has no .icd file",
        patterns=(
            "{prefix}/lib/intel-opencl/libigdrcl.so",
            "/usr/lib/x86_64-linux-gnu/intel-opencl/libigdrcl.so",
            "/usr/lib/intel-opencl/libigdrcl.so",
            "/usr/local/lib/intel-opencl/libigdrcl.so",
        ),
        package="apt install intel-opencl-icd",
    ),
    DriverFamily(
        name="AMD ROCm",
        reason="ROCm in containers and in /opt often comes without its .icd file",
        sonames=("libamdocl64.so",),
        patterns=(
            "/opt/rocm/lib/libamdocl64.so",
            "/opt/rocm-*/lib/libamdocl64.so",
            "/opt/rocm/opencl/lib/libamdocl64.so",
            "/opt/amdgpu-pro/lib/x86_64-linux-gnu/libamdocl64.so",
            "{site}/_rocm_sdk_core/lib/opencl/libamdocl64.so",
            "{site}/_rocm_sdk_core/lib/libamdocl64.so",
        ),
        package="apt install rocm-opencl-runtime (and membership of the groups render and video)",
    ),
    DriverFamily(
        name="PoCL",
        reason="built by hand or by conda it lies in a folder that PyOpenCL's loader does not read",
        sonames=("libpocl.so.2",),
        patterns=(
            "{prefix}/lib/libpocl.so.2",
            "{prefix}/lib/libpocl.so",
            "{site}/pyopencl/.libs/libpocl*.so*",
            "/usr/local/lib/libpocl.so.2",
            "/opt/pocl/lib/libpocl.so.2",
        ),
        package="apt install pocl-opencl-icd",
    ),
)

# Device files of GPUs, and the drivers of `FAMILIES` that serve them.
DEVICE_FILES: tuple[tuple[Path, tuple[str, ...]], ...] = (
    (Path("/dev/nvidiactl"), ("NVIDIA",)),
    (Path("/dev/kfd"), ("AMD ROCm",)),
)
_RENDER_FOLDER = Path("/dev/dri")


def family_of(library: str) -> DriverFamily | None:
    """The row whose file names match a library's, or None."""
    base = Path(library).name
    for family in FAMILIES:
        names = family.sonames + tuple(Path(pattern).name for pattern in family.patterns)
        if any(base.startswith(name.split(".so")[0].rstrip("*")) for name in names):
            return family
    return None


def linker_cache_entries(cache: Path = _LINKER_CACHE) -> bytes:
    """The dynamic linker's cache as bytes (empty where there is none)."""
    try:
        return cache.read_bytes()
    except OSError:
        return b""


def find_soname(soname: str, environ: Mapping[str, str], cache: bytes) -> Path | None:
    """Where ``dlopen(soname)`` would find a library: LD_LIBRARY_PATH, the linker's cache, then the default folders."""
    for folder in environ.get("LD_LIBRARY_PATH", "").split(os.pathsep):
        if folder and os.path.exists(os.path.join(folder, soname)):
            return Path(folder) / soname
    for match in re.finditer(rb"/[^\0]*/" + re.escape(soname.encode()) + rb"\0", cache):
        path = os.fsdecode(match.group()[:-1])
        if os.path.exists(path):
            return Path(path)
    for folder in ("/lib64", "/usr/lib64", "/lib", "/usr/lib"):
        if os.path.exists(os.path.join(folder, soname)):
            return Path(folder) / soname
    return None


def package_folders() -> tuple[Path, ...]:
    """The environment's package folders (site-packages), the user's included; each once."""
    found = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
    return tuple(dict.fromkeys(Path(folder) for folder in found))


def bundled_vendor_folder() -> Path | None:
    """The folder inside PyOpenCL's wheel that its own loader always reads, if there is one."""
    spec = find_spec("pyopencl")
    for location in spec.submodule_search_locations or () if spec else ():
        folder = Path(location) / ".libs"
        if os.path.isdir(folder):
            return folder
    return None


def find_libraries(
    environ: Mapping[str, str],
    *,
    prefix: Path | None = None,
    packages: Iterable[Path] | None = None,
    families: tuple[DriverFamily, ...] = FAMILIES,
    cache: bytes | None = None,
) -> Iterator[tuple[DriverFamily, Path]]:
    """Every driver library of the table that exists on this machine, best known place first."""
    root = Path(sys.prefix) if prefix is None else prefix
    sites = tuple(package_folders() if packages is None else packages)
    linker = linker_cache_entries() if cache is None else cache
    for family in families:
        for soname in family.sonames:
            found = find_soname(soname, environ, linker)
            if found is not None:
                yield family, found
        for pattern in family.patterns:
            for path in _expand(pattern, root, sites):
                yield family, path


def _expand(pattern: str, prefix: Path, sites: tuple[Path, ...]) -> Iterator[Path]:
    places = list(sites) if "{site}" in pattern else [prefix]
    for place in places:
        absolute = Path(os.path.normpath(pattern.replace("{site}", str(place)).replace("{prefix}", str(place))))
        if "*" not in pattern:
            if os.path.isfile(absolute):  # unlike Path.is_file it takes an unreadable folder for an absent one
                yield absolute
            continue
        anchor = Path(absolute.anchor)
        yield from sorted(path for path in anchor.glob(str(absolute.relative_to(anchor))) if os.path.isfile(path))


def simulator_preloaded(environ: Mapping[str, str]) -> bool:
    """Whether the process runs inside Oclgrind, which replaces the loader: no driver can be registered there."""
    return "oclgrind" in environ.get("LD_PRELOAD", "")


def no_platform_hint() -> str:
    """What to do about a driver that loads but finds no device."""
    if any(os.path.exists(path) for path in (_RENDER_FOLDER, *(device_file for device_file, _ in DEVICE_FILES))):
        return "the device file may be unreadable: add yourself to the groups video and render, or restart the driver"
    return "no GPU is visible in this machine or container (docker: --gpus all, or --device /dev/dri --device /dev/kfd)"
