"""Kernels exported as SYCL: the run-time compiler takes the header and runs it, a C++ compiler takes the program."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import exported_kernels
import exported_sycl_kernels
import numpy as np
import pytest
import sycl_exports
from click.testing import CliRunner
from sycl_devices import REQUIRED, WORKING

from portagpu import cuda
from portagpu.backends.registry import named
from portagpu.blas.gemm.core.kernel_arguments import ALPHA_AND_BETA, Epilogue, Extents, Factors, Matrix, Split
from portagpu.blas.gemm.variants.tile.kernels import TilePlan, multiply_tiles
from portagpu.cli import cli
from portagpu.dtypes import FLOAT32, INT32
from portagpu.errors import LaunchConfigError, MissingCapabilityError, UnsupportedError
from portagpu.exporting import sycl
from portagpu.exporting.export import Wishes, export
from portagpu.exporting.languages import Language, write_export
from portagpu.ir.types import ArrayType, ConstantType, Layout, Scalar, TupleType
from portagpu.settings import Settings
from portagpu.version import __version__

pytestmark = pytest.mark.one_device
GOLDEN = Path(__file__).parent / "exported_sycl"
UPDATE = os.environ.get("PORTAGPU_UPDATE_GOLDEN") == "1"
MANY = "float16[::1], bfloat16[:], complex64[::1], boolean[:], int64[:], complex128"
CASES = {
    "scaled": (None, Wishes(size=1000, numbers={"factor": 3})),
    "product": ("float32[:, ::1], float32[::1, :], float32[:, :]", Wishes(size=21, block=(8, 8))),
    "reversed_blocks": ("int32[::1]", Wishes(size=1024, block=64, shared=256)),
    "many_types": (MANY, Wishes(size=300, numbers={"w": 1 - 2j})),
    "checked": ("float32[::1], float32", Wishes(numbers={"limit": 2.0})),
    "warps": ("int32[::1]", Wishes(block=128)),
    "counts": (None, Wishes(size=3000)),
    "turned": (None, Wishes(size=45)),
    "prints": (None, Wishes(size=100)),
}


def kernel_of(name):
    return getattr(exported_kernels, name, None) or getattr(exported_sycl_kernels, name)


def written(name, folder):
    """The files of a case."""
    signature, wishes = CASES[name]
    return write_export(Language.SYCL, folder, kernel_of(name), signature=signature, wishes=wishes)


@pytest.mark.parametrize("name", CASES)
def test_texts_are_as_they_were(name, tmp_path):
    """``PORTAGPU_UPDATE_GOLDEN=1 pytest tests/exporting`` renews them."""
    for path in written(name, tmp_path):
        kept = GOLDEN / path.name
        text = path.read_text(encoding="utf-8").replace(__version__, "VERSION")
        if UPDATE:
            kept.write_text(text, encoding="utf-8")
        assert text == kept.read_text(encoding="utf-8")
        assert "syclexp" not in text or name == "prints"


@pytest.fixture(scope="module")
def driver():
    """An open driver for a SYCL device."""
    if not WORKING:
        pytest.skip("no SYCL device: pip install 'portagpu[sycl]', and a C++ compiler")
    found = named("sycl").discover(Settings.from_environment(), fresh=False, renumber=False).records
    opened = named("sycl").open(next(record for record in found if record.problem is None))
    yield opened
    opened.close()


def run(driver, kernel, signature, wishes, arrays, numbers, threads=None):
    """The arrays after a launch of an exported header's kernel."""
    made = export(kernel, backend=sycl.BACKEND, caps=sycl.PORTABLE, signature=signature, wishes=wishes)
    header = sycl.texts(made)[f"{made.name}.hpp"]
    namespace = re.search(r"^namespace (\w+) \{", header, re.M)[1]
    return sycl_exports.run(driver, made, sycl_exports.wrapped(made, header, namespace), arrays, numbers, threads)


def random(shape, dtype=np.float32, order="C"):
    return np.asarray(np.random.default_rng(1).integers(0, 9, shape), dtype, order=order)


def arrays_of(name):
    """Arrays before a launch, numbers, and the arrays that it changes."""
    if name == "scaled":
        x = random(1000)
        return (
            {"x": x, "y": random(1000)},
            {"factor": 3.0, "n": 900},
            {"y": np.where(np.arange(1000) < 900, 3 * x + np.sqrt(x), random(1000))},
        )
    if name == "product":
        a, b = random((21, 21)), random((21, 21), order="F")
        return {"a": a, "b": b, "c": random((21, 21))}, {}, {"c": a @ b}
    if name == "reversed_blocks":
        x = random(1024, np.int32)
        return {"x": x}, {}, {"x": x.reshape(16, 64)[:, ::-1].ravel()}
    if name == "many_types":
        bits = np.arange(1, 301, dtype=np.float32) % 99
        h, z, flags = random(300, np.float16), random(300, np.complex64), random(300, np.bool_)
        arrays = {"h": h, "b": _bfloat16(bits), "z": z, "flags": flags, "counts": np.zeros(300, np.int64)}
        counts = np.zeros(300, np.int64)
        counts[0] = np.arange(300).sum()
        changed = {"h": h * 2, "z": z * (1 - 2j), "flags": ~flags, "counts": counts, "b": _bfloat16(bits + 1)}
        return arrays, {"w": 1 - 2j}, changed
    if name == "checked":
        x = random(500)
        return {"x": x}, {"limit": 20.0}, {"x": x + 1}
    if name == "warps":
        x = random(1024, np.int32)
        lanes = np.arange(1024)
        return {"x": x}, {}, {"x": x[np.where(lanes % 32 == 31, lanes, lanes + 1) % 1024]}
    if name == "counts":
        x = random(3000)
        return (
            {"x": x, "bins": np.zeros(16, np.int32)},
            {},
            {"bins": np.bincount((x * 4).astype(int) % 16, minlength=16)},
        )
    a, z = random((45, 45)), random((45, 45), np.complex64)
    weights = exported_sycl_kernels.WEIGHTS[np.arange(45) % 4]
    turns = exported_sycl_kernels.TURNS[np.arange(45) % 4]
    return {"a": a, "z": z}, {}, {"a": (a + weights) * (a - weights), "z": z * turns[:, None]}


def _bfloat16(values):
    """Whole numbers below 512 as bits."""
    return (values.view(np.uint32) >> 16).astype(np.uint16)


@pytest.mark.parametrize("name", [name for name in CASES if name != "prints"])
def test_headers_compute_what_numpy_does(driver, name):
    signature, wishes = CASES[name]
    arrays, numbers, expected = arrays_of(name)
    found = run(driver, kernel_of(name), signature, wishes, arrays, numbers)
    for label, array in arrays.items():
        np.testing.assert_allclose(found[label], expected.get(label, array), rtol=1e-6)


def test_headers_print(driver):
    x = np.arange(100, dtype=np.float32)
    found = run(driver, exported_sycl_kernels.prints, None, Wishes(), {"x": x}, {"limit": 2.0})
    assert found["x"][0] == 198 and (found["x"][1:] == x[1:]).all()


def test_tiles_of_the_library(driver, monkeypatch):
    def of(fields, *items):
        return TupleType(items, fields._fields)

    flat, n, number, four = ArrayType(Scalar(FLOAT32), 2, Layout.C), Scalar(INT32), Scalar(FLOAT32), cuda.float32x4
    plan = TilePlan(16, 16, 4, 4, 4, 1, 4, four, False, False, False, True, True, False, 4)
    matrices = (of(Matrix, flat, n, n),) * 3
    rest = (of(Extents, n, n, n), n, of(Split, n, n), of(Factors, number, number, ConstantType(None)))
    constants = map(ConstantType, (plan, Epilogue(ALPHA_AND_BETA, four, four)))
    types = (*matrices, ConstantType(None), *rest, *constants)
    monkeypatch.setattr(type(multiply_tiles), "types_for", lambda *ignored: types)
    a, b, c = random((32, 32)), random((32, 32)).T.copy(), random((32, 32))
    numbers = {f"{name}_{field}": value for name in "abc" for field, value in (("pitch", 32), ("batch", 1024))}
    numbers |= {"extents_m": 32, "extents_n": 32, "extents_k": 32, "batch": 1, "split_count": 1, "split_terms": 32}
    numbers |= {"factors_alpha": 0.5, "factors_beta": 2.0}
    arrays = {"a_memory": a, "b_memory": b, "c_memory": c}
    found = run(driver, multiply_tiles, None, Wishes(block=16), arrays, numbers, threads=4 * 16)
    np.testing.assert_allclose(found["c_memory"], 0.5 * (a @ b) + 2 * c, rtol=1e-6)


@pytest.fixture(scope="module")
def compiler():
    """A C++ compiler, and the folder of SYCL's headers."""
    found, headers = shutil.which("g++"), Path(sys.prefix) / "include"
    if found is None or not (headers / "sycl" / "sycl.hpp").is_file():
        assert not REQUIRED, "there is no g++, or no header of SYCL's in this environment"
        pytest.skip("there is no g++, or no header of SYCL's in this environment")
    return [found, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-Wno-attributes", "-isystem", str(headers)]


@pytest.mark.parametrize("name", ["product", "many_types", "checked", "turned"])
def test_programs_compile(compiler, name, tmp_path):
    written(name, tmp_path)
    command = [*compiler, "-fsyntax-only", f"{name}_main.cpp"]
    compiled = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True)
    assert compiled.returncode == 0, compiled.stderr


def test_headers_go_together(compiler, tmp_path):
    names = ["scaled", "reversed_blocks", "warps", "counts", "prints"]
    for name in names:
        written(name, tmp_path)
    text = "".join(f'#include "{name}.hpp"\n' for name in (*names, *names))
    command = [*compiler, "-fsyntax-only", "-x", "c++", "-"]
    compiled = subprocess.run(command, input=text, cwd=tmp_path, text=True, capture_output=True)
    assert compiled.returncode == 0, compiled.stderr


@cuda.jit
def waits(x):
    cuda.cg.this_grid().sync()
    x[0] = 1


@cuda.jit(cluster=2)
def together(x):
    cuda.cg.this_cluster().sync()
    x[0] = 1


@pytest.mark.parametrize(
    "kernel, wishes, error, text",
    [
        (waits, Wishes(), UnsupportedError, "waits for its whole grid"),
        (together, Wishes(), MissingCapabilityError, "cluster"),
        (exported_kernels.warps, Wishes(block=2048), LaunchConfigError, "2048 threads is too large"),
    ],
)
def test_what_cannot_be_exported(kernel, wishes, error, text, tmp_path):
    with pytest.raises(error, match=text):
        write_export(Language.SYCL, tmp_path, kernel, signature="int32[:]", wishes=wishes)
    assert not list(tmp_path.iterdir())


def test_the_command(tmp_path):
    path, folder, other = tmp_path / "kernels.py", tmp_path / "out", tmp_path / "other"
    path.write_text("from portagpu import cuda\n\n@cuda.jit\ndef add(a, b):\n    i = cuda.grid(1)\n    a[i] += b[i]\n")
    words = ["--signature", "float32[::1], float32[::1]", "--size", "77", "--block", "32"]
    found = CliRunner().invoke(cli, ["export", f"{path}:add", "--sycl", str(folder), "--opencl", str(other), *words])
    assert found.exit_code == 0, found.output
    assert sorted(p.name for p in folder.iterdir()) == ["add.hpp", "add_main.cpp"]
    assert "// 6: a[i] += b[i]" in (folder / "add.hpp").read_text() and len(list(other.iterdir())) == 2
    program = (folder / "add_main.cpp").read_text()
    assert "size = 77;" in program and "block(1, 1, 32);" in program
