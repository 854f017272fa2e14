"""Programs for drivers that declare the whole library before each: they are compiled with declarations of their own."""

from pathlib import Path

import pytest

from portagpu import cuda
from portagpu.backends.opencl import declarations, programs
from portagpu.backends.opencl.declarations import NO_HEADER, with_own_declarations
from portagpu.device import working_devices
from portagpu.errors import BuildError

pytestmark = pytest.mark.opencl
VECTORS = """
__kernel void k(__global float4 *a, __global int *e) {
    float4 x = a[0];
    int4 which = isnan(x);
    if (any(which) && !all(which)) x = select(x, (float4)(0.0f), which);
    a[0] = shuffle(x, (uint4)(3, 2, 1, 0));
    int own;
    a[1].x = frexp(x.x, &own) + frexp(x.y, e);
    e[1] = own;
}
"""
GOLDEN = sorted(Path(__file__).parents[2].joinpath("golden").glob("*.cl"))
SMOOTH = "__kernel void smooth(__global float *a) { a[0] = smoothstep(0.0f, 1.0f, a[0]); }"


@pytest.fixture
def driver():
    """That of the device whose driver does so, which few tests of all devices meet."""
    for device in working_devices():
        if device.capabilities.declares_all:
            with cuda.select_device(device):
                yield cuda.current_context().driver
            return
    pytest.skip("no driver's header takes time")


def without_header(driver, source):
    return programs._without_header(driver._context, driver.device, source, ("-w",))


def test_kernels_need_no_header(driver):
    texts = {path.stem: path.read_text(encoding="utf-8") for path in GOLDEN}
    has_halves = driver.device.capabilities.fp16
    compiling = {name for name, text in texts.items() if has_halves or "cl_khr_fp16" not in text}
    compiling -= {name for name in compiling if name.startswith("subgroup_products")}  # functions that few drivers have
    assert len(compiling) > 20 or has_halves
    assert [name for name in compiling if without_header(driver, texts[name]) is None] == []


def test_declarations_are_those_of_the_header(driver, monkeypatch):
    """A compiler refuses a function that is declared with two results."""
    kinds = (*declarations._INTEGERS, *declarations._FLOATS)
    numbers = [f"convert_{kind}{width}_rte" for kind in kinds for width in declarations._WIDTHS]
    vectors = [f"{name}{width}" for name in ("vload", "vstore") for width in declarations._WIDTHS[1:]]
    accesses = ("vload_half", "vloada_half", "vstore_half", "vstorea_half")
    halves = [f"{name}{width}" for name in accesses for width in declarations._WIDTHS]
    names = [*declarations._FUNCTIONS, *numbers, *vectors, *halves, "vstore_half_rte"]
    text = f"{with_own_declarations(' '.join(names)).partition('#line')[0]}__kernel void nothing(void) {{}}"
    assert driver.compile(text, ("-w", NO_HEADER), (), apart=False).program is not None
    monkeypatch.setattr(programs, "_with_headers", {driver.device.key})
    assert driver.compile(text, ("-w",), (), apart=False).program is not None


def test_accesses_of_halves_need_no_header(driver):
    accesses = "vstorea_half8(vloada_half8(0, a) + vload_half8(1, a), 2, a);"
    assert without_header(driver, f"__kernel void k(__global half *a) {{ {accesses} }}") is not None


def test_functions_with_results_in_memory_and_of_vectors(driver):
    assert without_header(driver, VECTORS) is not None


def test_names_in_texts_and_comments_are_no_calls():
    text = with_own_declarations('/* sin */ __kernel void k(void) { printf("cos"); } // tan')
    assert not any(f" {name}(" in text for name in ("sin", "cos", "tan"))
    assert " exp(" in with_own_declarations("exp (x)")


def test_a_function_that_is_not_known_takes_the_header(driver):
    assert without_header(driver, SMOOTH) is None
    assert driver.compile(SMOOTH, ("-w",), (), apart=False).program is not None


def test_errors_are_those_of_the_program_as_it_is(driver):
    with pytest.raises(BuildError) as caught:
        driver.compile("__kernel void k(void) {\n  nowhere();\n}", ("-w",), (), apart=False)
    assert ":2:" in caught.value.log and "nowhere" in caught.value.log


def test_a_driver_with_types_in_its_header_is_not_asked_again(driver, monkeypatch):
    monkeypatch.setattr(programs, "_with_headers", {driver.device.key})
    assert without_header(driver, GOLDEN[0].read_text(encoding="utf-8")) is None
