"""The one table in which vendors' names may appear: what cannot be asked of a device, one row a quirk, with the reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverFile:
    """An OpenCL library that may be installed without being registered."""

    name: str
    library: str  # file name, found by the loader's search path
    folders: tuple[str, ...]  # further folders; {prefix} is that of the Python environment
    reason: str


DRIVER_FILES: tuple[DriverFile, ...] = (
    DriverFile(
        name="NVIDIA",
        library="libnvidia-opencl.so.1",
        folders=("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/nvidia/lib64", "/usr/lib/wsl/lib"),
        reason="containers with an NVIDIA GPU get the library, but no .icd file",
    ),
    DriverFile(
        name="Intel CPU runtime",
        library="libintelocl.so",
        folders=("{prefix}/lib",),
        reason="the PyPI package intel-opencl-rt installs an .icd file that points to a path that does not exist",
    ),
    DriverFile(
        name="AMD ROCm",
        library="libamdocl64.so",
        folders=("/opt/rocm/lib", "/opt/rocm/opencl/lib"),
        reason="ROCm's tarballs and wheels do not register the library",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quirk:
    """A fact about the devices whose platform, vendor or name contains ``match`` (lower case)."""

    match: str
    field: str
    value: object
    reason: str


QUIRKS: tuple[Quirk, ...] = (
    Quirk(match="oclgrind", field="line_directives", value=True, reason="its reports name the place that #line gives"),
    Quirk(
        match="nvidia",
        field="max_registers_option",
        value=True,
        reason="-cl-nv-maxrregcount and -cl-nv-verbose are accepted, which no query tells",
    ),
    Quirk(
        match="oclgrind",
        field="allows_build_option_g",
        value=False,
        reason="it refuses the build option -g",
    ),
)

WARP_SIZE_QUERIES: tuple[tuple[str, str], ...] = (
    ("nvidia", "warp_size_nv"),
    ("amd", "wavefront_width_amd"),
)


def quirks_for(identity: str) -> dict[str, object]:
    """Capability values that quirks dictate for a device of that identity (platform, vendor and name)."""
    text = identity.lower()
    return {q.field: q.value for q in QUIRKS if q.match in text}


def warp_size_attribute(identity: str) -> str | None:
    """Name of the vendor's device query for the number of lanes that run in lockstep."""
    text = identity.lower()
    return next((attribute for match, attribute in WARP_SIZE_QUERIES if match in text), None)
