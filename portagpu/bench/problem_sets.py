"""Sets of products by name, and what a device is measured with where nothing is named.

Some sets are the same for every device, as tables of published numbers need them; the others have sizes that fill a
large GPU, that a CPU computes in milliseconds, or that show only whether all works.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from portagpu.bench.problems import Shape, combined, square
from portagpu.blas.gemm.core.problem import DTYPES, Problem
from portagpu.blas.gemm.selection import registry
from portagpu.device import DeviceType
from portagpu.device.capabilities import Capabilities

Kind = tuple[str, str]
"""dtype, precision ("" is the dtype's own)"""


class Scale(Enum):
    """Of sizes."""

    LARGE = "large"
    MODERATE = "moderate"
    SMALL = "small"


EPILOGUE = "epilogue"
ROUTINES = "blas"
"""Sets whose members are no plain products."""

SETS = {
    "squares": "2048, 4096 and 8192 for every dtype and precision",
    "shapes": "vectors, skinny and odd matrices, long sums and batches in float32 and float16, updates in float64",
    "cpu": "512 to 4096 for float32 and float64",
    "dtypes": "one size in every dtype and precision",
    "odd": "sizes that no tile divides",
    "skinny": "few rows, few columns, short and long sums",
    "batches": "many small products at once",
    EPILOGUE: "a product with bias, GELU and residual, beside separate calls",
    ROUTINES: "BLAS 1 to 3 and factorisations, by themselves: as `portagpu bench blas`",
}
"""Names of the sets, and what is in them."""

_SQUARES = (2048, 4096, 8192)
_CPU_SQUARES = (512, 1024, 2048, 4096)
_SHAPES: tuple[Shape, ...] = (
    (1, 1, 4096, 4096),
    (1, 16, 4096, 11008),
    (1, 4096, 4096, 128),
    (1, 8191, 8191, 8191),
    (1, 1000, 1000, 1000),
    (1, 64, 64, 65536),
    (512, 64, 64, 64),
)
_UPDATE: Shape = (1, 4096, 4096, 288)
_KINDS: tuple[Kind, ...] = (
    ("float32", ""),
    ("float64", ""),
    ("float16", ""),
    ("bfloat16", ""),
    ("float32", "tf32"),
    ("int8", ""),
)

_SCALED: Mapping[str, Mapping[Scale, tuple[Shape, ...]]] = {
    "dtypes": {Scale.LARGE: (square(4096),), Scale.MODERATE: (square(512),), Scale.SMALL: (square(40),)},
    "odd": {
        Scale.LARGE: (square(4095), square(1000)),
        Scale.MODERATE: (square(1023), square(500)),
        Scale.SMALL: ((1, 31, 37, 29),),
    },
    "skinny": {
        Scale.LARGE: ((1, 16, 4096, 11008), (1, 1, 4096, 4096), (1, 4096, 4096, 128), (1, 64, 64, 65536)),
        Scale.MODERATE: ((1, 16, 1024, 2752), (1, 1, 2048, 2048), (1, 1024, 1024, 64), (1, 64, 64, 16384)),
        Scale.SMALL: ((1, 1, 60, 50),),
    },
    "batches": {
        Scale.LARGE: ((512, 64, 64, 64), (64, 512, 512, 512)),
        Scale.MODERATE: ((256, 64, 64, 64), (16, 256, 256, 256)),
        Scale.SMALL: ((3, 20, 20, 20),),
    },
}
_SCALED_KINDS: Mapping[Scale, tuple[Kind, ...]] = {
    Scale.LARGE: (("float32", ""), ("float16", "")),
    Scale.MODERATE: (("float32", ""), ("float64", "")),
    Scale.SMALL: (("float32", ""),),
}
_QUICK_KINDS = (("float16", ""), ("bfloat16", ""), ("int8", ""), ("float32", "tf32"))


def default(scale: Scale, squares: tuple[int, ...], caps: Capabilities, *, quick: bool = False) -> list[Problem]:
    """What a device is measured with: squares in float32 and float64, and something of each set that has a scale."""
    found = combined(map(square, squares), [("float32", "")])
    found += combined(map(square, squares[-1:] if quick else squares), [("float64", "")])
    for name, shapes in _SCALED.items():
        kinds = _every_kind(caps) if name == "dtypes" else _SCALED_KINDS[scale]
        if quick:
            kinds = tuple(kind for kind in kinds if kind in _QUICK_KINDS) if name == "dtypes" else kinds[:1]
        found += combined(shapes[scale][: 1 if quick else None], kinds)
    return list(dict.fromkeys(found))


def named(name: str, caps: Capabilities, scale: Scale | None = None) -> list[Problem]:
    """The problems of a set on a device: precisions are those that it has, ``scale`` is that of its kind of device."""
    if name in _SCALED:
        scale = scale or scale_of(caps)
        kinds = _every_kind(caps) if name == "dtypes" else _SCALED_KINDS[scale]
        return combined(_SCALED[name][scale], kinds)
    if name == "cpu":
        return combined(map(square, _CPU_SQUARES), [("float32", ""), ("float64", "")])
    if name == "shapes":
        return [*combined(_SHAPES, [("float32", ""), ("float16", "")]), *combined([_UPDATE], [("float64", "")])]
    own = _precisions(caps)
    chosen = [kind for kind in _KINDS if kind[1] in own]
    chosen += [("float32", precision) for precision in own if ("float32", precision) not in chosen]
    return combined(map(square, _SQUARES), chosen)


def shapes_of(name: str, caps: Capabilities, scale: Scale | None = None) -> tuple[Shape, ...]:
    """The shapes of a set, for dtypes that are named apart."""
    if name in _SCALED:
        return _SCALED[name][scale or scale_of(caps)]
    if name == "shapes":
        return (*_SHAPES, _UPDATE)
    return tuple(map(square, _CPU_SQUARES if name == "cpu" else _SQUARES))


def scale_of(caps: Capabilities) -> Scale:
    """That of a kind of device."""
    return Scale.MODERATE if caps.device_type is DeviceType.CPU else Scale.LARGE


def _every_kind(caps: Capabilities) -> tuple[Kind, ...]:
    return (
        *((dtype, "") for dtype in DTYPES),
        *(("float32", precision) for precision in _precisions(caps) if precision),
    )


def _precisions(caps: Capabilities) -> tuple[str, ...]:
    return tuple(registry.precisions(Problem(m=4096, n=4096, k=4096, dtype="float32"), caps))


__all__ = ["EPILOGUE", "ROUTINES", "SETS", "Scale", "default", "named", "scale_of", "shapes_of"]
