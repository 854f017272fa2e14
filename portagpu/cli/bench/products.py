"""Options that name products: shapes, dtypes, precisions, sets of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import click

from portagpu.bench import problem_sets, problems
from portagpu.bench.problem_sets import EPILOGUE, ROUTINES, SETS, Scale
from portagpu.bench.problems import Shape, parse_shape
from portagpu.bench.routines.tasks import DTYPES as ROUTINE_DTYPES
from portagpu.bench.suites.gemm import default_sizes as sizes_of
from portagpu.blas.gemm.core.accumulation import OUTPUTS
from portagpu.blas.gemm.core.problem import DTYPES, Problem, default_output
from portagpu.blas.gemm.selection.registry import all_precisions
from portagpu.cli.choices import DEFAULT_PRECISION, Choice
from portagpu.cli.options import with_options
from portagpu.cli.shapes import FORM
from portagpu.device import DeviceRecord

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Products:
    """What was asked for; see `product_options`."""

    shapes: tuple[Shape, ...] = ()
    sets: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    precisions: tuple[str, ...] = ()  # "" is the default one
    out: str = ""

    def on(
        self, device: DeviceRecord, default_sizes: tuple[int, ...] | None = None, scale: Scale | None = None
    ) -> list[Problem]:
        """The problems for a device: what is not named comes from the sets, or is squares of its sizes."""
        assert device.capabilities is not None
        caps = device.capabilities
        if ROUTINES in self.sets:
            raise click.BadParameter("the set blas has no products", param_hint="--set")
        found: list[Problem] = []
        for name in self.sets:
            if name == EPILOGUE:
                continue
            if self.dtypes or self.precisions:
                found += self._combined(problem_sets.shapes_of(name, caps, scale))
            else:
                found += [replace(p, out=self.out) for p in problem_sets.named(name, caps, scale)]
        shapes = self.shapes
        if not shapes and not self.sets:
            shapes = tuple(map(problems.square, default_sizes or sizes_of(device)))
        return list(dict.fromkeys([*found, *self._combined(shapes)]))

    def _combined(self, shapes: tuple[Shape, ...]) -> list[Problem]:
        dtypes = self.dtypes or (("float32",) if any(self.precisions) else ("float32", "float64"))
        kinds = [(dtype, precision) for dtype in dtypes for precision in self.precisions or ("",)]
        return problems.combined(shapes, kinds, self.out)


def routine_options(products: Products) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Sizes and dtypes for the set of routines. Raises `click.BadParameter` for what only products have."""
    sizes = tuple(shape[1] for shape in products.shapes)
    squares = tuple(map(problems.square, sizes))
    if products != Products(sets=(ROUTINES,), shapes=squares, dtypes=products.dtypes):
        raise click.BadParameter("the set blas takes --size and --dtype only", param_hint="--set")
    unknown = [dtype for dtype in products.dtypes if dtype not in ROUTINE_DTYPES]
    if unknown:
        raise click.BadParameter(
            f"the set blas has {', '.join(ROUTINE_DTYPES)}, not {unknown[0]}", param_hint="--dtype"
        )
    return sizes, products.dtypes


def product_options(command: F) -> F:
    """Add the options to a command, which gets a `Products` as ``products``."""

    def collect(*args: Any, **kwargs: Any) -> Any:
        names = ("sizes", "shapes", "batches", "sets", "dtypes", "precisions", "out")
        given = {name: kwargs.pop(name) for name in names}
        precisions = tuple("" if p == DEFAULT_PRECISION else p for p in given["precisions"])
        _check_output(given["dtypes"] or ("float32", "float64"), given["out"])
        kwargs["products"] = Products(
            shapes=(*map(problems.square, given["sizes"]), *given["shapes"], *given["batches"]),
            sets=given["sets"],
            dtypes=given["dtypes"],
            precisions=precisions,
            out=given["out"] or "",
        )
        return command(*args, **kwargs)

    return with_options(command, collect, _OPTIONS)


def _check_output(dtypes: tuple[str, ...], out: str | None) -> None:
    for dtype in dtypes if out else ():
        if out not in OUTPUTS[dtype]:
            allowed = ", ".join(OUTPUTS[dtype])
            raise click.BadParameter(f"products of {dtype} become {allowed}, not {out}", param_hint="--out")


def _shape(batch: bool) -> Callable[[click.Context, click.Parameter, tuple[str, ...]], tuple[Shape, ...]]:
    form = "BATCHxMxNxK, such as 512x64x64x64" if batch else FORM

    def parse(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[Shape, ...]:
        found = []
        for value in values:
            shape = parse_shape(value, batch=batch)
            if shape is None:
                raise click.BadParameter(f"{value!r} is no shape; write {form}", ctx, param)
            found.append(shape)
        return tuple(found)

    return parse


_OUTPUTS = tuple(dict.fromkeys(out for dtype in DTYPES for out in (default_output(dtype), *OUTPUTS[dtype])))
_OPTIONS = (
    click.option("--size", "sizes", type=click.IntRange(min=1), multiple=True, help="square matrices; may be repeated"),
    click.option("--shape", "shapes", multiple=True, metavar="MxNxK", callback=_shape(False), help="may be repeated"),
    click.option(
        "--batch",
        "batches",
        multiple=True,
        metavar="BxMxNxK",
        callback=_shape(True),
        help="B products; may be repeated",
    ),
    click.option(
        "--set",
        "sets",
        type=Choice(tuple(SETS)),
        multiple=True,
        help="; ".join(f"{name}: {what}" for name, what in SETS.items()),
    ),
    click.option("--dtype", "dtypes", type=Choice(DTYPES), multiple=True, help="may be repeated"),
    click.option(
        "--precision",
        "precisions",
        type=Choice((DEFAULT_PRECISION, *filter(None, all_precisions()))),
        multiple=True,
        help="how products are formed; may be repeated",
    ),
    click.option("--out", type=Choice(_OUTPUTS), default=None, help="dtype of the results"),
)
