"""Options that name products."""

from __future__ import annotations

from dataclasses import replace

import click
import pytest
from click.testing import CliRunner

from portagpu.bench import problem_sets, problems
from portagpu.bench.problem_sets import Scale
from portagpu.bench.running.case import Options, Sizes
from portagpu.bench.suites import gemm
from portagpu.blas.gemm.core.problem import DTYPES, Problem
from portagpu.cli import cli
from portagpu.cli.bench.products import product_options

pytestmark = pytest.mark.one_device


@pytest.fixture
def chosen(device):
    """The problems that words of the command line name."""

    def choose(*words):
        found = []

        @click.command()
        @product_options
        def command(products):
            found.extend(products.on(device))

        result = CliRunner().invoke(command, words, catch_exceptions=False)
        return found if result.exit_code == 0 else result.output

    return choose


def sizes(found):
    return [(p.batch, p.m, p.n, p.k) for p in found]


def test_shapes_batches_and_dtypes(chosen):
    found = chosen("--size", "64", "--shape", "4096X4096x128", "--batch", "512x64x32x16", "--dtype", "int8")
    assert sizes(found) == [(1, 64, 64, 64), (1, 4096, 4096, 128), (512, 64, 32, 16)]
    assert {p.arithmetic for p in found} == {"int8"}


def test_precisions_and_outputs(chosen):
    found = chosen("--size", "64", "--precision", "tf32", "--precision", "default")
    assert [p.arithmetic for p in found] == ["float32/tf32", "float32"]
    found = chosen("--size", "64", "--dtype", "float16", "--out", "float32")
    assert [p.arithmetic for p in found] == ["float16>float32"]
    assert "products of float64 become float64, not float16" in chosen("--dtype", "float64", "--out", "float16")


def test_nothing_named_are_squares(chosen):
    """Of what a device is measured with, the tuner's benchmark takes these."""
    found = chosen()
    assert {p.dtype for p in found} == {"float32", "float64"} and (1, 1024, 1024, 1024) in sizes(found)


@pytest.mark.parametrize("of", [Sizes.GPUS, Sizes.CPUS])
def test_devices_are_measured_with_products_of_every_form(device, monkeypatch, of):
    """All dtypes and precisions, squares, odd, skinny and batched ones, and an epilogue; a part of it with --quick."""
    monkeypatch.setattr(problem_sets.registry, "precisions", lambda problem, caps: ("", "tf32", "f16x3"))
    full, quick, small = (
        gemm.default_problems(device, Options(sizes=of, **more)) for more in ({}, {"quick": True}, {"small": True})
    )
    for found in (full, small):
        assert {p.arithmetic for p in found} == {*DTYPES, "float32/tf32", "float32/f16x3"}
    for found in (full, quick, small):
        assert len(set(found)) == len(found)
        assert any(p.m % 2 and p.m > 1 for p in found if p.batch == 1), "odd"
        assert any(8 * p.m <= p.n for p in found) and any(p.batch > 1 for p in found)
    assert set(quick) < set(full) and len(quick) <= 12 and len(full) <= 60
    assert all(p.flops < 4e8 for p in small)
    for options, count in ((Options(sizes=of), 1), (Options(sizes=of, quick=True), 1), (Options(small=True), 1)):
        paths = [entry.path for entry in gemm.entries(device, options)]
        assert len([path for path in paths if path.startswith("gemm/epilogue/float32/")]) == count
        assert len(set(paths)) == len(paths)


@pytest.mark.parametrize("name", ["dtypes", "odd", "skinny", "batches"])
def test_sets_have_sizes_of_a_kind_of_device(device, chosen, name):
    large, moderate, small = (problem_sets.named(name, device.capabilities, scale) for scale in Scale)
    assert max(p.flops for p in small) < max(p.flops for p in moderate) < max(p.flops for p in large)
    is_cpu = problem_sets.scale_of(device.capabilities) is Scale.MODERATE
    assert chosen("--set", name) == (moderate if is_cpu else large)
    assert {p.dtype for p in chosen("--set", name, "--dtype", "int8")} == {"int8"}
    assert chosen("--set", "epilogue") == []


def test_sets(device, chosen):
    assert {(p.dtype, p.m) for p in chosen("--set", "cpu")} == {
        (dtype, n) for dtype in ("float32", "float64") for n in (512, 1024, 2048, 4096)
    }
    shapes = chosen("--set", "shapes")
    assert {p.dtype for p in shapes if p.k != 288} == {"float32", "float16"}
    assert [p.dtype for p in shapes if p.k == 288] == ["float64"]
    assert (1, 16, 4096, 11008) in sizes(shapes) and (512, 64, 64, 64) in sizes(shapes) and len(shapes) == 15
    assert {p.arithmetic for p in chosen("--set", "shapes", "--dtype", "float64")} == {"float64"}
    squares = chosen("--set", "squares", "--set", "squares")
    assert len(squares) == len(set(squares)) and {p.m for p in squares} == {2048, 4096, 8192}
    assert {"float32", "float64", "float16", "bfloat16", "int8"} <= {p.dtype for p in squares}
    known = problem_sets.registry.precisions(Problem(m=2048, n=2048, k=2048, dtype="float32"), device.capabilities)
    assert {p.precision for p in squares} <= set(known) | {""}


def test_modes_of_a_device_are_in_the_squares(device, monkeypatch):
    monkeypatch.setattr(problem_sets.registry, "precisions", lambda problem, caps: ("", "tf32", "f16x3", "bf16x6"))
    found = [p.arithmetic for p in problem_sets.named("squares", device.capabilities)]
    assert found[::3][-4:] == ["float32/tf32", "int8", "float32/f16x3", "float32/bf16x6"]


@pytest.mark.parametrize(
    "words", [["--shape", "4x4"], ["--shape", "0x4x4"], ["--batch", "4x4x4"], ["--shape", "axbxc"]]
)
def test_texts_that_are_no_shapes(chosen, words):
    assert "is no shape; write" in chosen(*words)


def test_what_is_missing_is_told(device):
    caps = replace(device.capabilities, fp64=False)
    product = Problem(m=8, n=8, k=8, dtype="complex128")
    assert problems.missing(product, caps) == "the device has no float64"
    assert problems.missing(replace(product, dtype="complex64", batch=3), caps) is None


def test_options_go_behind_the_subcommand():
    result = CliRunner().invoke(cli, ["bench", "--set", "cpu", "tuned"])
    assert result.exit_code == 2 and "write options behind 'tuned'" in result.output
