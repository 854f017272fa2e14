"""Benchmarks on several machines: real worker processes, some of which are killed or stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import planted_suite
import pytest
from click.testing import CliRunner
from planted_suite import METHOD, began, hold

from portagpu.bench.cluster import members, session
from portagpu.bench.cluster.board import Board
from portagpu.bench.cluster.members import connected
from portagpu.bench.cluster.places import placed
from portagpu.bench.cluster.worker import Introduction, Order, Planned
from portagpu.bench.records.cell import Caches, Status
from portagpu.bench.records.files import load, save
from portagpu.bench.records.run import Device, Machine
from portagpu.bench.running.case import Options
from portagpu.bench.running.facts import command_line
from portagpu.bench.running.session import Progress, new_run
from portagpu.cli import cli
from portagpu.errors import WorkersError

pytestmark = pytest.mark.one_device(fast=True)
distributed = pytest.importorskip("distributed")

HELPERS = Path(__file__).parents[1] / "helpers"
NAMES = ("one", "two", "three")


class Cluster:
    """A scheduler in this process, and workers in others."""

    def __init__(self):
        options = {"processes": False, "protocol": "tcp://", "host": "127.0.0.1", "silence_logs": 50}
        self.local = distributed.LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0", **options)
        self.address = self.local.scheduler_address
        self.processes = {}

    def start(self, *machines, names=()):
        """Start workers, each of which takes itself for a machine; a process is known by the name, or the machine."""
        path = os.pathsep.join(map(str, [HELPERS, HELPERS.parents[1], os.environ.get("PYTHONPATH", "")]))
        for machine, name in zip(machines, names or machines, strict=True):
            self.processes[name] = subprocess.Popen(
                [sys.executable, str(HELPERS / "planted_worker.py"), self.address],
                env={**os.environ, "PYTHONPATH": path, planted_suite.MACHINE: machine},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        self.wait_for(len(self.local.scheduler.workers) + len(machines))

    def wait_for(self, count):
        """Until the scheduler has so many workers."""
        for _ in range(1200):
            if len(self.local.scheduler.workers) == count:
                return
            time.sleep(0.05)
        raise TimeoutError(f"{len(self.local.scheduler.workers)} workers, not {count}")

    def end(self, name, number=signal.SIGKILL):
        """End a worker's process."""
        process = self.processes.pop(name)
        process.send_signal(number)
        process.wait(30)

    def close(self):
        for name in list(self.processes):
            self.end(name)
        self.local.close()


@contextmanager
def cluster_of(*machines):
    cluster = Cluster()
    try:
        cluster.start(*machines)
        yield cluster
    finally:
        cluster.close()


@pytest.fixture(scope="module")
def cluster():
    with cluster_of("a", "b", "c") as found:
        yield found


def order_of(device, folder, names=NAMES):
    entries = partial(planted_suite.entries, folder=str(folder), names=names)
    return Order(selectors=(str(device.index),), filters=(), options=Options(), method=METHOD, entries=entries)


def fresh():
    return replace(new_run((), Options(), METHOD), machines=())


def measure(cluster, order, *, run=None, limit=60.0, keep=lambda run: None):
    """A run, and what was said."""
    said = []
    with connected(cluster.address) as client:
        found = session.perform(client, run or fresh(), order, limit, Progress(keep=keep), said.append)
    return found, said


def in_thread(work):
    """Start work, whose result the function that is returned waits for."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()

    def result():
        thread.join(60)
        return found[0]

    return result


def open_names(run):
    return [(cell.workload.name, cell.reason) for cell in run.cells if cell.status is Status.OPEN]


def test_a_killed_worker_loses_its_unfinished_cells_and_another_run_fills_them(device, cluster, tmp_path):
    order, file = order_of(device, tmp_path), tmp_path / "run.json"
    hold(tmp_path, "b", "two")
    running = in_thread(lambda: measure(cluster, order, keep=lambda run: save(file, run)))
    (process,) = began(tmp_path, "b", "two")
    assert process == cluster.processes["b"].pid
    cluster.end("b")
    first, (said,) = running()
    assert said.startswith("worker tcp://127.0.0.1:") and " died; 2 workloads stay open" in said
    assert load(file) == first and not first.finished and len(first.machines) == len(first.devices) == 3
    assert [(cell.device, cell.status) for cell in first.cells if cell.status is not Status.OPEN] == [
        (cell.device, Status.MEASURED) for cell in first.cells if cell.status is not Status.OPEN
    ]
    assert len(first.cells) == 9 and open_names(first) == [("two", "its worker died"), ("three", "its worker died")]
    assert "127.0.0.1" not in file.read_text() and not open_names(replace(first, cells=first.cells[:0]))

    (tmp_path / "hold-b-two").unlink()
    cluster.start("b", "a", names=("b", "twin of a"))
    second, (said,) = measure(cluster, order, run=load(file), keep=lambda run: save(file, run))
    assert " is not used: it is on the same machine as tcp://" in said
    assert load(file) == second and second.finished and not open_names(second) and len(second.cells) == 9
    assert {cell for cell in map(repr, first.cells) if "OPEN" not in cell} <= set(map(repr, second.cells))
    notes = sum(len(note.read_text().split()) for note in tmp_path.glob("began-*"))
    assert notes == 7 + 1 + 2, "only what was open is measured again"
    third, _ = measure(cluster, order, run=second)
    assert third.cells == second.cells
    cluster.end("twin of a")
    cluster.wait_for(3)


@pytest.mark.thorough  # waits for seconds
def test_a_worker_that_hangs_is_given_up_and_others_go_on(device, cluster, tmp_path):
    order = order_of(device, tmp_path, (*NAMES, "faulty"))
    hold(tmp_path, "c", "one")
    running = in_thread(lambda: measure(cluster, order, limit=5.0))
    began(tmp_path, "c", "one")
    os.kill(cluster.processes["c"].pid, signal.SIGSTOP)
    run, (said,) = running()
    assert " hangs: planted/one/8 did not end within 5 s; 4 workloads stay open" in said
    assert open_names(run) == [(name, "its worker hung") for name in (*NAMES, "faulty")]
    rest = [
        (cell.status, cell.reason.partition(" (planted_suite.py:")[0])
        for cell in run.cells
        if cell.status is not Status.OPEN
    ]
    assert sorted(rest, key=str) == sorted(
        [(Status.MEASURED, "")] * 6 + [(Status.FAILED, "TimeoutError: planted")] * 2, key=str
    )
    cluster.end("c")
    cluster.wait_for(2)


def test_the_command_measures_on_workers_and_keeps_their_addresses_for_itself(device, cluster, tmp_path):
    file = tmp_path / "run.json"
    command = ["bench", "textbook", "--kernel", "saxpy", "--small", "--quick", "--peers", "none"]
    command += ["--device", str(device.index)]
    arguments = [*command, "--label", "lab", "--dask", cluster.address, "-o", str(file)]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0, done.output
    run = load(file)
    count = len(cluster.processes)
    assert [machine.label for machine in run.machines] == [f"lab {number + 1}" for number in range(count)]
    assert [cell.status for cell in run.cells] == [Status.MEASURED] * count and run.finished
    assert "127.0.0.1" not in file.read_text()
    for changed in (["--seed", "7"], []):
        done = CliRunner().invoke(cli, [*arguments, "--resume", *changed])
        assert done.exit_code == bool(changed), done.output
        assert ("its seed and those of this run differ" in str(done.exception)) == bool(changed)
    assert load(file) == run
    done = CliRunner().invoke(cli, [*arguments, "--filter", "nothing"])
    assert done.exit_code == 1 and "no workload matches nothing" in str(done.exception)


def test_workers_of_another_version_are_refused(device, cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(members, "__version__", "99.0")
    with pytest.raises(WorkersError, match=r"this is PortaGPU 99.0, and worker tcp://\S+ has .*\n.*must have this ver"):
        measure(cluster, order_of(device, tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.thorough  # waits for seconds
def test_a_lost_scheduler_leaves_what_is_measured(device, tmp_path):
    kept = []
    with cluster_of("a") as own:
        hold(tmp_path, "a", "two")

        def lose():
            began(tmp_path, "a", "two")
            own.local.close()

        ending = in_thread(lose)
        with pytest.raises(WorkersError, match="scheduler is lost"):
            measure(own, order_of(device, tmp_path), keep=kept.append)
        ending()
    assert [cell.status for cell in kept[-1].cells] == [Status.MEASURED, Status.OPEN, Status.OPEN]


def test_recorded_commands_have_no_addresses():
    for given in (["--dask", "tcp://10.0.0.1:8786"], ["--dask=tcp://10.0.0.1:8786"]):
        told = command_line(["/home/me/portagpu", "bench", *given, "--quick"])
        assert "10.0" not in told and told.startswith("portagpu bench --dask") and told.endswith("ADDRESS --quick")


def machine_of(name, **changes):
    return Introduction(machine=Machine(processor=name, cores=2), devices=(DEVICE,), **changes)


DEVICE = Device(machine=0, name="GPU", platform="P", driver="1", capabilities={"measured_gflops": 7.0})


def test_machines_and_devices_are_known_by_what_they_are():
    run, numbers = placed(fresh(), [machine_of("x"), machine_of("y"), machine_of("x")], "mine")
    assert numbers == [[0], [1], [2]] and [device.machine for device in run.devices] == [0, 1, 2]
    cell = Board(run, [Planned(device=2, path="planted/one/8")]).run.cells[0]
    assert (cell.status, cell.workload.path) == (Status.OPEN, "planted/one/8")
    other = replace(machine_of("y"), devices=(replace(DEVICE, capabilities={}), replace(DEVICE, driver="2")))
    again, numbers = placed(replace(run, cells=(cell,)), [other, machine_of("x"), machine_of("z")], "mine")
    assert numbers == [[1, 3], [2], [4]], "the one of two alike that has open cells comes first"
    assert [machine.label for machine in again.machines] == ["mine 1", "mine 2", "mine 3", "mine 4"]
    assert [device.machine for device in again.devices] == [0, 1, 2, 1, 3]


def test_a_board_knows_cold_caches_from_hot_ones():
    """What has hot cells only waits for the others; each stands there with the command that repeats it."""
    run, _ = placed(fresh(), [machine_of("x")])
    both = Planned(device=0, path="planted/one/8", repeats={Caches.HOT: "hot", Caches.COLD: "cold"})
    board = Board(run, [both])
    assert [(cell.caches, cell.repeat) for cell in board.run.cells] == [(Caches.HOT, "hot"), (Caches.COLD, "cold")]
    hot, cold = (replace(cell, status=Status.FAILED, reason="planted") for cell in board.run.cells)
    board = Board(replace(run, cells=(hot,)), [both])
    (waiting,) = board.waiting
    assert waiting.repeats == {Caches.COLD: "cold"}
    board.take(waiting, [cold])
    assert board.run.cells == (hot, cold) and board.run.finished
    assert not Board(board.run, [both]).waiting


def test_missing_schedulers_workers_and_packages_are_told(device, monkeypatch):
    command = ["bench", "--small", "--device", str(device.index), "--dask"]
    monkeypatch.setattr(members, "CONNECT_SECONDS", 0.3)
    done = CliRunner().invoke(cli, [*command, "tcp://127.0.0.1:9"])
    assert done.exit_code == 1 and "no Dask scheduler answers at tcp://127.0.0.1:9" in str(done.exception)
    with cluster_of() as empty:
        done = CliRunner().invoke(cli, [*command, empty.address])
        assert done.exit_code == 1 and "Dask's scheduler has no workers" in str(done.exception)
    monkeypatch.setattr(members.importlib.util, "find_spec", lambda name: None)
    done = CliRunner().invoke(cli, [*command, "tcp://127.0.0.1:9"])
    assert done.exit_code == 1 and "pip install 'portagpu[dask]'" in str(done.exception)
