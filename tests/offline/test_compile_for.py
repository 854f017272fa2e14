"""Kernels compiled for hardware that is not present: figures, and what is said about mistakes."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from portagpu import cuda
from portagpu.backends.opencl.offline import compilers
from portagpu.backends.opencl.offline import parts as offline_parts
from portagpu.backends.opencl.offline.figures import figures_of_assembly, figures_of_binary
from portagpu.backends.opencl.offline.targets import TARGETS
from portagpu.cli.check import check_command
from portagpu.cuda import float32, float64, void
from portagpu.errors import (
    ArgumentCountError,
    BuildError,
    DeviceSelectionError,
    KernelError,
    LoweringError,
    MissingCompilerError,
    PortaGPUError,
)

_FILE = Path(__file__)


@cuda.jit("void(float32[::1], float32[::1], float32)")
def grow(x, y, a):
    i = cuda.grid(1)
    if i < x.shape[0]:
        y[i] += a * math.exp(x[i])


@cuda.jit
def scratch(x, n: cuda.constexpr):
    t = cuda.threadIdx.x
    a = cuda.local.array(n, np.float32)
    for i in range(n):
        a[i] = x[i * 64 + t]
    for r in range(10):
        for i in range(n):
            a[i] = a[i] * a[(i * 7 + r) % n]
    for i in range(n):
        x[i * 64 + t] = a[i]


@cuda.jit
def reverse(x):
    tile = cuda.shared.array(256, np.float32)
    i = cuda.threadIdx.x
    tile[i] = x[i]
    cuda.syncthreads()
    x[i] = tile[255 - i]


@cuda.jit
def halve(x):
    x[0] = x[0] / 2


def test_a_small_kernel_needs_few_registers_and_no_memory(target):
    made = grow.compile_for(target.name)
    assert made.target is target
    assert "__kernel void grow" in made.source
    assert made.remark is not None or 0 < made.figures.registers <= 128
    assert made.figures.lanes in ((8, 16, 32, 64) if target.is_gpu else (1, 4, 8, 16))
    assert made.remark is not None or not target.is_gpu or made.figures.occupancy >= 7
    assert not made.figures.spills


@pytest.mark.in_turn(3)
def test_arrays_that_do_not_fit_registers_are_scratch_memory(target):
    made = scratch.compile_for(target, "void(float32[::1])", constants={"n": 300}, block=64)
    assert made.figures.spills
    assert made.figures.scratch_bytes >= 1200


def test_shared_arrays_are_counted(target):
    made = reverse.compile_for(target, void(float32[::1]), block=256)
    assert made.figures.local_bytes == 1024


def test_assembly_is_shown_where_the_compiler_has_text():
    target = TARGETS["gfx90a"]
    if not compilers.is_available(target):
        pytest.skip("clang for amdgcn is not installed")
    made = halve.compile_for(target, (float32[::1],))
    assert "s_endpgm" in made.assembly


def test_a_target_without_float64_says_so_at_the_line():
    with pytest.raises(KernelError, match="float64") as caught:
        halve.compile_for("dg2", void(float64[::1]))
    assert caught.value.span.filename == str(_FILE)


def test_an_unknown_target_is_refused_with_a_list():
    with pytest.raises(DeviceSelectionError, match="gfx9999") as caught:
        halve.compile_for("gfx9999", void(float32[::1]))
    assert any("gfx942" in note for note in caught.value.notes)


def test_constants_and_types_are_checked():
    with pytest.raises(ArgumentCountError, match="needs values of its compile-time parameters n"):
        scratch.compile_for("gfx1100", void(float32[::1]))
    with pytest.raises(ArgumentCountError, match="no compile-time parameter m"):
        scratch.compile_for("gfx1100", void(float32[::1]), constants={"n": 3, "m": 4})
    with pytest.raises(ArgumentCountError, match="the signature has 2 types"):
        halve.compile_for("gfx1100", void(float32[::1], float32))
    with pytest.raises(ArgumentCountError, match="declares no signatures"):
        halve.compile_for("gfx1100")


@pytest.mark.parametrize("name", TARGETS)
def test_exactly_the_missing_parts_of_a_compiler_are_named(name, monkeypatch):
    compiler = compilers.COMPILERS[TARGETS[name].compiler]
    for there in itertools.product([True, False], repeat=len(compiler.parts)):
        parts = tuple(
            dataclasses.replace(part, find=lambda part=part, one=one: f"/a/{part.package}" if one else None)
            for part, one in zip(compiler.parts, there, strict=True)
        )
        if all(there):
            continue
        changed = {TARGETS[name].compiler: dataclasses.replace(compiler, parts=parts)}
        with monkeypatch.context() as patch, pytest.raises(MissingCompilerError, match="not installed") as caught:
            patch.setattr(compilers, "COMPILERS", {**compilers.COMPILERS, **changed})
            halve.compile_for(name, void(float32[::1]))
        for part, one in zip(compiler.parts, there, strict=True):
            assert (part.package in caught.value.hint.split()) != one
            assert (f"{part.name} is there (/a/{part.package})" in str(caught.value)) == one
        assert str(caught.value).count("apt-get") == 1


def test_what_the_compiler_refuses_is_told_at_the_python_line(target, monkeypatch):
    run = offline_parts.attempt
    monkeypatch.setenv("PORTAGPU_DISK_CACHE", "0")  # others compile the same

    def broken(command, source, **environment):
        path = Path(command[-1])
        if path.suffix == ".cl":
            path.write_text(path.read_text().replace("/ 2.0f", "/ nowhere()").replace("* 0.5f", "* nowhere()"))
        return run(command, source, **environment)

    monkeypatch.setattr(offline_parts, "attempt", broken)
    with pytest.raises(BuildError, match="nowhere") as caught:
        halve.compile_for(target, void(float32[::1]))
    assert caught.value.span.text.strip() == "x[0] = x[0] / 2"
    assert "__kernel" in caught.value.opencl_source


def test_functions_that_nobody_defines_are_errors(target):
    source = "float nowhere(float);\n__kernel void k(__global float* x) { x[0] = nowhere(x[0]); }\n"
    with pytest.raises(BuildError) as caught:
        compilers.compile_offline(target, source, ())
    assert "nowhere" in caught.value.log


def test_outputs_of_another_format_are_typed_errors():
    with pytest.raises(LoweringError, match="assembly"):
        figures_of_assembly("nothing")
    with pytest.raises(LoweringError, match="cannot be read"):
        figures_of_binary(b"nothing at all")


# the command ----------------------------------------------------------------------------------------------------


def test_the_command_prints_figures():
    asked = {target.compiler: name for name, target in TARGETS.items()}.values()
    names = [name for name in asked if compilers.is_available(TARGETS[name])]
    words = [part for name in names for part in ("--target", name)]
    done = CliRunner().invoke(check_command, [f"{_FILE}:grow", "--json", *words])
    assert done.exit_code == (0 if names else 1)
    found = json.loads(done.stdout)
    assert set(found) == (set(names) or set(TARGETS))
    assert all(found[name]["scratch_bytes"] == 0 for name in names)


def test_the_command_fails_for_kernels_that_spill():
    target = next((t for t in TARGETS.values() if t.is_gpu and compilers.is_available(t)), None)
    if target is None:
        pytest.skip("no offline compiler is installed")
    arguments = ["--signature", "void(float32[::1])", "--constant", "n=300", "--block", "64", "--target", target.name]
    done = CliRunner().invoke(check_command, [f"{_FILE}:scratch", *arguments])
    assert done.exit_code == 1
    assert target.name in done.output


@pytest.mark.parametrize(
    "arguments",
    [
        ["nowhere.py:k"],
        [f"{_FILE}:nothing"],
        [f"{_FILE}:scratch", "--constant", "n"],
        [f"{_FILE}:scratch", "--block", "x"],
        [],
    ],
)
def test_the_command_explains_wrong_arguments(arguments):
    assert CliRunner().invoke(check_command, arguments).exit_code == 2


def test_the_command_raises_our_errors():
    done = CliRunner().invoke(check_command, [f"{_FILE}:grow", "--target", "gfx9999"])
    assert isinstance(done.exception, PortaGPUError)


def test_spills_of_a_cpu_are_told_and_are_no_failure():
    target = next((t for t in TARGETS.values() if not t.is_gpu and compilers.is_available(t)), None)
    if target is None:
        pytest.skip("no compiler for CPUs is installed")
    arguments = ["--signature", "void(float32[::1])", "--constant", "n=300", "--target", target.name, "--json"]
    done = CliRunner().invoke(check_command, [f"{_FILE}:scratch", *arguments])
    assert done.exit_code == 0 and json.loads(done.stdout)[target.name]["spills"]


PRINTING = """
import os, sys
print("printed by the file")
os.system("echo echoed by a child")
before = sys.stdout
from portagpu import cuda

@cuda.jit("void(float32[::1])")
def k(x):
    x[0] = 2
print("kept", file=before)
"""


@pytest.mark.parametrize("words", [["--json"], []])
def test_what_the_file_prints_goes_to_the_error_output(tmp_path, words):
    (tmp_path / "k.py").write_text(PRINTING)
    command = [sys.executable, "-m", "portagpu", "check", f"{tmp_path / 'k.py'}:k", "--target", "x86-64-v3", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    for text in ("printed by the file", "echoed by a child", "kept"):
        assert text in done.stderr and text not in done.stdout
    if words:
        assert set(json.loads(done.stdout)) == {"x86-64-v3"}
    else:
        assert all(line == line.rstrip() for line in done.stdout.splitlines())


def _without_compilers(monkeypatch):
    for name in ("PATH", "HIP_DEVICE_LIB_PATH"):
        monkeypatch.setenv(name, "/nowhere")
    found = {
        name: dataclasses.replace(one, parts=tuple(dataclasses.replace(p, find=lambda: None) for p in one.parts))
        for name, one in compilers.COMPILERS.items()
    }
    monkeypatch.setattr(compilers, "COMPILERS", found)


def test_a_check_that_compiled_nothing_fails_and_names_each_package_once(monkeypatch):
    _without_compilers(monkeypatch)
    done = CliRunner().invoke(check_command, [f"{_FILE}:grow"])
    assert done.exit_code == 1
    for compiler in compilers.COMPILERS.values():
        assert done.stdout.count(f"apt-get install {compiler.package}\n") <= 2  # NVIDIA's and CPUs need the same
    assert done.stdout.count("hint:") == len(compilers.COMPILERS)
    assert all(done.stdout.count(name) == 1 for name in TARGETS)
    done = CliRunner().invoke(check_command, [f"{_FILE}:grow", "--json"])
    assert done.exit_code == 1 and all(one["missing_compiler"] for one in json.loads(done.stdout).values())


def test_a_missing_compiler_fails_where_its_target_was_named(monkeypatch):
    there = next((t.name for t in TARGETS.values() if compilers.is_available(t)), None)
    if there is None:
        pytest.skip("no offline compiler is installed")
    kind = TARGETS[there].compiler
    other = next(t.name for t in TARGETS.values() if t.compiler != kind)
    kept = compilers.COMPILERS[kind]
    path = os.environ["PATH"]
    _without_compilers(monkeypatch)
    monkeypatch.setenv("PATH", path)
    monkeypatch.setitem(compilers.COMPILERS, kind, kept)
    for words, status in ((["--target", there], 0), (["--target", there, "--target", other], 1), ([], 0)):
        done = CliRunner().invoke(check_command, [f"{_FILE}:grow", *words])
        assert done.exit_code == status, done.output
        assert there in done.stdout


def test_the_command_lists_targets():
    done = CliRunner().invoke(check_command, ["--list"])
    assert done.exit_code == 0
    assert all(name in done.output for name in TARGETS)
