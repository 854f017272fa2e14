"""The last steps: kernels of `portagpu.blas` with the parameters that the library chooses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace

from portagpu.bench.ladder.plan import Operands, Prepared
from portagpu.blas.gemm.core.interface import Config, Product, Variant
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.selection.choice import choose
from portagpu.blas.gemm.selection.registry import variant_of, variants_for
from portagpu.blas.gemm.variants.mma.float64_variant import DoubleVariant
from portagpu.blas.gemm.variants.tile.config import TileConfig
from portagpu.blas.gemm.variants.tile.variant import TileVariant
from portagpu.blas.matmul import matmul


def tuned_tiles(operands: Operands) -> Prepared:
    """The tile variant; where the library takes another one, as on CPUs, with what the tile variant's model says."""
    return _variant(TileVariant(), operands)


def no_tiles(operands: Operands) -> str | None:
    """Why the device cannot run the tile variant: it is tried on CPUs, too, where the library never takes it."""
    if TileVariant().shortlist(_problem(operands), operands.capabilities):
        return None
    return "no tile of the library fits into the device's shared memory and blocks"


_PIECES = "f16x3"  # float32 from matrix units, as exact as the other steps


def matrix_units(operands: Operands) -> Prepared:
    """Products by matrix units: of float64 itself, of float32 in pieces of float16."""
    if operands.c.dtype.name == "float64":
        return _variant(DoubleVariant(), operands)

    def enqueue() -> None:
        matmul(operands.a, operands.b, out=operands.c, precision=_PIECES)

    config = choose(replace(_problem(operands), precision=_PIECES), operands.context)
    assert config is not None
    return _described(config, enqueue)


def no_matrix_units(operands: Operands) -> str | None:
    """Why there is no such step on a device."""
    problem = _problem(operands)
    if problem.dtype == "float64":
        found = DoubleVariant().supports(problem, operands.capabilities)
    else:
        found = bool(variants_for(replace(problem, precision=_PIECES), operands.capabilities))
    return None if found else f"the device has no matrix units that give {problem.dtype}'s accuracy"


def shipped(operands: Operands) -> Prepared:
    """`portagpu.matmul` on device arrays."""

    def enqueue() -> None:
        matmul(operands.a, operands.b, out=operands.c)

    config = choose(_problem(operands), operands.context)
    assert config is not None
    return _described(config, enqueue)


def _variant(variant: Variant, operands: Operands) -> Prepared:
    problem = _problem(operands)
    config: Config | None = choose(problem, operands.context)
    if config is None or variant_of(config).name != variant.name:
        caps = operands.capabilities
        config = min(variant.shortlist(problem, caps), key=lambda sound: variant.predict(sound, problem, caps))
    product = Product(a=operands.a, b=operands.b, c=operands.c, stream=operands.context.default_stream)
    return _described(config, lambda: variant.run(config, product))


def _described(config: Config, enqueue: Callable[[], None]) -> Prepared:
    parameters = " ".join(f"{name}={value}" for name, value in asdict(config).items())
    if not isinstance(config, TileConfig):
        return Prepared(enqueue=enqueue, tile=None, thread_tile=None, note=f"{variant_of(config).name}: {parameters}")
    return Prepared(
        enqueue=enqueue,
        tile=(config.tile_m, config.tile_n),
        thread_tile=(config.thread_m, config.thread_n),
        note=parameters,
    )


def _problem(operands: Operands) -> Problem:
    (m, k), n = operands.a.shape, operands.b.shape[1]
    return Problem(m=m, n=n, k=k, dtype=operands.c.dtype.name)


__all__ = ["matrix_units", "no_matrix_units", "no_tiles", "shipped", "tuned_tiles"]
