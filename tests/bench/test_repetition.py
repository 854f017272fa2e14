"""The command that stands in a cell measures that cell again, and nothing else."""

from __future__ import annotations

import shlex
import textwrap
from dataclasses import replace

import pytest
from click.testing import CliRunner
from short_method import SHORT

from portagpu.bench.method.plan import FULL, QUICK
from portagpu.bench.records.cell import Caches
from portagpu.bench.records.files import load
from portagpu.bench.running import repeat, session
from portagpu.bench.running.case import Options, Peers, Sizes
from portagpu.bench.suites import blas, gemm
from portagpu.bench.suites.register import SUITES
from portagpu.blas.gemm.core.problem import Problem
from portagpu.cli import cli
from portagpu.device import devices
from portagpu.errors import DeviceSelectionError
from portagpu.runtime.execution.context import Context
from portagpu.settings import Settings

pytestmark = pytest.mark.one_device

ASKED = {
    "as it comes": Options(),
    "small": Options(small=True),
    "quick": Options(quick=True),
    "of GPUs": Options(sizes=Sizes.GPUS, seed=3),
    "all peers": Options(small=True, peers=Peers.ALL, core_types=False),
}


@pytest.fixture
def told(monkeypatch, tmp_path):
    """What a command line asks for: its jobs and options; nothing is measured."""
    found = []

    def perform(run, jobs, options, method, *rest):
        found.append((jobs, options, method))
        return run

    monkeypatch.setattr(session, "perform", perform)

    def of(command):
        program, *words = shlex.split(command)
        done = CliRunner().invoke(cli, [*words, "-o", str(tmp_path / "b.json")])
        assert program == "portagpu" and done.exit_code == 0, f"{command}: {done.output} {done.exception}"
        return found.pop()

    return of


def check(told, device, entry, options):
    """One job: the same workload on the same device, of the same operands beside the same peers."""
    for caches in entry.wanted(options):
        jobs, again, method = told(repeat.repetition(device, entry, options, caches))
        assert [(job.device.index, job.entry.path) for job in jobs] == [(device.index, entry.path)]
        assert again == replace(options, cold=caches is Caches.COLD) and caches in jobs[0].entry.wanted(again)
        assert jobs[0].entry.workload == entry.workload
        assert method == (QUICK if options.quick else FULL)
    return jobs[0].entry


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("options", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)
def test_cells_of_suites(device, told, suite, options):
    entries = list(suite.entries(device, options))
    assert len({entry.path for entry in entries}) == len(entries)
    for entry in entries[:: 1 + len(entries) // 12]:
        check(told, device, entry, options)


@pytest.mark.parametrize("suite", ["gemm", "blas", "textbook", "copies", "roofs"])
def test_workloads_are_the_same_ones(device, told, suite):
    options = Options(small=True, cold=True, seed=5, peers=Peers.NONE)
    entries = [entry for entry in SUITES[suite].entries(device, options) if not entry.obstacle]
    for entry in entries[:: 1 + len(entries) // 4]:
        again = check(told, device, entry, options)
        with Context.for_device(device) as context:
            first, second = ([case.workload for case in one.make(context)] for one in (entry, again))
        assert first == second and {workload.path for workload in first} == {entry.path}


PRODUCTS = [
    Problem(m=33, n=33, k=33, dtype="float32"),
    Problem(m=3, n=1, k=7, dtype="float64"),
    Problem(m=9, n=9, k=9, batch=4, dtype="complex64"),
    Problem(m=5, n=6, k=7, batch=2, dtype="float16", out="float32"),
    Problem(m=8, n=8, k=8, dtype="int8", out="float32"),
    Problem(m=8, n=8, k=8, dtype="float32", precision="tf32"),
    Problem(m=4, n=4, k=5, dtype="bfloat16"),
]


def test_products_by_hand(device, told):
    for entry in gemm.entries(device, Options(quick=True), lambda _: PRODUCTS):
        check(told, device, entry, Options(quick=True))


def test_routines_by_hand(device, told):
    for entry in blas.entries(device, Options(), ("gemv", "potrf-batch", "axpy"), ("float32",), (7, 300)):
        check(told, device, entry, Options())


FILE = """
    import numpy as np
    import portagpu
    from portagpu import cuda

    @cuda.jit("void(float32, float32[::1], float32[::1])")
    def saxpy(a, x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = a * x[i] + y[i]

    @cuda.jit
    def plain(a, x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = a * x[i] + y[i]

    def by_numpy(a, x, y):
        y += a * x

    def launch(n, text):
        assert text == "it's"
        x = np.ones(n, np.float32)
        return portagpu.Launch(
            kernel=saxpy[1, 256], arguments=(np.float32(2), x, x.copy()), expected={"y": 3 * x}
        )
"""


@pytest.mark.usefixtures("short_turns")
@pytest.mark.parametrize(
    "words",
    [
        ["saxpy", "--size", "77", "--size", "90", "--argument", "a=3", "--block", "64", "--reference", "by_numpy"],
        ["plain", "--signature", "void(float64, float64[::1], float64[::1])", "--reference", "by_numpy"],
        ["launch", "--argument", 'text="it\'s"', "--size", "20"],
    ],
)
def test_kernels_of_files(device, tmp_path, monkeypatch, words):
    """Here the commands are run: twice, so that the second run's cells tell the same commands."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine_to_repeat.py").write_text(textwrap.dedent(FILE))
    name, *options = words
    given = ["bench", f"{tmp_path / 'mine_to_repeat.py'}:{name}", *options, "--device", str(device.index)]
    for number, cell in enumerate(cells(given, tmp_path)):
        assert str(tmp_path) not in cell.repeat
        (again,) = cells(shlex.split(cell.repeat)[1:], tmp_path)
        assert (again.workload, again.status, again.repeat) == (cell.workload, cell.status, cell.repeat)
        assert number == 0 or "--size 90" in cell.repeat


def cells(words, folder):
    done = CliRunner().invoke(cli, [*words, "-o", str(folder / "b.json")])
    assert done.exit_code == 0, f"{done.output} {done.exception}"
    return load(folder / "b.json").cells


def test_open_cells_and_what_has_no_case_can_be_repeated(device, measured):
    entry = next(iter(gemm.entries(device, Options(small=True))))
    job = session.Job(number=0, device=device, entry=replace(entry, obstacle="no such unit"))
    wanted = repeat.repetition(device, entry, Options(small=True))
    (lacking,) = session.measured(job, Options(small=True), SHORT, Settings.from_environment())
    assert wanted and lacking.repeat == session.open_cell(job, Options(small=True)).repeat == wanted


def test_devices_are_named_by_what_means_them_alone(monkeypatch):
    for device in devices():
        if device.works:
            assert repeat.selector(device) and len(repeat.selector(device)) < 200

    first, second = (replace(devices()[0], index=n, name=name) for n, name in enumerate(("alike", "alike")))

    def find(text):
        if text == "alike":
            return first
        raise DeviceSelectionError(text)

    monkeypatch.setattr(repeat, "find_device", find)
    assert repeat.selector(first) == "alike"
    assert repeat.selector(second) == second.label
