"""The suites of launches and copies: what is done is verified, each by each, and what is planted wrong is told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from short_method import SHORT

from portagpu.bench.copying import moves, overlap
from portagpu.bench.copying.moves import PINNED, TO_DEVICE, TO_HOST, WITHIN, Move
from portagpu.bench.launching import calls, first_call, new_kernel
from portagpu.bench.launching.kernels import gather, scale
from portagpu.bench.method.turns import BackToBack, Call, Cold, Enqueued, waited
from portagpu.bench.records.cell import Status
from portagpu.bench.records.files import load
from portagpu.bench.running.case import Options, Peers
from portagpu.bench.suites import copies, launch
from portagpu.cli import cli
from portagpu.runtime.execution.context import Context

pytestmark = pytest.mark.one_device(fast=True)
SMALL = Options(small=True, quick=True)


# how they are timed ---------------------------------------------------------------------------------------------------


def test_calls_are_timed_until_they_return_while_the_queue_is_short():
    told = []
    call = Call(enqueue=lambda: told.append("call"), wait=lambda: told.append("wait"))
    times = Enqueued(call, SHORT).turn()
    assert times and all(seconds > 0 for seconds in times)
    assert told == (["call"] * 50 + ["wait"]) * (len(told) // 51)


def test_times_are_those_of_a_part(monkeypatch):
    clock = iter(float(n) for n in range(10_000))
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    monkeypatch.setattr("portagpu.bench.method.turns._LEAST_SECONDS", 0.0)
    call = Call(enqueue=lambda: None, parts=4)
    for player in (waited(call, SHORT), Cold(call, lambda: None, SHORT)):
        assert set(player.turn()) == {0.25}
    batch = BackToBack(call, SHORT)
    assert set(batch.turn()) == {0.25 / batch.calls}
    assert set(Enqueued(call, SHORT).turn()) == {0.25 / 50}


# launches -------------------------------------------------------------------------------------------------------------


def _peers(device):
    """Libraries that launch and copy on devices of a back end alone."""
    return ["PyOpenCL"] if device.backend == "opencl" else []


def test_launches_of_all_are_right(device, measured):
    chosen = [one for one in launch.entries(device, SMALL) if "first-call" not in one.path]
    cells = measured(device, chosen, SMALL)
    assert {cell.workload.path for cell in cells} == {
        "launch/enqueue/1-array",
        "launch/enqueue/16-arrays",
        "launch/round-trip/1-array",
    }
    for cell in cells:
        assert cell.status is Status.MEASURED and cell.error == 0, (cell.name, cell.reason)
    assert {cell.implementation.split()[0] for cell in cells} >= {"PortaGPU", *_peers(device)}


def test_a_launch_that_did_nothing_is_wrong(device, measured, monkeypatch):
    right = calls.own

    def idle(context, kernel, sets):
        return replace(right(context, kernel, sets), enqueue=lambda: None)

    monkeypatch.setattr(calls, "own", idle)
    ours, *others = measured(device, [next(iter(launch.entries(device, SMALL)))], SMALL)
    assert ours.status is Status.WRONG and all(other.status is Status.MEASURED for other in others)
    assert others or not _peers(device)


def test_others_are_left_out_where_none_is_wanted(device, measured):
    alone = replace(SMALL, peers=Peers.NONE)
    entries = [next(iter(suite.entries(device, alone))) for suite in (launch, copies)]
    assert {cell.implementation for cell in measured(device, entries, alone)} == {"PortaGPU"}


def test_what_launches_should_leave():
    assert calls.expected(scale)[:3].tolist() == [0, 2, 4]
    assert calls.expected(gather)[0] == sum(range(1, 16))
    assert calls.error(scale, calls.expected(scale)) == 0 < calls.error(scale, calls.expected(gather))
    assert len(calls.vectors(gather, 3)) == 3 and len(calls.vectors(gather)[0]) == 16


def test_a_new_process_tells_all_three_phases(device):
    children = first_call.own_children(device)
    call = children.call()
    call.product()
    assert call.fetch() == first_call.RIGHT
    assert all(seconds > 0 for seconds in children.row(0)[:3]) and len(children.row(0)) == 4


def test_children_are_shared_and_the_first_is_not_timed(monkeypatch):
    children = first_call.Children("import sys; print(1, 2, 3, sys.argv[1])", "7")
    for column, phase in enumerate(first_call.PHASES, 1):
        player = children.timing(phase)(children.call(), SHORT, lambda: None)
        assert player.turn() == [float(column)]
    assert len(children._rows) == 2
    with pytest.raises(RuntimeError, match="a new process failed: 3"):
        first_call.Children("raise SystemExit('3')").row(0)


def test_children_that_hang_or_talk(monkeypatch):
    assert first_call.Children("print('a driver greets'); print(1, 2, 3, 4)").row(0) == (1, 2, 3, 4)
    with pytest.raises(RuntimeError, match="said no times: hello"):
        first_call.Children("print('hello')").row(0)
    with pytest.raises(RuntimeError, match="said no times: it ended with status 0"):
        first_call.Children("").row(0)
    monkeypatch.setattr(first_call, "_LIMIT", 0.5)
    with pytest.raises(RuntimeError, match=r"did not end within 0\.5 s"):
        first_call.Children("import time; time.sleep(60)").row(0)


@pytest.mark.parametrize("name", ["own", "without_compiler", pytest.param("driver_alone", marks=pytest.mark.thorough)])
def test_new_kernels_are_right(device, name):
    with Context.for_device(device) as context:
        call = getattr(new_kernel, name)(context)
        call.product()
        assert new_kernel.error(call.fetch()) <= 1


def test_new_kernels_are_new():
    assert new_kernel.error(np.zeros(64)) > 1 and new_kernel.error(new_kernel.expected() * 1.01) > 1
    texts = {new_kernel.kernel_text() for _ in range(3)}
    numbers = {np.float32(text.partition("np.float32(")[2].partition(")")[0]) for text in texts}
    assert len(texts) == len(numbers) == 3 and max(numbers) < 1e-13


# copies ---------------------------------------------------------------------------------------------------------------


def test_copies_of_all_are_right(device, measured):
    cells = measured(device, list(copies.entries(device, SMALL)), SMALL)
    for cell in cells:
        assert cell.status is Status.MEASURED and cell.error == 0, (cell.workload.path, cell.name, cell.reason)
    paths = {cell.workload.path for cell in cells}
    assert {"copies/host-to-device/pinned/4-KiB", "copies/device-to-device/4-KiB", "copies/overlap/4-streams"} <= paths
    assert {cell.implementation.split()[0] for cell in cells} >= {*_peers(device)}


def test_a_copy_that_lacks_a_byte_is_wrong():
    given = moves.source(Move(way=TO_HOST, memory="", nbytes=4096))
    found = given.copy()
    assert moves.error(given, found) == 0
    found[-1] ^= 1
    assert moves.error(given, found) > 1


def test_a_stream_that_is_not_waited_for_in_order_is_wrong(device, measured, monkeypatch):
    right = overlap.own

    def swapped(given, count, streams, context):
        return right(given[::-1].copy(), count, streams, context)

    monkeypatch.setattr(overlap, "own", swapped)
    last = list(copies.entries(device, SMALL))[-1]
    ours = measured(device, [last], SMALL)[0]
    assert ours.status is Status.WRONG


def test_bytes_of_copies():
    assert copies.workload(Move(way=TO_DEVICE, memory=PINNED, nbytes=4096)).nbytes == 4096
    assert copies.workload(Move(way=WITHIN, memory="", nbytes=4096)).nbytes == 8192


def test_kernels_of_tasks_take_about_as_long_as_copies(device):
    caps = device.capabilities
    assert overlap.steps(replace(caps, measured_gflops=0.0)) == 4
    assert overlap.steps(replace(caps, measured_gflops=1e9)) == 4096
    for small in (False, True):
        assert overlap.elements(caps, small=small) % overlap.THREADS == 0


# commands -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["roofs", "--filter", "latency/16-KiB"],
        ["launch", "--filter", "round-trip"],
        ["copies", "--filter", "device-to-device"],
        ["all", "--suite", "roofs", "--filter", "roofs/flops/int32"],
    ],
)
def test_the_commands_write_files(device, tmp_path, short_turns, arguments):
    file = tmp_path / "found.json"
    options = ["--small", "--quick", "--device", str(device.index), "-o", str(file)]
    done = CliRunner().invoke(cli, ["bench", *arguments, *options])
    assert done.exit_code == 0, done.output
    run = load(file)
    assert run.cells and all(cell.status is Status.MEASURED for cell in run.cells)
