"""float32 products from matrix units of 16 bits: operands split into pieces, their products summed in float32.

The accuracy of each mode is in docs/gemm.md (`python -m portagpu.bench.accuracy`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import numpy as np

from portagpu.blas.gemm.core.fill import clear
from portagpu.blas.gemm.core.interface import Product, Variant, order_of
from portagpu.blas.gemm.core.operands import with_strides
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.gemm.variants.cost_model import cores
from portagpu.blas.gemm.variants.emulated.split_kernels import largest, split_terms
from portagpu.blas.gemm.variants.wgmma.register_variant import WarpgroupConfig
from portagpu.blas.gemm.variants.wgmma.variant import KINDS, Operands, WarpgroupVariant, launch_warpgroups
from portagpu.device.capabilities import Capabilities
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream
from portagpu.tuning.tunables.space import Axis

_STEP = 64  # elements of the depth that a step of the matrix units takes
_THREADS = 256
_CHUNK = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class EmulatedConfig(WarpgroupConfig):
    """Parameters of the warp-group kernels, and how many steps of a sum the matrix units form (0: all of them)."""

    promote: int


@dataclass(frozen=True, slots=True)
class _Mode:
    """Type and number of an operand's pieces, and which are multiplied, the smallest products first."""

    dtype: str
    count: int
    pieces: tuple[tuple[int, int], ...]


_MODES = {
    "f16x3": _Mode("float16", 2, ((0, 1), (1, 0), (0, 0))),
    "bf16x6": _Mode("bfloat16", 3, ((0, 2), (2, 0), (1, 1), (0, 1), (1, 0), (0, 0))),
    "bf16x9": _Mode("bfloat16", 3, ((2, 2), (1, 2), (2, 1), (0, 2), (2, 0), (1, 1), (0, 1), (1, 0), (0, 0))),
}
_BASE = WarpgroupVariant()
_PROMOTE = 8  # steps
_MOST_BLOCKS = 2**15  # along the second axis of a grid; CUDA's devices have 65535


class EmulatedVariant(Variant):
    """Pieces of float16 or bfloat16, multiplied by `portagpu.blas.gemm.variants.wgmma.kernels`."""

    name = "emulated"
    config_type = EmulatedConfig
    precisions = tuple(_MODES)

    def supports(self, problem: Problem, caps: Capabilities) -> bool:
        """float32 operands of any layout; results in aligned rows."""
        if problem.dtype != "float32" or problem.precision not in _MODES or problem.batch > 1:
            return False
        return problem.out_dtype == "float32" and _BASE.supports(self._inner(problem), caps)

    def _inner(self, problem: Problem) -> Problem:
        """The problem of the pieces."""
        mode = _MODES[problem.precision]
        depth = -(-problem.k // _STEP) * _STEP * len(mode.pieces)
        a_order, b_order = problem.a_order or "C", problem.b_order or "C"
        return replace(
            problem, k=depth, dtype=mode.dtype, out="float32", precision="", a_order=a_order, b_order=b_order
        )

    def axes(self, problem: Problem, caps: Capabilities) -> tuple[Axis, ...]:
        """Those of the warp-group variant, and the length of sums."""
        return (*_BASE.axes(self._inner(problem), caps), Axis("promote", (0, 4, 8, 16)))

    def is_legal(self, config: EmulatedConfig, problem: Problem, caps: Capabilities) -> bool:
        """What is legal for the pieces; a second set of sums needs registers too."""
        registers = config.tile_m // config.consumers // 64 * config.tile_n // 2
        return (config.promote == 0 or registers <= 64) and _BASE.is_legal(config, self._inner(problem), caps)

    def predict(self, config: EmulatedConfig, problem: Problem, caps: Capabilities) -> float:
        """The products of pieces, and the way of the operands through memory: read twice, written in pieces."""
        mode = _MODES[problem.precision]
        moved = (problem.m + problem.n) * problem.k * (2 * 4 + 2 * mode.count)
        seconds = _BASE.predict(config, self._inner(problem), caps) * (1.0 if config.promote == 0 else 1.1)
        # the largest of each row are sought in a pass of its own, and copies of columns are slow
        passes, launches = (3.0, 6e-5) if mode.dtype == "float16" else (1.0, 2e-5)
        return seconds + passes * moved / (cores(caps) * 20e9) + launches

    def shortlist(self, problem: Problem, caps: Capabilities) -> tuple[EmulatedConfig, ...]:
        """The warp-group variant's, with sums short enough for their rounding not to show."""
        found = (EmulatedConfig(**asdict(c), promote=_PROMOTE) for c in _BASE.shortlist(self._inner(problem), caps))
        return tuple(c for c in found if self.is_legal(c, problem, caps))

    def run(self, config: EmulatedConfig, product: Product) -> None:
        """Split both operands, multiply the pieces."""
        mode, stream = _MODES[product.precision], product.stream
        left, row_exponents = _split("a", product.a, mode, stream)
        right, column_exponents = _split("b", product.b.T, mode, stream)
        depth = -(-product.a.shape[1] // _STEP) * _STEP
        operands = Operands(left, right.T, depth, pieces=mode.pieces, promote=config.promote)
        if mode.dtype == "float16":
            operands = replace(operands, row_exponents=row_exponents, column_exponents=column_exponents)
        launch_warpgroups(config, product, operands, KINDS[mode.dtype, ""])


def _split(role: str, x: DeviceNDArray, mode: _Mode, stream: Stream) -> tuple[DeviceNDArray, DeviceNDArray]:
    """Pieces of x (rows, depth) side by side along the depth, and the exponents of its rows."""
    rows, depth = x.shape
    padded = -(-depth // _STEP) * _STEP
    along = order_of(x) != "F"
    scaled = mode.dtype == "float16"
    words = np.dtype(np.uint32)
    exponents = workspaces.of(stream, f"{role} exponents", (rows,), np.dtype(np.int32))
    bits = workspaces.of(stream, f"{role} bits", (rows,), np.dtype(np.int32))
    number = np.int32
    if scaled:
        clear(bits, stream)
        chunk = depth if along else max(_CHUNK, -(-depth // _MOST_BLOCKS))
        grid = (rows, 1) if along else (-(-rows // _THREADS), -(-depth // chunk))
        largest[grid, _THREADS, stream](x, bits, number(rows), number(depth), number(chunk), along)
    if along:
        shape, items = (rows, mode.count * padded // 2), (padded // 2, rows)
    else:
        pitch = -(-rows // 8) * 8
        shape, items = (mode.count * padded, pitch // 2), (-(-rows // 2), padded)
    pieces = workspaces.of(stream, f"{role} pieces", shape, words)
    block = (64, 4)
    across = -(-items[0] // block[0])
    split_terms[across * -(-items[1] // block[1]), block, stream](
        x,
        pieces,
        bits,
        exponents,
        number(rows),
        number(depth),
        number(padded),
        number(across),
        mode.count,
        not scaled,
        along,
    )
    steps = (shape[1] * 4, 2) if along else (2, shape[1] * 4)
    return with_strides(pieces, (rows, mode.count * padded), steps, np.dtype(np.uint16)), exponents
