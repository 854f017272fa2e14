"""Numbers of exported kernels: they reach it as NumPy has them, and what a dtype does not hold is refused."""

from __future__ import annotations

import re
import shutil
import subprocess

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import ArgumentCountError, ArgumentTypeError, LaunchConfigError
from portagpu.exporting.export import Wishes
from portagpu.exporting.languages import Language, write_export

pytestmark = pytest.mark.one_device
NAN, INF = float("nan"), float("inf")
VALUES = {
    "boolean": (True, False, 1),
    "int8": (-128, 127, -3),
    "uint8": (0, 255, 200),
    "int16": (-(2**15), 2**15 - 1, -300),
    "uint16": (0, 2**16 - 1, 60000),
    "int32": (-(2**31), 2**31 - 1, 7.0),
    "uint32": (0, 2**32 - 1, 4_000_000_000),
    "int64": (-(2**63), 2**53, True),
    "uint64": (0, 2**63, 2**64 - 2**11),
    "float16": (0.5, 0.1, -70000.0),
    "bfloat16": (0.5, -1.0078125, NAN),
    "float32": (0.1, INF, -0.0),
    "float64": (0.1, 1e-300, np.float32(0.1)),
    "complex64": (1 - 2j, 0.1, complex(NAN, INF)),
    "complex128": (0.1 - 1e300j, -3, np.complex64(1j)),
}


@cuda.jit
def put(a, b, c, first, second, third):
    if cuda.grid(1) == 0:
        a[0] = first
        b[0] = second
        c[0] = third


@cuda.jit
def put_all(outs, numbers):
    if cuda.grid(1) == 0:
        outs[0][0] = numbers[0]
        outs[1][0] = numbers[1]
        outs[2][0] = numbers[2]
        outs[3][0] = numbers[3]
        outs[4][0] = numbers[4]
        outs[5][0] = numbers[5]
        outs[6][0] = numbers[6]
        outs[7][0] = numbers[7]
        outs[8][0] = numbers[8]
        outs[9][0] = numbers[9]
        outs[10][0] = numbers[10]
        outs[11][0] = numbers[11]
        outs[12][0] = numbers[12]
        outs[13][0] = numbers[13]
        outs[14][0] = numbers[14]


def written(language, kind, numbers, folder, size=1):
    signature = ", ".join([f"{kind}[::1]"] * 3 + [kind] * 3)
    return write_export(language, folder, put, signature=signature, wishes=Wishes(size=size, numbers=numbers))


def held(kind, value):
    """The parts that an element of the dtype has, as floats."""
    name = "bool" if kind == "boolean" else kind
    if kind == "bfloat16":
        name = pytest.importorskip("ml_dtypes").bfloat16
    with np.errstate(over="ignore"):
        one = np.asarray(value).astype(name)
    return [float(one.real), float(one.imag)] if one.dtype.kind == "c" else [float(one)]


@pytest.fixture(scope="module")
def compiled():
    """What compiles a C or C++ program, and gives what it prints."""
    found = {"c": shutil.which("gcc") or shutil.which("cc"), "c++": shutil.which("g++") or shutil.which("c++")}

    def run(language, text, folder, *libraries):
        if found[language] is None:
            pytest.skip(f"there is no compiler of {language}")
        flags = ["-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations", "-Wno-unused-variable"]
        standard = ["-std=c99", "-pedantic"] if language == "c" else ["-std=c++17"]
        command = [found[language], *standard, *flags, "-x", language, "-", "-o", "program", *libraries]
        made = subprocess.run(command, cwd=folder, input=text, text=True, capture_output=True)
        assert made.returncode == 0, made.stderr
        ran = subprocess.run(["./program"], cwd=folder, text=True, capture_output=True, timeout=300)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    return run


@pytest.mark.opencl
@pytest.mark.parametrize("which", range(3))
def test_opencl_kernels_get_them(device, compiled, which, tmp_path):
    if not device.capabilities.fp64:
        pytest.skip("the device has no float64")
    if "CL/cl.h" not in compiled("c", _HEADER, tmp_path):
        pytest.skip("there is no OpenCL header for C programs")
    values = [values[which] for values in VALUES.values()]
    signature = f"Tuple(({', '.join(f'{kind}[::1]' for kind in VALUES)})), Tuple(({', '.join(VALUES)}))"
    wishes = Wishes(size=1, numbers={f"numbers_{n}": value for n, value in enumerate(values)})
    _, host = write_export(Language.OPENCL, tmp_path, put_all, signature=signature, wishes=wishes)
    printed = compiled("c", host.read_text(encoding="utf-8"), tmp_path, "-lOpenCL")
    rows = re.findall(r"^outs_\d+: first (\S+), sum (\S+)$", printed, re.M)
    for (first, total), kind, value in zip(rows, VALUES, values, strict=True):
        parts = held(kind, value)
        np.testing.assert_allclose(float(first), parts[0], rtol=1e-8, err_msg=kind)
        np.testing.assert_equal(float(total), sum(parts), err_msg=kind)


_HEADER = """#include <stdio.h>
int main(void) {
#if defined(__has_include)
#if __has_include(<CL/cl.h>)
    puts("CL/cl.h");
#endif
#endif
    return 0;
}
"""


@pytest.mark.parametrize("kind", VALUES)
def test_sycl_programs_have_them(compiled, kind, tmp_path):
    values = VALUES[kind]
    _, program = written(Language.SYCL, kind, dict(zip(("first", "second", "third"), values, strict=True)), tmp_path)
    found = re.findall(
        r"^static const .* ((?:first|second|third)_value)(\[2\])? = .*;$", program.read_text(encoding="utf-8"), re.M
    )
    lines = re.findall(r"^static const .*_value(?:\[2\])? = .*;$", program.read_text(encoding="utf-8"), re.M)
    shown = [f"{name}[{n}]" if pair else name for name, pair in found for n in range(2 if pair else 1)]
    prints = "".join(f'    std::printf("%.17g\\n", (double){name});\n' for name in shown)
    text = "\n".join(["#include <cmath>", "#include <cstdio>", *lines, f"int main() {{\n{prints}}}\n"])
    wanted = [part for value in values for part in held(kind, value)]
    np.testing.assert_equal([float(line) for line in compiled("c++", text, tmp_path).split()], wanted)


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("language", Language)
def test_what_nobody_says_fits(kind, language, tmp_path):
    """Sizes of arrays, where a dtype holds them."""
    paths = written(language, kind, {}, tmp_path, 70000)
    text = paths[1].read_text(encoding="utf-8")
    (value,) = re.findall(r"first_value(?:\[2\])? (?:= (?:\(.*?\))?)?(.*?);?$", text, re.M)[:1]
    most = {"int8": "127", "uint8": "255", "int16": "32767", "uint16": "65535", "boolean": "1"}
    if kind in most:
        assert value == most[kind]
    elif kind.startswith(("int", "uint")):
        assert value.lower() == "size"
    else:
        assert "0.5" in value


@pytest.mark.parametrize(
    "kind, value",
    [
        *((kind, 2.5) for kind in VALUES if kind[0] in "iu"),
        *((kind, -129) for kind in ("int8", "uint8", "uint16", "uint64", "boolean")),
        *((kind, 2**64) for kind in VALUES if kind[0] in "iub" and kind != "bfloat16"),
        *((kind, 1j) for kind in VALUES if kind[0] != "c"),
        *((kind, wrong) for kind in ("int32", "boolean") for wrong in (NAN, INF, -INF)),
        *((kind, 10**400) for kind in VALUES),
        *((kind, wrong) for kind in ("int32", "float32") for wrong in ("1", b"1", None, [1], (1,), np.ones(1), ...)),
    ],
)
def test_what_does_not_fit(kind, value, tmp_path):
    with pytest.raises(ArgumentTypeError, match="`first` of `put` is") as caught:
        written(Language.OPENCL, kind, {"first": value}, tmp_path)
    assert caught.value.hint and len(str(caught.value)) < 300
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("size, error", [(0, LaunchConfigError), (-3, LaunchConfigError), (2.0, LaunchConfigError)])
def test_sizes(size, error, tmp_path):
    with pytest.raises(error, match="size"):
        write_export(
            Language.OPENCL, tmp_path, put, signature="int32[::1], " * 3 + "int32, " * 3, wishes=Wishes(size=size)
        )


@cuda.jit(debug=True, opt=False)
def named_alike(raised, float16, pair, pair_0, größe):
    if cuda.grid(1) == 0:
        raised[0] = float16 + pair[0] + pair_0 + größe
        if raised[0] < 0:
            raise ValueError


@pytest.mark.opencl
def test_names_that_host_programs_have_themselves(device, compiled, tmp_path):
    if "CL/cl.h" not in compiled("c", _HEADER, tmp_path):
        pytest.skip("there is no OpenCL header for C programs")
    signature = "float16[::1], float32, Tuple((float32, int32)), float32, float32"
    numbers = {"float16": 1, "pair_0": 2, "größe": 4}
    with pytest.raises(ArgumentCountError, match="no number called rho"):
        write_export(
            Language.OPENCL, tmp_path, named_alike, signature=signature, wishes=Wishes(numbers={**numbers, "rho": 1})
        )
    wishes = Wishes(size=1, numbers=numbers)
    _, host = write_export(Language.OPENCL, tmp_path, named_alike, signature=signature, wishes=wishes)
    printed = compiled("c", host.read_text(encoding="utf-8"), tmp_path, "-lOpenCL")
    assert float(re.search(r"sum (\S+)", printed)[1]) == 1 + 2 + 2 + 4  # the name stands for both
