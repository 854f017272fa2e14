"""`portagpu.benchmark` and ``portagpu bench FILE.py:KERNEL``: kernels of users, verified by what they expect."""

from __future__ import annotations

import json
import textwrap

import numpy as np
import pytest
from click.testing import CliRunner

import portagpu
from portagpu import cuda
from portagpu.bench.own_kernels import shown
from portagpu.bench.own_kernels.comparison import error_of
from portagpu.bench.records.cell import Status
from portagpu.bench.records.files import load
from portagpu.cli import cli
from portagpu.errors import ArgumentTypeError, DeviceError, KernelNameError
from portagpu.runtime.execution.context import Context

pytestmark = [pytest.mark.one_device, pytest.mark.usefixtures("short_turns")]


@cuda.jit
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]


def by_numpy(a, x, y):
    y += a * x


@pytest.fixture
def arguments():
    x = np.linspace(0, 1, 300, dtype=np.float32)
    return np.float32(2), x, x[::-1].copy()


def test_a_kernel_is_measured_and_counted(device, arguments, tmp_path):
    _, x, y = arguments
    with Context.for_device(device):
        on_device = cuda.to_device(y)
        found = portagpu.benchmark(saxpy[2, 256], arguments[0], cuda.to_device(x), on_device, expected=by_numpy)
        assert np.array_equal(on_device.copy_to_host(), y)  # a copy was changed
    assert found.error <= 1 and found.seconds > 0 and found.interval[0] <= found.seconds <= found.interval[1]
    assert (found.work.flops, found.work.touched_bytes) == (600, 3600)
    assert found.gflops == pytest.approx(600 / found.seconds / 1e9)
    assert found.gbytes == pytest.approx(3600 / found.seconds / 1e9)
    assert "saxpy on" in repr(found) and "GB/s" in repr(found) and "0.1667 FLOP/byte" in repr(found)
    found.save(tmp_path / "own.json")
    (cell,) = load(tmp_path / "own.json").cells
    assert cell.workload.path == "kernel/saxpy" and cell.workload.flops == 600 and cell.samples and cell.kernel


def test_what_is_not_verified_has_no_numbers_in_files(device, arguments, tmp_path):
    with Context.for_device(device):
        found = portagpu.benchmark(saxpy[2, 256], *arguments)
    assert found.error is None and "not verified" in repr(found)
    found.save(tmp_path / "own.json")
    (cell,) = load(tmp_path / "own.json").cells
    assert cell.status is Status.UNVERIFIED and not cell.samples and "expected=" in cell.reason


def test_wrong_results_raise(device, arguments):
    with Context.for_device(device):
        with pytest.raises(DeviceError, match="wrong result"):
            portagpu.benchmark(saxpy[2, 256], *arguments, expected={"y": arguments[2]})
        with pytest.raises(ArgumentTypeError, match="'z' is no argument of `saxpy`"):
            portagpu.benchmark(saxpy[2, 256], *arguments, expected={"z": arguments[2]})
        with pytest.raises(ArgumentTypeError, match="shape"):
            portagpu.benchmark(saxpy[2, 256], *arguments, expected={"y": arguments[2][:9]})


def raising(a, x, y):
    raise ValueError("not today")


def test_what_is_no_launch_is_told(device, arguments):
    launch = saxpy[2, 256]
    for kernel, more, why in (
        (saxpy, {}, r"the kernel `saxpy` without a launch configuration\n.*pass saxpy\[grid, block\]"),
        (3, {}, "what is measured is of type int"),
        (launch, {"peers": {"other": 3}}, "the peer 'other' is of type int"),
        (launch, {"expected": 3}, "expected is of type int"),
        (launch, {"expected": raising}, "what is expected of `saxpy` raised ValueError: not today"),
        (launch, {"expected": lambda a: None}, "what is expected of `saxpy` raised TypeError"),
        (launch, {"expected": {}}, r"what is expected of `saxpy` names no array"),
        (launch, {"expected": lambda a, x, y: a * x + y}, r"`saxpy` returned ndarray(.|\n)*it must change the arrays"),
        (launch, {"tolerance": -1.0}, "tolerance is -1.0"),
        (launch, {"tolerance": float("nan")}, "tolerance is nan"),
    ):
        with Context.for_device(device), pytest.raises(ArgumentTypeError, match=why):
            portagpu.benchmark(kernel, *arguments, **more)


def test_errors_of_a_launch_are_its_own_and_those_of_peers_are_reasons(device, arguments):
    """The launch that is measured tells its line; a peer that fails leaves the others alone."""

    @cuda.jit
    def unknown(x):
        x[0] = no_such_name  # noqa: F821

    with Context.for_device(device):
        with pytest.raises(KernelNameError, match="no_such_name"):
            portagpu.benchmark(lambda x: unknown[1, 1](x), arguments[1])
        with pytest.raises(ValueError, match="not today"):
            portagpu.benchmark(raising, *arguments)
        peers = {"raises": raising, "unknown": lambda a, x, y: unknown[1, 1](x)}
        found = portagpu.benchmark(saxpy[2, 256], *arguments, expected=by_numpy, peers=peers)
    _, first, second = found.cells
    assert (first.status, first.reason) == (Status.FAILED, "ValueError: not today") and not found.peers
    assert second.status is Status.FAILED and "`no_such_name` is not defined (test_own_kernels.py:" in second.reason


def test_results_are_tables(device, arguments):
    told = []
    with Context.for_device(device):
        peers = {"<b>small & fine</b>": lambda *given: saxpy[10, 32](*given), "wrong": lambda *given: None}
        found = portagpu.benchmark(
            saxpy[2, 256], *arguments, expected=by_numpy, peers=peers, name="<i>mine", progress=told.append
        )
    title, heading, *rows = str(found).splitlines()
    assert title.startswith("<i>mine on ") and title.endswith("0.1667 FLOP/byte") and "95% interval" in heading
    assert [row.split("  ")[0] for row in rows] == ["<i>mine", *peers]
    assert "GB/s" in heading and "right, error" in rows[1] and "wrong result: " in rows[2]
    page = found._repr_html_()
    assert "&lt;b&gt;small &amp; fine&lt;/b&gt;" in page and "<b>" not in page and "<i>" not in page
    assert page.count("<tr>") == 4 and page.count("<td>") == 3 * 6
    assert any("first call" in text for text in told) and any("round 1" in text for text in told)
    assert repr(portagpu.Launch(kernel=saxpy[2, 256], arguments=arguments)) == "<Launch of saxpy with 3 arguments>"


@pytest.mark.parametrize(
    "seconds, text", [(2.5, "2.5 s"), (0.0123456, "12.35 ms"), (3e-6, "3 us"), (4.2e-10, "0.42 ns"), (1.0, "1 s")]
)
def test_times_have_units(seconds, text):
    assert shown.time_text(seconds) == text


def test_peers_take_turns_with_it(device, arguments):
    with Context.for_device(device):
        found = portagpu.benchmark(
            saxpy[2, 256],
            *arguments,
            expected=by_numpy,
            peers={"small blocks": lambda *given: saxpy[10, 32](*given), "none": lambda *given: None},
        )
    assert list(found.peers) == ["small blocks"]  # the other one is wrong
    assert [c.status for c in found.run.cells] == [Status.MEASURED, Status.MEASURED, Status.WRONG]


@pytest.mark.parametrize(
    "dtype, change, right",
    [
        *(("float64", 1e-15, True), ("float64", 1e-9, False), ("int32", 0, True), ("int32", 1, False)),
        *(("bfloat16", 0.5, True), ("bfloat16", 2, False), ("float16", 0.05, True), ("float16", 0.5, False)),
    ],
)
def test_tolerances(device, dtype, change, right):
    @cuda.jit
    def copy(x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = x[i]

    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    if dtype == "float16" and not device.capabilities.fp16:
        pytest.skip("the device has no float16")
    x = np.arange(9).astype(dtype)
    launch = portagpu.Launch(
        kernel=copy[1, 32], arguments=(x, np.zeros_like(x)), expected={1: x + x.dtype.type(change)}
    )
    with Context.for_device(device) as context:
        (ours,) = launch.contenders(context)
        call = ours.prepare()
        call.product()
        assert (launch.check()(call.fetch()) <= 1) is right


@pytest.mark.parametrize(
    "found, expected, error",
    [
        ([np.inf, -np.inf, np.nan, 1], [np.inf, -np.inf, np.nan, 1], 0),
        ([np.inf, 1], [-np.inf, 1], np.inf),
        ([np.inf, 1], [2, 1], np.inf),
        ([2, 1], [np.inf, 1], np.inf),
        ([np.nan, 1], [2, 1], np.nan),
        ([2, 1], [np.nan, 1], np.nan),
        ([np.inf + 1j], [np.inf + 1j], 0),
        ([1.0, 2.5], [1.0, 2.0], 2.5),
        ([], [], 0),
        ([0.0], [0.0], 0),
        ([1e-30], [0.0], np.inf),
    ],
)
def test_arrays_are_compared_by_their_largest_magnitude(found, expected, error):
    """Without a warning of NumPy's: what is infinite where it should be is right."""
    assert error_of(np.asarray(found), np.asarray(expected), 0.1) == pytest.approx(error, nan_ok=True)


FILE = """
    import numpy as np
    import portagpu
    from portagpu import cuda

    print("hello from the file")

    @cuda.jit("void(float32, float32[::1], float32[::1])")
    def saxpy(a, x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = a * x[i] + y[i]

    @cuda.jit
    def untyped(x):
        x[0] = 1

    def by_numpy(a, x, y):
        y += a * x

    def wrong(a, x, y):
        y += 2 * a * x

    def launch(n=40, a=2.0):
        x = np.ones(n, np.float32)
        return portagpu.Launch(
            kernel=saxpy[1, 256], arguments=(np.float32(a), x, x.copy()), expected={"y": np.full(n, a + 1, np.float32)}
        )

    def nothing():
        return 3

    def needs(m):
        return launch(m)

    def fails(n=3):
        raise KeyError("oops")

    def raising(a, x, y):
        raise ValueError("not today")

    @cuda.jit("void(float32[:, ::1], float32[:, ::1])")
    def plane(x, y):
        j, i = cuda.grid(2)
        if i < x.shape[0] and j < x.shape[1]:
            y[i, j] = 2 * x[i, j]

    def plane_by_numpy(x, y):
        assert x.shape == (1024, 1024)
        y[...] = 2 * x

    @cuda.jit("void(float64[:, :, ::1])")
    def solid(x):
        k, j, i = cuda.grid(3)
        if i < x.shape[0] and j < x.shape[1] and k < x.shape[2]:
            x[i, j, k] *= 3

    def solid_by_numpy(x):
        assert x.shape == (64, 64, 64)
        x *= 3

    @cuda.jit(device=True)
    def helper(x):
        return x

    NUMBER = 3
"""


@pytest.fixture
def bench(device, tmp_path):
    file = tmp_path / "mine_of_a_user.py"
    file.write_text(textwrap.dedent(FILE))

    def run(name, *options):
        output = tmp_path / "own.json"
        given = ["bench", f"{file}:{name}", "--device", str(device.index), "-o", str(output), *options]
        return CliRunner().invoke(cli, given), output

    return run


def test_kernels_of_files(bench):
    done, output = bench("saxpy", "--reference", "by_numpy", "--size", "77", "--size", "1000", "--argument", "a=3")
    assert done.exit_code == 0, done.output
    run = load(output)
    assert [c.workload.path for c in run.cells] == ["kernel/saxpy/77", "kernel/saxpy/1000"]
    assert all(c.status is Status.MEASURED for c in run.cells) and run.cells[0].workload.flops == 2 * 77


@pytest.mark.parametrize("name", ["plane", "solid"])
def test_sizes_and_blocks_of_kernels_with_several_axes(bench, name):
    """As many elements in all as a vector has by itself, and blocks that have the grid's axes."""
    done, output = bench(name, "--reference", f"{name}_by_numpy", "--quick")
    assert done.exit_code == 0, done.output
    (cell,) = load(output).cells
    assert cell.status is Status.MEASURED, cell.reason


def test_wrong_kernels_of_files(bench):
    done, output = bench("saxpy", "--reference", "wrong", "--size", "77")
    assert done.exit_code == 1 and "a result was wrong" in done.output
    assert load(output).cells[0].status is Status.WRONG
    done, output = bench("saxpy", "--size", "77")
    assert done.exit_code == 0 and load(output).cells[0].status is Status.UNVERIFIED


def test_launches_of_files(bench):
    done, output = bench("launch", "--argument", "a=4.0")
    assert done.exit_code == 0, done.output
    assert json.loads(output.read_text())["cells"][0]["status"] == "measured"
    done, _ = bench("launch", "--size", "50")
    assert done.exit_code == 0, done.output


def test_what_fails_in_a_file_is_a_reason_with_its_line(bench):
    for name, options, why in (
        ("fails", [], "KeyError: 'oops' (mine_of_a_user.py:"),
        (
            "saxpy",
            ["--reference", "raising", "--size", "9"],
            "what is expected of `saxpy` raised ValueError: not today",
        ),
        ("saxpy", ["--block", "1000000000", "--size", "9"], "a block of 1000000000"),
    ):
        done, output = bench(name, *options)
        (cell,) = load(output).cells
        assert done.exit_code == 1 and "a launch failed; see the table" in done.output
        assert cell.status is Status.FAILED and why in cell.reason and cell.rate is None


@pytest.mark.parametrize(
    "text, why",
    [
        ("import no_such_module_of_a_user", "ModuleNotFoundError: No module named 'no_such_module_of_a_user' ("),
        ("def f(:", "is no Python: invalid syntax"),
        ("raise SystemExit(3)", "cannot be run: SystemExit: 3"),
        ("1 / 0", "cannot be run: ZeroDivisionError: division by zero ("),
    ],
)
def test_files_that_cannot_be_run_are_told_in_a_line(device, tmp_path, text, why):
    file = tmp_path / "faulty_of_a_user.py"
    file.write_text(text)
    done = CliRunner().invoke(cli, ["bench", f"{file}:f", "--device", str(device.index)])
    assert done.exit_code == 1 and isinstance(done.exception, SystemExit) and why in done.output


def test_what_is_no_launch_is_a_reason(bench):
    _, output = bench("nothing")
    (cell,) = load(output).cells
    assert cell.status is Status.FAILED and "returned int, not a portagpu.Launch" in cell.reason


@pytest.mark.parametrize(
    "name, options, why",
    [
        ("saxp", [], "did you mean `saxpy`"),
        ("untyped", [], "no signature says their types"),
        ("launch", ["--argument", "b=1"], "launch has no parameter b"),
        ("launch", ["--argument", "n=1", "--argument", "c=1"], "launch has no parameter c"),
        ("launch", ["--argument", "b"], "is no NAME=VALUE"),
        ("launch", ["--argument", "a=text"], "write texts as NAME='text'"),
        ("needs", [], "needs needs m"),
        ("needs", ["--size", "3"], "needs has no parameter n"),
        ("saxpy", ["--argument", "b=1"], "`saxpy` has no parameter b"),
        ("saxpy", ["--argument", "x=1"], "`x` of `saxpy` is an array"),
        ("saxpy", ["--argument", "a='1'"], "`a` of `saxpy` is a number, not '1'"),
        ("saxpy", ["--reference", "NUMBER"], "NUMBER is no function"),
        ("saxpy", ["--reference", "by_nump"], "did you mean `by_numpy`"),
        ("saxpy", ["--block", "0"], "is no block"),
        ("saxpy", ["--block", "1,2,3,4"], "is no block"),
        ("saxpy", ["--signature", "void(int32)"], "has the parameters a, x, y, and its signature has 1 types"),
        ("helper", [], "`helper` is a device function"),
        ("NUMBER", [], "neither a kernel nor a function"),
    ],
)
def test_what_cannot_be_measured_is_told(bench, name, options, why):
    done, _ = bench(name, *options)
    assert done.exit_code != 0 and why in done.output + str(done.exception)
