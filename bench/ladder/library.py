"""The last steps: kernels of `portagpu.blas` with the parameters that the library chooses."""

from __future__ import annotations

from dataclasses import asdict, replace

from portagpu.bench.ladder.plan import Operands, Prepared
from portagpu.blas.choice import choose
from portagpu.blas.config import Config, TileConfig, default_config
from portagpu.blas.gemm import gemm
from portagpu.blas.matmul import matmul
from portagpu.blas.problem import Problem


def tuned(operands: Operands) -> Prepared:
    """The tile kernel with tuned parameters, else those of the model.

    Where shared memory is not on the chip the tuner takes another variant; the model then chooses as if it were.
    """
    problem = _problem(operands)
    config = choose(problem, operands.context)
    if not isinstance(config, TileConfig):
        config = default_config(problem, replace(operands.capabilities, local_memory_dedicated=True))
    assert isinstance(config, TileConfig)
    stream = operands.context.default_stream
    return Prepared(
        enqueue=lambda: gemm(operands.a, operands.b, operands.c, stream, config),
        tile=(config.tile_m, config.tile_n),
        thread_tile=(config.thread_m, config.thread_n),
        note=_text(config),
    )


def shipped(operands: Operands) -> Prepared:
    """`portagpu.matmul` on device arrays."""
    config = choose(_problem(operands), operands.context)
    tile = (config.tile_m, config.tile_n) if isinstance(config, TileConfig) else None
    thread_tile = (config.thread_m, config.thread_n) if isinstance(config, TileConfig) else None

    def enqueue() -> None:
        matmul(operands.a, operands.b, out=operands.c)

    return Prepared(enqueue=enqueue, tile=tile, thread_tile=thread_tile, note=_text(config))


def _problem(operands: Operands) -> Problem:
    (m, k), n = operands.a.shape, operands.b.shape[1]
    return Problem(m=m, n=n, k=k, dtype=operands.c.dtype.name)


def _text(config: Config) -> str:
    return " ".join(f"{name}={value}" for name, value in asdict(config).items())


__all__ = ["shipped", "tuned"]
