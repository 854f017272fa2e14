"""Folders in which drivers keep compiled programs: a row a driver.

One of the modules in which vendors' names may appear. A driver runs what it reads there, and checks no owner.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheFolder:
    """Cache of a driver: which variable names its folder, where it is otherwise, and how it is switched off.

    ``in_cache`` is relative to ``XDG_CACHE_HOME``, or to ``.cache`` of the home folder; ``in_home`` to the home folder.
    ``is_needed``: the driver has no devices where it cannot write the folder. ``off``: variable and value that switch
    the cache off. ``own``: name of a folder of PortaGPU's.
    """

    own: str
    variable: str
    in_cache: str | None = None
    in_home: str | None = None
    is_needed: bool = False
    off: tuple[str, str] | None = None


CACHE_FOLDERS = (
    CacheFolder(own="pocl", variable="POCL_CACHE_DIR", in_cache="pocl/kcache", is_needed=True),
    CacheFolder(own="nvidia", variable="CUDA_CACHE_PATH", in_home=".nv/ComputeCache", off=("CUDA_CACHE_DISABLE", "1")),
    CacheFolder(own="neo", variable="NEO_CACHE_DIR", in_cache="neo_compiler_cache", off=("NEO_CACHE_PERSISTENT", "0")),
    CacheFolder(own="libsycl", variable="SYCL_CACHE_DIR", in_cache="libsycl_cache", off=("SYCL_CACHE_PERSISTENT", "0")),
    CacheFolder(own="comgr", variable="AMD_COMGR_CACHE_DIR", in_cache="comgr", off=("AMD_COMGR_CACHE", "0")),
    CacheFolder(
        own="mesa",
        variable="MESA_SHADER_CACHE_DIR",
        in_cache="mesa_shader_cache_db",
        off=("MESA_SHADER_CACHE_DISABLE", "true"),
    ),
)
