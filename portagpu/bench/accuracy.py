"""Errors of products against wider arithmetic: ``python -m portagpu.bench.accuracy`` prints a Markdown table.

Random normal operands (integers: uniform over all values), a (512, k) and b (k, 512), for every dtype, result and
precision that the device has, beside the vendor's library where it is at hand. The reference is formed in extended
precision for float64 and complex128, in float64 for all others, for a sample of rows. Stated are the largest error of
an element as a share of its ``|a| |b|``, which is what error bounds are about, and the root mean square of all errors
as a share of that of the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from portagpu.bench.method.rounds import FAILURES
from portagpu.bench.peers.products import Matrix, Peer, peers_for
from portagpu.bench.products import own_call
from portagpu.bench.program import Program, chosen
from portagpu.bench.records.cell import Memory
from portagpu.blas.gemm.core.accumulation import OUTPUTS
from portagpu.blas.gemm.core.problem import DTYPES, Problem
from portagpu.blas.gemm.selection import registry
from portagpu.blas.gemm.tuning.trial import operand
from portagpu.errors import DTypeError
from portagpu.runtime.execution.context import Context

TERMS = (256, 1024, 8192)
SIZE = 512
_SAMPLED = 64  # rows that are compared
_EXACT_MODES = 2.0  # times SGEMM's error, which modes of float32 accuracy are to stay below
_REDUCED = ("tf32",)  # modes that are not meant to have float32's accuracy


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Errors of a product; see the module's text."""

    largest: float
    rms: float

    def __str__(self) -> str:
        return "0 | 0" if self.largest == 0 else f"{self.largest:.1e} | {self.rms:.1e}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Errors of one way to form products, beside the library's."""

    problem: Problem
    errors: Errors
    peer: Errors | None = None
    peer_arithmetic: str = ""  # where it is another one


def measure(
    context: Context, terms: Sequence[int] = TERMS, size: int = SIZE, peer: Peer | None = None
) -> Iterator[Accuracy]:
    """Every dtype and mode of a device, for sums of each length."""
    for dtype in DTYPES:
        if dtype in ("float64", "complex128") and not context.capabilities.fp64:
            continue
        for k in terms:
            try:
                reference = _Reference(Problem(m=size, n=size, k=k, dtype=dtype))
            except DTypeError:  # bfloat16 without its package
                break
            for problem in _ways(dtype, size, k, context):
                call = own_call(context, problem, reference.a, reference.b, Memory.DEVICE)
                call.product()
                assert call.fetch is not None
                theirs, arithmetic = _library(peer, problem, reference)
                yield Accuracy(
                    problem=problem,
                    errors=reference.errors(call.fetch()),
                    peer=theirs,
                    peer_arithmetic=arithmetic,
                )


def table(results: Sequence[Accuracy], peer: str = "") -> str:
    """The results as Markdown, and how modes of float32 accuracy compare with SGEMM."""
    beside = any(r.peer for r in results)
    lines = [
        "| operands | result | precision | k | largest | rms |" + (" library: largest | rms | |" if beside else ""),
        "| --- | --- | --- | ---: | ---: | ---: |" + (" ---: | ---: | --- |" if beside else ""),
    ]
    for r in results:
        p = r.problem
        line = f"| {p.dtype} | {p.out_dtype} | {p.precision or 'default'} | {p.k} | {r.errors} |"
        if beside:
            line += f" {r.peer or '- | -'} | {r.peer_arithmetic} |"
        lines.append(line)
    notes = ["largest: error of an element / (abs a @ abs b); rms: of the errors / of the result."]
    notes += [f"Library: {peer}."] if beside else []
    return "\n".join([*lines, "", *notes, *modes(results)])


def modes(results: Sequence[Accuracy]) -> list[str]:
    """A line for each mode of float32 accuracy: its rms error over that of SGEMM, the library's where it is there."""
    plain = {r.problem.k: r for r in results if r.problem.arithmetic == "float32"}
    found: dict[str, list[tuple[float, int]]] = {}
    for r in results:
        p = r.problem
        if p.dtype == "float32" and p.precision and p.precision not in _REDUCED and p.k in plain:
            sgemm = plain[p.k].peer or plain[p.k].errors
            found.setdefault(p.precision, []).append((r.errors.rms / sgemm.rms, p.k))
    lines = []
    for precision, ratios in found.items():
        verdict = "within" if max(ratios)[0] <= _EXACT_MODES else "beyond"
        each = ", ".join(f"{ratio:.2f} at k = {k}" for ratio, k in ratios)
        lines.append(f"{precision}: rms error over SGEMM's {each}; {verdict} {_EXACT_MODES:g} times.")
    return lines


class _Reference:
    """Operands, and exact values of some rows of the product."""

    def __init__(self, problem: Problem) -> None:
        generator = np.random.default_rng(problem.k)
        self.a = operand(generator, problem, problem.m, problem.k, "C")
        self.b = operand(generator, problem, problem.k, problem.n, "C")
        self._rows = np.linspace(0, problem.m - 1, min(problem.m, _SAMPLED)).astype(int)
        left, right = _widened(self.a[self._rows]), _widened(self.b)
        self._exact, self._size = left @ right, np.abs(left) @ np.abs(right)

    def errors(self, c: Matrix) -> Errors:
        """The errors of a result; infinite where it is not finite."""
        error = np.abs(_widened(c[self._rows]) - self._exact)
        if not np.all(np.isfinite(error)):
            return Errors(largest=float("inf"), rms=float("inf"))
        rms = np.sqrt(np.sum(error**2) / np.sum(np.abs(self._exact) ** 2))
        return Errors(largest=float(np.max(error / self._size)), rms=float(rms))


def _library(peer: Peer | None, problem: Problem, reference: _Reference) -> tuple[Errors | None, str]:
    """The library's errors, and its arithmetic where that is another one; None for what it cannot do."""
    if peer is None:
        return None, ""
    served = peer.serves(problem)
    if served.dtype != problem.dtype:  # a product of other numbers, or one that rounds other things
        return None, ""
    try:
        call = peer.prepare(served, reference.a, reference.b)
        call.product()
    except FAILURES:
        return None, ""
    errors = None if call.fetch is None else reference.errors(call.fetch())
    return errors, "" if served == problem else served.arithmetic


def _widened(matrix: Matrix) -> Matrix:
    kinds: dict[str, Any] = {"float64": np.longdouble, "complex64": np.complex128, "complex128": np.clongdouble}
    return matrix.astype(kinds.get(matrix.dtype.name, np.float64))


def _ways(dtype: str, size: int, k: int, context: Context) -> Iterator[Problem]:
    real = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    for out in OUTPUTS[dtype]:
        large = Problem(m=1024, n=1024, k=1024, dtype=real, out=real if real != dtype else out)
        for precision in registry.precisions(large, context.capabilities):
            yield Problem(m=size, n=size, k=k, dtype=dtype, out=out, precision=precision)


@click.command(cls=Program)
@click.option("--device", "selector", default=None, help="index, name part, vendor, gpu or cpu")
@click.option("--terms", type=click.IntRange(min=1), multiple=True, default=TERMS, show_default=True, help="k")
@click.option("--size", type=click.IntRange(min=1), default=SIZE, show_default=True, help="m and n")
def main(selector: str | None, terms: tuple[int, ...], size: int) -> None:
    """Print the errors of every dtype and precision on a device, beside the vendor's library."""
    device = chosen(selector)
    context = Context.for_device(device)
    peer = peers_for(device)[0]
    with context:
        results = tuple(measure(context, terms, size, peer))
    click.echo(f"{device.name} ({device.platform} {device.driver_version}), m = n = {size}\n")
    click.echo(table(results, peer.name))


if __name__ == "__main__":
    main()
