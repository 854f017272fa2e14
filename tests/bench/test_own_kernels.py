"""`portagpu.benchmark` and ``portagpu bench FILE.py:KERNEL``: kernels of users, verified by what they expect."""

from __future__ import annotations

import json
import textwrap

import numpy as np
import pytest
from click.testing import CliRunner

import portagpu
from portagpu import cuda
from portagpu.bench.records.cell import Status
from portagpu.bench.records.files import load
from portagpu.cli import cli
from portagpu.errors import ArgumentTypeError, DeviceError
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
    [("float64", 1e-15, True), ("float64", 1e-9, False), ("int32", 0, True), ("int32", 1, False)],
)
def test_tolerances(device, dtype, change, right):
    @cuda.jit
    def copy(x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = x[i]

    x = np.arange(9).astype(dtype)
    launch = portagpu.Launch(
        kernel=copy[1, 32], arguments=(x, np.zeros_like(x)), expected={1: x + x.dtype.type(change)}
    )
    with Context.for_device(device) as context:
        (ours,) = launch.contenders(context)
        call = ours.prepare()
        call.product()
        assert (launch.check()(call.fetch()) <= 1) is right


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
    ],
)
def test_what_cannot_be_measured_is_told(bench, name, options, why):
    done, _ = bench(name, *options)
    assert done.exit_code != 0 and why in done.output + str(done.exception)
