"""What probing found out about a device, as a value that goes to disk and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

PROBE_SCHEMA = 7  # raise it whenever a trial or its meaning changes


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResults:
    """Answers of all trials, sizes in bytes; ``problem`` says why the device is unusable (then the rest is void)."""

    problem: str | None = None
    local_memory_static: int = 0
    local_memory_argument: int = 0
    preferred_multiple: int = 1
    subgroup_size: int = 0  # of a small kernel; 0 without subgroups
    fp64: bool = False
    fp16: bool = False
    fp16_storage: bool = False
    correctly_rounded_divide_sqrt: bool = False
    int64_atomics: bool = False
    float_atomic_add_global: bool = False
    float_atomic_add_local: bool = False
    double_atomic_add_global: bool = False
    double_atomic_add_local: bool = False
    inline_ptx: bool = False
    architecture_ptx: bool = False
    subgroups: bool = False
    subgroup_shuffle: bool = False
    required_subgroup_size: bool = False
    subgroup_sizes: str = ""  # numbers that a kernel can ask for, ascending
    subgroup_block_io: bool = False
    matrix_units: str = ""  # names
    printf: bool = False
    packed_dot_product: bool = False
    builtin_prefetch: bool = False
    scoped_fences: bool = False
    max_registers_option: bool = False
    allows_build_option_g: bool = False
    language_option: str = ""  # -cl-std option for subgroups and float atomics; "" is the driver's default
    measured_gflops: float = 0.0
    measured_gflops_double: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """All fields, for `from_json`."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> ProbeResults:
        """The inverse of `to_json`. Raises `ValueError` where a field is missing, unknown or of another type."""
        if set(values) != {field.name for field in fields(cls)}:
            raise ValueError("the fields of a probe result are others")
        defaults = cls()
        for name, value in values.items():
            wanted = (str, type(None)) if name == "problem" else type(getattr(defaults, name))
            fits = isinstance(value, wanted)
            if not fits:
                raise ValueError(f"{name} has the value {value!r}")
        return cls(**values)
