"""The ladder's kernels at sizes that no tile divides and at one that all do; what devices cannot run; the document."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from portagpu.bench.ladder.kernels import elements, pipelined, tiles, vectors
from portagpu.bench.ladder.plan import flops_per_byte
from portagpu.bench.ladder.steps import STEPS, KernelStep, Operands, step_named
from portagpu.blas.gemm.tuning.verification import ProductCheck
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.runtime.arrays.creation import to_device

pytestmark = [pytest.mark.one_device(fast=True), pytest.mark.each_value]

NAMES = [step.name for step in STEPS]
EACH_STEP = pytest.mark.parametrize("step", STEPS, ids=NAMES)
DOCUMENT = (Path(__file__).parents[2] / "docs" / "ladder.md").read_text(encoding="utf-8")


def make(m, n, k, dtype):
    generator = np.random.default_rng(k)
    a = generator.standard_normal((m, k)).astype(dtype)
    b = generator.standard_normal((k, n)).astype(dtype)
    c = np.full((m, n), np.nan, dtype)  # what a step forgets shows
    return ProductCheck(a, b), Operands(a=to_device(a), b=to_device(b), c=to_device(c))


def multiply(step, operands):
    obstacle = step.obstacle(operands)
    if obstacle is not None and step.name == "matrix units":
        pytest.skip(obstacle)
    assert obstacle is None
    step.prepare(operands).enqueue()
    return operands.c.copy_to_host()


@pytest.mark.oclgrind
@EACH_STEP
@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (5, 3, 7), (33, 40, 18)])
def test_small_products(device, step, m, n, k):
    check, operands = make(m, n, k, "float32")
    assert check.error(multiply(step, operands)) <= 1


@EACH_STEP
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("m, n, k", [(131, 261, 67), (257, 33, 129), (132, 140, 76), (128, 256, 64)])
def test_products_of_every_size(device, step, dtype, m, n, k):
    check, operands = make(m, n, k, dtype)
    assert check.error(multiply(step, operands)) <= 1


@EACH_STEP
def test_views_that_are_not_aligned(device, step):
    check, aligned = make(128, 128, 64, "float32")
    parts = []
    for matrix in (aligned.a, aligned.b, aligned.c):
        longer = to_device(np.full(matrix.size + 1, np.nan, np.float32))
        view = longer[1:].reshape(matrix.shape)
        view[...] = matrix
        parts.append(view)
    operands = Operands(a=parts[0], b=parts[1], c=parts[2])
    assert check.error(multiply(step, operands)) <= 1


def test_what_a_device_cannot_run_is_told(device, monkeypatch):
    _, operands = make(8, 8, 8, "float32")
    caps = operands.capabilities
    small = replace(caps, max_work_group_size=64, max_work_item_sizes=(64, 64, 64))
    flat = replace(caps, local_memory_static=1024)
    told = {}
    for name, kind in (("small", small), ("flat", flat)):
        monkeypatch.setattr(Operands, "capabilities", kind)
        told[name] = {step.name: step.obstacle(operands) for step in STEPS}
    assert told["small"]["2-D register tile"] == "needs blocks of 256 threads; the device runs 64"
    assert told["flat"]["vectorised"] == "needs 8320 bytes of shared memory; the device has 1024"
    assert told["flat"]["naive"] is None
    assert told["small"]["shipped"] is None


def test_smaller_blocks_where_the_device_asks_for_them(device, monkeypatch):
    check, operands = make(70, 90, 40, "float32")
    caps = replace(operands.capabilities, max_work_group_size=256)
    monkeypatch.setattr(Operands, "capabilities", caps)
    for name in ("shared tile", "1-D register tile"):
        assert check.error(multiply(step_named(name), operands)) <= 1


@pytest.mark.parametrize("memory, stages", [(2**18, 4), (100_000, 3), (64_000, 3), (40_000, 2)])
def test_as_many_stages_as_fit(device, monkeypatch, memory, stages):
    check, operands = make(130, 70, 90, "float32")
    monkeypatch.setattr(Operands, "capabilities", replace(operands.capabilities, local_memory_static=memory))
    step = step_named("pipelined")
    assert step.prepare(operands).note.startswith(f"{stages} stages")
    assert check.error(multiply(step, operands)) <= 1


@pytest.mark.thorough
def test_shared_memory_is_as_much_as_the_kernels_declare(device):
    _, operands = make(128, 128, 64, "float32")
    for step in STEPS:
        if isinstance(step, KernelStep):
            multiply(step, operands)
            declared = max(  # of every specialisation: other tests leave those of float64 and of fewer stages
                (
                    [int(size) for size in re.findall(r"__local float \w+\[(\d+)\]", text)]
                    for text in step.kernel.inspect_opencl().values()
                ),
                key=sum,
            )
            assert step.rule(operands).shared_bytes <= 4 * sum(declared)
            assert bool(declared) == bool(step.rule(operands).shared_bytes)


def test_intensity():
    assert flops_per_byte((1, 1), 4) == 0.25
    assert flops_per_byte((128, 128), 4) == 32
    assert flops_per_byte((8, 8), 8) == 1
    assert flops_per_byte(None, 4) is None


def test_steps_are_named_once_and_explained():
    assert len(set(NAMES)) == len(STEPS)
    for number, step in enumerate(STEPS, 1):
        assert step.change.endswith(".")
        assert f"## {number}. {step.name[0].upper()}{step.name[1:]}" in DOCUMENT


def test_every_kernel_is_a_step():
    used = {step.kernel for step in STEPS if isinstance(step, KernelStep)}
    made = {
        value
        for module in (elements, tiles, vectors, pipelined)
        for value in vars(module).values()
        if isinstance(value, Dispatcher) and not value.is_device_function
    }
    assert used == made


def test_lines_that_the_document_shows_are_those_of_the_kernels():
    kernels = "\n".join(inspect.getsource(module) for module in (elements, tiles, vectors, pipelined))
    have = {" ".join(line.split()) for line in kernels.splitlines()}
    shown = [
        line.strip() for block in re.findall(r"^```py\n(.*?)^```", DOCUMENT, re.S | re.M) for line in block.splitlines()
    ]
    assert len(shown) > 20
    assert not [line for line in shown if line and line != "..." and " ".join(line.split()) not in have]
    for block in re.findall(r"^```py\n(.*?)^```", DOCUMENT, re.S | re.M):
        ast.parse(block)
