"""Names that OpenCL C, its headers and drivers own, each used by a Python program in every place that takes a name."""

import builtins
import importlib.util
import keyword
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from portagpu import cuda
from portagpu.backends.c_family.names import Names, distinct, identifier
from portagpu.dtypes import FLOAT32
from portagpu.ir.types import INT, Scalar

pytestmark = pytest.mark.one_device

_SCALARS = "char uchar short ushort int uint long ulong half float double bool".split()
_WORDS = """
auto break case const continue default do else enum extern for goto if inline register restrict return signed sizeof
static struct switch typedef union unsigned void volatile while kernel global local constant private generic read_only
write_only read_write uniform pipe quad complex imaginary size_t ptrdiff_t intptr_t uintptr_t event_t sampler_t queue_t
ndrange_t clk_event_t reserve_id_t image1d_t image2d_t image3d_t main asm typeof linux unix i386 NULL true false this
new class template typename namespace operator public virtual delete catch throw try using friend explicit export
nullptr static_assert alignas alignof thread_local constexpr decltype noexcept wchar_t and_eq bitand compl xor_eq
FLT_MAX FLT_MIN FLT_EPSILON FLT_DIG FLT_RADIX DBL_MAX DBL_MIN DBL_EPSILON HALF_MAX CHAR_BIT CHAR_MAX SCHAR_MIN
SHRT_MAX INT_MAX INT_MIN UINT_MAX LONG_MAX ULONG_MAX MAXFLOAT HUGE_VAL HUGE_VALF INFINITY NAN M_E M_E_F M_PI M_PI_F
M_PI_2 M_PI_4 M_LN2 M_LN10 M_LOG2E M_SQRT2 M_SQRT1_2 M_1_PI M_2_SQRTPI CLK_LOCAL_MEM_FENCE CLK_GLOBAL_MEM_FENCE
CL_VERSION_1_2 FP_FAST_FMA FP_ILOGB0 kernel_exec memory_order_seq_cst memory_scope_device ATOMIC_VAR_INIT
cl_khr_fp64 cl_khr_fp16 cl_khr_int64_base_atomics cl_intel_subgroups __OPENCL_VERSION__ __FILE_ __LINE_ _Bool I
acos acosh acospi asin asinh atan atan2 atanpi cbrt ceil copysign cos cosh cospi erf erfc exp exp2 exp10 expm1 fabs fdim
floor fma fmax fmin fmod fract frexp hypot ilogb ldexp lgamma lgamma_r log log2 log10 log1p logb mad maxmag minmag modf
nan nextafter pow pown powr remainder remquo rint rootn round rsqrt sin sincos sinh sinpi sqrt tan tanh tanpi tgamma
trunc half_cos native_cos abs abs_diff add_sat hadd rhadd clamp clz ctz mad_hi mad_sat max min mul_hi rotate sub_sat
upsample popcount mad24 mul24 degrees mix radians step smoothstep sign cross dot distance length normalize
fast_distance fast_length fast_normalize isequal isnotequal isgreater isless islessgreater isfinite isinf isnan isnormal
isordered isunordered signbit any all bitselect select vload4 vstore4 vload_half barrier mem_fence read_mem_fence
async_work_group_copy wait_group_events prefetch atomic_add atom_add atomic_cmpxchg vec_step shuffle shuffle2 printf
read_imagef write_imagef get_image_width get_global_id get_local_size get_num_groups work_group_barrier
sub_group_reduce_add as_int as_float4 convert_int convert_float4_rte dot_4x8packed_ss_int bit_reverse
"""
_SPECIAL = "pg_warp pg_const0 pg_blockDim_x t1 i1 x_n0 n_0 a_0_1 item0 cells name_ name__ _x".split()
_UNICODE = ["größe", "δ", "β1", "数"]


def _owned_by_headers():
    """Macros, functions and types in the header of the installed clang; nothing where there is none."""
    clang = next((p for n in range(22, 13, -1) if (p := shutil.which(f"clang-{n}"))), None)
    if clang is None:
        return set()
    options = [clang, "-x", "cl", "-cl-std=CL3.0", "-Xclang", "-finclude-default-header", "-E", "-dM", "/dev/null"]
    macros = subprocess.run(options, capture_output=True, text=True, check=True).stdout
    folder = subprocess.run([clang, "-print-resource-dir"], capture_output=True, text=True, check=True).stdout.strip()
    text = "".join(Path(folder, "include", name).read_text() for name in ("opencl-c-base.h", "opencl-c.h"))
    found = re.findall(r"#define\s+(\w+)", macros + text) + re.findall(r"\b([A-Za-z_]\w*)\s*[;(]", text)
    return {name for name in found if len(name) > 1}  # those of one letter are parameters


def _names():
    vectors = [f"{t}{n}" for t in _SCALARS for n in (2, 3, 4, 8, 16)]
    found = [*_WORDS.split(), *_SCALARS, *vectors, *_SPECIAL, *_UNICODE]
    return [n for n in dict.fromkeys(found) if n.isidentifier() and not keyword.iskeyword(n)]


NAMES = _names()


def test_no_identifier_is_owned_by_a_header():
    owned = _owned_by_headers()
    if not owned:
        pytest.skip("no clang")
    assert "smoothstep" in owned and "M_PI_F" in owned
    assert not {n for n in owned | set(NAMES) if identifier(n) in owned}


def test_identifiers_of_one_scope_differ():
    names = Names()
    found = [names(n, INT) for n in NAMES] + [names("x", Scalar(FLOAT32)), names("sin_", INT), names("sin.shared", INT)]
    assert len(set(found)) == len(found)
    assert all(re.fullmatch(r"[A-Za-z]\w*", text, re.ASCII) for text in found)
    several = distinct(["f", "f.1", "f_1", "δ", "u3b1", "pg.f", "f.shared"])
    assert len(set(several.values())) == len(several)


def _program(tmp_path, text):
    path = tmp_path / "program.py"
    path.write_text(f"import numpy as np\nfrom portagpu import cuda\n\n\n{text}", encoding="utf-8")
    spec = importlib.util.spec_from_file_location("program_of_names", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_variables(device, tmp_path):
    lines = [f"    {name} = out[{n}] + {n}\n" for n, name in enumerate(NAMES)]
    lines += [f"    out[{n}] = {name} * 2\n" for n, name in enumerate(NAMES)]
    module = _program(tmp_path, f"@cuda.jit\ndef kernel(out):\n{''.join(lines)}")
    out = np.zeros(len(NAMES), np.int32)
    module.kernel[1, 1](out)
    assert np.array_equal(out, 2 * np.arange(len(NAMES)))


def test_device_functions_and_their_parameters(device, tmp_path):
    names = [n for n in NAMES if n not in ("out", "cuda", "np", "kernel") and not hasattr(builtins, n)]
    text = "".join(
        f"@cuda.jit(device=True)\ndef {name}({other}):\n    return {other} + {n}\n\n\n"
        for n, (name, other) in enumerate(zip(names, reversed(names), strict=True))
    )
    calls = "".join(f"    out[{n}] = {name}(out[{n}])\n" for n, name in enumerate(names))
    module = _program(tmp_path, f"{text}@cuda.jit\ndef kernel(out):\n{calls}")
    out = np.ones(len(names), np.int32)
    module.kernel[1, 1](out)
    assert np.array_equal(out, 1 + np.arange(len(names)))


def test_parameters_of_kernels_and_shared_arrays(device, tmp_path):
    names = [n for n in NAMES if n not in ("out", "cuda", "np")]
    half = len(names) // 2
    scalars, arrays = names[:half], names[half : half + 40]
    text = f"@cuda.jit\ndef kernel(out, {', '.join(scalars)}):\n"
    for n, name in enumerate(arrays):
        text += f"    {name} = cuda.{'shared' if n % 2 else 'local'}.array(3, np.int32)\n    {name}[out[0]] = {n}\n"
    text += "".join(f"    out[{n}] = {name}\n" for n, name in enumerate(scalars))
    text += "".join(f"    out[{half + n}] = {name}[0]\n" for n, name in enumerate(arrays))
    module = _program(tmp_path, text)
    out = np.zeros(half + len(arrays), np.int32)
    module.kernel[1, 1](out, *range(half))
    assert np.array_equal(out, [*range(half), *range(len(arrays))])


def test_fields_of_records(device, tmp_path):
    names = [n for n in NAMES if not n.startswith("__")]
    record = np.zeros(2, [(name, np.float32) for name in names])
    reads = "".join(f"    r[1].{name} = r[0].{name} + {n}\n" for n, name in enumerate(names) if n % 3 == 0)
    module = _program(tmp_path, f"@cuda.jit\ndef kernel(r):\n{reads}")
    module.kernel[1, 1](record)
    assert [record[1][name] for name in names[::3]] == list(range(0, len(names), 3))


_KERNELS = "smoothstep uint main kernel tanh FLT_MAX ctz isless read_imagef vload4 __FILE_ δ float4 linux x pg_warp"


@pytest.mark.parametrize("name", _KERNELS.split())
def test_kernels(device, tmp_path, name):
    module = _program(tmp_path, f"@cuda.jit\ndef {name}(x):\n    x[0] += 1\n")
    x = np.zeros(1)
    kernel = getattr(module, name)
    kernel[1, 1](x)
    assert x[0] == 1 and kernel.__name__ == name
    (text,) = kernel.inspect_opencl().values()
    assert f"def {name}(" in text or not name.isascii()


@cuda.jit(device=True)
def shared_name(v):
    return v + 1


def test_a_device_function_has_the_name_of_its_kernel(device):
    inner = shared_name

    def make():
        @cuda.jit
        def shared_name(x):
            x[0] = inner(x[0])

        return shared_name

    x = np.zeros(1)
    make()[1, 1](x)
    assert x[0] == 1


def test_a_function_that_ends_like_a_copy_of_another(device):
    def make(add):
        @cuda.jit(device=True)
        def f(v):
            return v + add

        return f

    first, second = make(1), make(10)

    @cuda.jit(device=True)
    def f_1(v):
        return v + 100

    @cuda.jit
    def kernel(x):
        x[0] = first(x[0]) + second(x[0]) + f_1(x[0])

    x = np.zeros(1)
    kernel[1, 1](x)
    assert x[0] == 111


def test_elements_of_a_local_array_and_a_variable_of_that_name(device):
    @cuda.jit
    def kernel(x):
        acc = cuda.local.array((2, 2), np.float64)
        acc_0_1 = x[0] + 5
        a = cuda.local.array(2, np.float64)
        a_0 = x[0] + 7
        acc[0, 1] = 1
        acc[0, 0] = 2
        a[0] = 3
        x[0] = acc_0_1 + 10 * acc[0, 1] + 100 * acc[0, 0] + 1000 * a[0] + 10000 * a_0

    x = np.zeros(1)
    kernel[1, 1](x)
    assert x[0] == 5 + 10 + 200 + 3000 + 70000


@pytest.mark.parametrize("name", ["k" * 300, "δ" * 120])
def test_long_names_of_kernels(device, tmp_path, name):
    """Drivers name files after kernels: PoCL ends the process where such a name is too long."""
    module = _program(tmp_path, f"@cuda.jit\ndef {name}(out):\n    out[0] = 1\n")
    out = np.zeros(1)
    getattr(module, name)[1, 1](out)
    assert out[0] == 1
    assert len(identifier(name)) <= 130 and identifier(name) != identifier(f"{name}x")
