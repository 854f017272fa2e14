"""Exported kernels: a C compiler takes the host program, and it prints what a launch from Python computes."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

import exported_kernels
import numpy as np
import pytest
from click.testing import CliRunner

from portagpu import cuda
from portagpu.cli import cli
from portagpu.errors import (
    ArgumentCountError,
    ArgumentTypeError,
    KernelTypeError,
    LaunchConfigError,
    MissingCapabilityError,
    StoreError,
    UnsupportedError,
)
from portagpu.exporting.export import Wishes
from portagpu.exporting.languages import Language, write_export
from portagpu.version import __version__

pytestmark = [pytest.mark.opencl, pytest.mark.one_device]
GOLDEN = Path(__file__).parent / "exported"
UPDATE = os.environ.get("PORTAGPU_UPDATE_GOLDEN") == "1"
MANY = "float16[::1], bfloat16[:], complex64[::1], boolean[:], int64[:], complex128"
CASES = {
    "scaled": (None, Wishes(size=1000, numbers={"factor": 3})),
    "product": ("float32[:, ::1], float32[::1, :], float32[:, :]", Wishes(size=21, block=(8, 8))),
    "reversed_blocks": ("int32[::1]", Wishes(size=1024, block=64, shared=256)),
    "many_types": (MANY, Wishes(size=300, numbers={"w": 1 - 2j})),
    "checked": ("float32[::1], float32", Wishes(numbers={"limit": 2.0})),
    "warps": ("int32[::1]", Wishes(block=128)),
}


def written(name, folder):
    """The files of a case."""
    signature, wishes = CASES[name]
    return write_export(Language.OPENCL, folder, getattr(exported_kernels, name), signature=signature, wishes=wishes)


@pytest.mark.parametrize("name", CASES)
def test_texts_are_as_they_were(name, tmp_path):
    """``PORTAGPU_UPDATE_GOLDEN=1 pytest tests/exporting`` renews them."""
    for path in written(name, tmp_path):
        kept = GOLDEN / path.name
        text = path.read_text(encoding="utf-8").replace(__version__, "VERSION")
        if UPDATE:
            kept.write_text(text, encoding="utf-8")
        assert text == kept.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def compiler():
    """A C compiler that finds OpenCL's header and library."""
    found = shutil.which("cc") or shutil.which("gcc")
    if found is None:
        pytest.skip("there is no C compiler")
    probe = (
        "#define CL_TARGET_OPENCL_VERSION 120\n#include <CL/cl.h>\nint main(void) { return clGetPlatformIDs(0, 0, 0); }"
    )
    command = [found, "-x", "c", "-", "-o", os.devnull, "-lOpenCL"]
    if subprocess.run(command, input=probe, text=True, capture_output=True).returncode:
        pytest.skip("there is no OpenCL header or library for C programs (package ocl-icd-opencl-dev)")
    return found


def run(compiler, folder, name):
    """What the host program prints: first elements and sums by array; it may end with an error."""
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations"]
    source, program = f"{name}_host.c", f"./{name}_host"
    command = [compiler, "-std=c99", "-pedantic", *warnings, "-o", program, source, "-lOpenCL"]
    compiled = subprocess.run(command, cwd=folder, text=True, capture_output=True)
    assert compiled.returncode == 0, compiled.stderr
    return subprocess.run([program], cwd=folder, text=True, capture_output=True, timeout=300)


def pattern(shape, dtype, order="C"):
    """What the host program fills arrays with."""
    dtype = np.dtype(dtype)
    parts = 2 if dtype.kind == "c" else 1
    k = np.arange(int(np.prod(shape)) * parts)
    if dtype.kind == "c":
        flat = (0.25 * (k % 7)).astype(np.float32).view(dtype)
    elif dtype.kind == "b":
        flat = k % 2 == 1
    else:
        flat = (k % 7 if dtype.kind in "iu" else 0.25 * (k % 7)).astype(dtype)
    return flat.reshape(shape, order=order)


def expected(name):
    """The arrays after a launch from Python, by name."""
    kernel, (_, wishes) = getattr(exported_kernels, name), CASES[name]
    n = wishes.size
    if name == "scaled":
        x, y = pattern(n, np.float32), pattern(n, np.float32)
        kernel[4, 256](x, y, 3.0, n)
        return {"x": x, "y": y}
    if name == "product":
        a, b, c = pattern((n, n), np.float32), pattern((n, n), np.float32, "F"), pattern((n, n), np.float32)
        kernel[(3, 3), (8, 8)](a, b, c)
        return {"a": a, "b": b, "c": c}
    if name == "reversed_blocks":
        x = pattern(n, np.int32)
        kernel[16, 64, 0, 256](x)
        return {"x": x}
    if name == "warps":
        x = pattern(4096, np.int32)
        kernel[32, 128](x)
        return {"x": x}
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    h, b, z = pattern(n, np.float16), pattern(n, bfloat16), pattern(n, np.complex64)
    flags, counts = pattern(n, np.bool_), pattern(n, np.int64)
    kernel[2, 256](h, b, z, flags, counts, 1 - 2j)
    return {"h": h, "b": b, "z": z, "flags": flags, "counts": counts}


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", [name for name in CASES if name != "checked"])
def test_host_programs_print_what_python_computes(device, compiler, name, tmp_path):
    if name == "many_types" and not device.capabilities.fp64:
        pytest.skip("the device has no float64")
    written(name, tmp_path)
    ran = run(compiler, tmp_path, name)
    assert ran.returncode == 0, ran.stderr
    rows = re.findall(r"^(\w+): first (\S+), sum (\S+)$", ran.stdout, re.M)
    arrays = expected(name)
    assert [row[0] for row in rows] == list(arrays)
    for label, first, total in rows:
        flat = arrays[label].ravel(order="K")
        values = flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat.astype(np.float64)
        np.testing.assert_allclose(float(first), values[0], rtol=1e-6)
        np.testing.assert_allclose(float(total), values.astype(np.float64).sum(), rtol=1e-6)


def test_host_programs_tell_exceptions(compiler, tmp_path):
    written("checked", tmp_path)
    assert "the kernel raised" not in run(compiler, tmp_path, "checked").stderr
    wishes = Wishes(numbers={"limit": 1.0})
    kernel = exported_kernels.checked
    write_export(Language.OPENCL, tmp_path, kernel, signature="float32[::1], float32", wishes=wishes)
    ran = run(compiler, tmp_path, "checked")
    assert ran.returncode == 1
    assert re.search(r"the kernel raised ValueError in checked, line \d+", ran.stderr)


@cuda.jit
def waits(x):
    cuda.cg.this_grid().sync()
    x[0] = 1


@cuda.jit(cluster=2)
def together(x):
    cuda.cg.this_cluster().sync()
    x[0] = 1


@cuda.jit
def plain(x, n):
    x[n] = cuda.shfl_sync(-1, x[n], 0)


@pytest.mark.parametrize(
    "kernel, signature, wishes, error, text",
    [
        (plain, None, Wishes(), ArgumentCountError, "declares no signatures"),
        (plain, "int32[:]", Wishes(), ArgumentCountError, "the signature has 1 types"),
        (plain, "int33[:], int32", Wishes(), KernelTypeError, "the unknown type int33"),
        (plain, "int32, int32", Wishes(), KernelTypeError, "int32 has no items|cannot be indexed"),
        (plain, "int32[:], int32", Wishes(numbers={"m": 3}), ArgumentCountError, "no number called m"),
        (plain, "int32[:], int32", Wishes(numbers={"x": 3}), ArgumentCountError, "no number called x"),
        (plain, "int32[:], int32", Wishes(numbers={"n": "3"}), ArgumentTypeError, "is a number, not '3'"),
        (plain, "int32[:], int32", Wishes(block=2048), LaunchConfigError, "2048 threads is too large"),
        (plain, "int32[:], int32", Wishes(block=0), LaunchConfigError, "at least 1"),
        (waits, "int32[:]", Wishes(), UnsupportedError, "waits for its whole grid"),
        (together, "int32[:]", Wishes(), MissingCapabilityError, "cluster"),
    ],
)
def test_what_cannot_be_exported(kernel, signature, wishes, error, text, tmp_path):
    with pytest.raises(error, match=text):
        write_export(Language.OPENCL, tmp_path, kernel, signature=signature, wishes=wishes)
    assert not list(tmp_path.iterdir())


def test_files_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        written("scaled", tmp_path / "file")


@pytest.mark.parametrize("length", [240, 300])
def test_names_longer_than_those_of_files(length, tmp_path):
    (tmp_path / "long.py").write_text(f"from portagpu import cuda\n@cuda.jit\ndef {'k' * length}(x):\n    x[0] = 1\n")
    spec = importlib.util.spec_from_file_location("long_names", tmp_path / "long.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder, kernel = tmp_path / "out", getattr(module, "k" * length)
    if length < 255 - len("_host.c"):
        assert all(path.is_file() for path in write_export(Language.OPENCL, folder, kernel, signature="int32[::1]"))
        return
    with pytest.raises(StoreError, match="File name too long") as caught:
        write_export(Language.OPENCL, folder, kernel, signature="int32[::1]")
    assert caught.value.hint == "give the kernel a shorter name"
    words = [f"{tmp_path / 'long.py'}:{'k' * length}", "--signature", "int32[::1]", "--opencl", str(folder)]
    result = CliRunner().invoke(cli, ["export", *words])
    assert result.exit_code == 1 and "shorter name" in str(result.exception or result.output)


PROGRAM = """
from portagpu import cuda

@cuda.jit
def add(a, b, factor: cuda.constexpr):
    i = cuda.grid(1)
    if i < a.size:
        a[i] += factor * b[i]

@cuda.jit
def other(a):
    a[0] = 1

print("a line of the file's own")
"""


def command(*words):
    return CliRunner().invoke(cli, ["export", *map(str, words)])


def test_the_command(tmp_path):
    path, folder = tmp_path / "kernels.py", tmp_path / "out" / "there"
    path.write_text(PROGRAM)
    words = ["--signature", "float32[::1], float32[::1]", "--constant", "factor=3"]
    found = command(f"{path}:add", "--opencl", folder, *words, "--size", "77", "--block", "32")
    assert found.exit_code == 0, found.output
    assert found.stdout.split() == [str(folder / "add.cl"), str(folder / "add_host.c")]
    assert "// 8: a[i] += factor * b[i]" in (folder / "add.cl").read_text()
    host = (folder / "add_host.c").read_text()
    assert "#define SIZE 77" in host and "block[1] = {32}" in host
    before = (folder / "add.cl").read_text()
    assert command(f"{path}:add", "--opencl", folder, *words).exit_code == 0
    assert (folder / "add.cl").read_text() == before
    assert sorted(p.name for p in folder.iterdir()) == ["add.cl", "add_host.c"]


@pytest.mark.parametrize(
    "words, text",
    [
        (["{}:add"], "say a language and a folder"),
        (["{}", "--opencl", "out"], "has several kernels"),
        (["{}:adds", "--opencl", "out"], "did you mean `add`?"),
        (["missing.py:add", "--opencl", "out"], "missing.py is no Python file"),
        (["{}:add", "--opencl", "out", "--block", "a"], "is no block"),
        (["{}:add", "--opencl", "out", "--argument", "a"], "is no NAME=VALUE"),
    ],
)
def test_wrong_commands(words, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "kernels.py"
    path.write_text(PROGRAM)
    found = command(*(word.format(path) for word in words))
    assert found.exit_code != 0 and text in " ".join(found.output.split())
    assert not (tmp_path / "out").exists()


def test_files_that_cannot_be_run(tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("import nothing_of_that_name\n")
    found = command(f"{path}:add", "--opencl", tmp_path)
    assert found.exit_code == 1 and "cannot be imported" in str(found.exception)
