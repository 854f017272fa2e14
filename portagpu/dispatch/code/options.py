"""Options of `cuda.jit`: those that change generated code, and CUDA-Python's that change nothing here."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, SupportsIndex, TypedDict

from portagpu import notices
from portagpu.errors import PortaGPUWarning, SettingsError, UnknownOptionError, did_you_mean
from portagpu.runtime.execution.context import Context
from portagpu.runtime.programs.launch_shape import Extent, extent
from portagpu.settings import checks_wanted

_log = logging.getLogger(__name__)

# accepted so that programs run unchanged; the driver decides, or OpenCL has nothing like it
_IGNORED = frozenset(
    {
        *("inline", "lineinfo", "link", "lto", "launch_bounds", "shared_memory_carveout"),
        *("cc", "abi", "abi_info", "output", "nopython", "chip"),
    }
)


class NumbaInvalidConfigWarning(PortaGPUWarning):
    """Options that do not go together."""


class JitKeywords(TypedDict, total=False):
    """The options of `cuda.jit` besides ``device``, for type checkers, which then find misspelt ones."""

    fastmath: bool | AbstractSet[str] | Mapping[str, bool] | None
    debug: bool | None
    boundscheck: bool | None
    opt: bool | None
    block_dim: SupportsIndex | Sequence[SupportsIndex] | None
    cluster: SupportsIndex | Sequence[SupportsIndex] | None
    max_registers: int | None
    extensions: Sequence[Any] | None
    source: str | None
    subgroup_size: int | None
    cache: bool
    forceinline: bool | None
    fma: bool | None
    # these change nothing
    inline: Any
    lineinfo: Any
    link: Any
    lto: Any
    launch_bounds: Any
    shared_memory_carveout: Any
    cc: Any
    abi: Any
    abi_info: Any
    output: Any
    nopython: Any
    chip: Any


_KNOWN = frozenset(JitKeywords.__annotations__) - _IGNORED
_DEPRECATED = frozenset({"argtypes", "restype", "bind"})  # the original refuses them, too
_BLOCK = "it is the threads of a block along x, y and z: block_dim=256, block_dim=(16, 16); None leaves it to launches"
_CLUSTER = "it is the blocks of a cluster along x, y and z: cluster=2, cluster=(2, 2); 1, the default, runs everywhere"
_SUBGROUP_SIZES = (8, 16, 32, 64)
_FASTMATH = frozenset({"fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc"})


@dataclass(frozen=True, slots=True, kw_only=True)
class JitOptions:
    """Options of `cuda.jit` that change the generated code or the launch."""

    fastmath: frozenset[str] = frozenset()  # what the compiler may take for granted, by LLVM's names; "fast": all
    debug: bool = False
    boundscheck: bool = False
    opt: bool = True
    fma: bool = True  # whether a product and a sum may be rounded once, as one
    block_dim: Extent | None = None
    cluster: Extent | None = None  # blocks that run together, where they are more than one
    max_registers: int | None = None
    subgroup_size: int | None = None  # threads of the kernel's subgroups
    extensions: tuple[Any, ...] = ()
    cache: bool = False  # whether generated code is kept on disk
    forceinline: bool = False  # whether a device function becomes a part of whatever calls it

    @classmethod
    def from_keywords(cls, options: Mapping[str, Any]) -> JitOptions:
        """Read the keywords of `cuda.jit`. Raises `SettingsError`."""
        for name, value in options.items():
            if name in _DEPRECATED and value is not None:
                raise SettingsError(
                    f"Deprecated keyword argument `{name}`: the signature is the first argument of cuda.jit",
                    hint='write @cuda.jit("void(float32[:])")',
                )
            if name not in _KNOWN | _IGNORED | _DEPRECATED:
                known = ("device", *sorted(_KNOWN | _IGNORED))
                raise UnknownOptionError(
                    f"cuda.jit has no option {name!r}", hint=f"{did_you_mean(name, known)}it has {', '.join(known)}"
                )
            if name in _IGNORED and value not in (None, False, [], ()):
                _log.debug("cuda.jit(%s=%r) changes nothing", name, value)
        if options.get("link"):
            raise SettingsError(
                "cuda.jit(link=...): CUDA object files cannot be linked into kernels",
                hint="write the functions in Python with @cuda.jit(device=True)",
            )
        _check_launch_bounds(options.get("launch_bounds"))
        _check_carveout(options.get("shared_memory_carveout"))
        _warn_of_pairs(options)
        block, registers = options.get("block_dim"), options.get("max_registers")
        if registers is not None and (isinstance(registers, bool) or not isinstance(registers, int) or registers < 1):
            raise SettingsError(f"cuda.jit(max_registers={registers!r}) is no number of registers")
        size = options.get("subgroup_size")
        if size is not None and (isinstance(size, bool) or size not in _SUBGROUP_SIZES):
            raise SettingsError(
                f"cuda.jit(subgroup_size={size!r}) is no size of a subgroup",
                hint=f"it is one of {', '.join(map(str, _SUBGROUP_SIZES))}",
            )
        debug, boundscheck = checks_wanted()
        return cls(
            fastmath=_fastmath(options.get("fastmath", False)),
            debug=_given(options.get("debug"), debug),
            boundscheck=_given(options.get("boundscheck"), boundscheck),
            opt=bool(options.get("opt", True)),
            fma=_given(options.get("fma"), True),
            block_dim=None if block is None else extent(block, "block_dim", _BLOCK),
            cluster=_cluster(options.get("cluster")),
            max_registers=registers,
            subgroup_size=size,
            extensions=_extensions(options.get("extensions")),
            cache=bool(options.get("cache", False)),
            forceinline=bool(options.get("forceinline", False)),
        )

    def build_options(self, context: Context, source: str = "") -> tuple[str, ...]:
        """Options for the driver's compiler, for this text."""
        return context.backend.build_options(self, context.capabilities, source)


def _cluster(value: Any) -> Extent | None:
    """Blocks of a cluster along x, y, z; None for one block, which every device has."""
    found = None if value is None else extent(value, "cluster", _CLUSTER)
    return None if found == (1, 1, 1) else found


def _given(option: Any, default: bool) -> bool:
    return default if option is None else bool(option)


def _check_launch_bounds(value: Any) -> None:
    """Raise `SettingsError` for more bounds than CUDA has."""
    if isinstance(value, tuple | list) and len(value) > 3:
        raise SettingsError(
            f"Got {len(value)} launch bounds: {value!r}; cuda.jit takes at most 3",
            hint="they are threads of a block, blocks of a multiprocessor, blocks of a cluster",
        )


def _check_carveout(value: Any) -> None:
    """Raise `SettingsError` for what CUDA does not take as the share of shared memory."""
    if isinstance(value, str) and value.lower() not in ("default", "maxl1", "maxshared"):
        raise SettingsError(
            f"Invalid carveout value: {value!r}", hint="use 'default', 'MaxL1', 'MaxShared', or a percentage"
        )
    if isinstance(value, int) and not -1 <= value <= 100:
        raise SettingsError(f"shared_memory_carveout must be between -1 and 100, not {value}", hint="-1 is the default")


def _warn_of_pairs(options: Mapping[str, Any]) -> None:
    """Warn of options that the original does not take together."""
    if options.get("debug") and options.get("opt"):
        text = "debug=True with opt=True works here but is not supported by CUDA; give opt=False, or leave opt out"
        notices.warn(text, NumbaInvalidConfigWarning)
    if options.get("debug") and options.get("lineinfo"):
        text = "debug and lineinfo are mutually exclusive; debug alone tells the lines, too"
        notices.warn(text, NumbaInvalidConfigWarning)


def _fastmath(value: Any) -> frozenset[str]:
    """``True``, a set of LLVM's flags, or a dict from flags to bools."""
    if isinstance(value, bool) or value is None:
        return frozenset({"fast"}) if value else frozenset()
    if isinstance(value, Mapping):
        value = {flag for flag, wanted in value.items() if wanted}
    if not isinstance(value, AbstractSet) or not value <= _FASTMATH:
        raise SettingsError(
            f"cuda.jit(fastmath={value!r})", hint=f"write True, or a set of {', '.join(sorted(_FASTMATH))}"
        )
    return _FASTMATH if value >= _FASTMATH - {"fast"} else frozenset(value)


def _extensions(value: Any) -> tuple[Any, ...]:
    found = tuple(value or ())
    for extension in found:
        if not callable(getattr(extension, "prepare_args", None)):
            raise SettingsError(
                f"cuda.jit(extensions=...): {type(extension).__name__} has no method prepare_args",
                hint="it takes (type, value, stream, retr) and returns (type, value)",
            )
    return found
