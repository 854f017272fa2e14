"""Files, comparisons, pictures and the command of the ladder; the runs here are too short to mean anything."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner
from short_method import SHORT

from portagpu.bench.ladder import measure, results
from portagpu.bench.ladder.plan import Prepared
from portagpu.bench.ladder.plot import check_plot, plot
from portagpu.bench.ladder.results import LadderResult, StepResult
from portagpu.bench.ladder.steps import LibraryStep, step_named
from portagpu.bench.method.turns import take_turn
from portagpu.bench.peers.products import Peer
from portagpu.bench.records.cell import Memory
from portagpu.cli import cli
from portagpu.device import DeviceType
from portagpu.errors import DeviceError, DTypeError, LaunchError, SettingsError, StoreError
from portagpu.settings import Settings

pytestmark = pytest.mark.one_device


def step(name, gflops, problem=None):
    return StepResult(name=name, gflops=gflops, error=None if problem else 0.1, problem=problem, global_intensity=0.25)


def run(*steps, **changes):
    made = LadderResult(
        machine={"date": "2026-01-01"},
        device="GPU",
        driver="1.0",
        dtype="float32",
        size=512,
        peer="lib 2",
        peer_gflops=100.0,
        steps=steps,
    )
    return replace(made, **changes)


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(measure, "take_turn", lambda product: take_turn(product, SHORT))
    monkeypatch.setattr(measure, "_ROUNDS", 1)


def test_files_round_trip(tmp_path):
    made = run(step("naive", 1.5), step("tuned", None, "no tiles"))
    results.save(tmp_path / "a.json", made)
    assert results.load(tmp_path / "a.json") == made
    assert [made.share(s) for s in made.steps] == [0.015, None]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"schema": results.SCHEMA + 1}, "update PortaGPU"),
        ({"kind": "gemm"}, "is a result of 'gemm'"),
        ({"steps": [{"name": "naive"}]}, "is damaged"),
        ({"steps": [{"name": "naive", "gflops": "fast", "error": None, "problem": None}]}, "is damaged"),
        ({"steps": 3}, "is damaged"),
        ({"peer_gflops": 0}, "is damaged"),
        ({"peer_gflops": None}, "is damaged"),
        ({"colour": "red"}, "is damaged"),
    ],
)
def test_newer_foreign_and_damaged_files(tmp_path, change, message):
    path = tmp_path / "a.json"
    results.save(path, run(step("naive", 1.5)))
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(StoreError, match=message):
        results.load(path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 1}'])
def test_files_that_are_something_else(tmp_path, text):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(StoreError, match="no result of the ladder"):
        results.load(path)


def test_losses():
    old = run(step("naive", 10.0), step("tuned", 50.0), step("shipped", 90.0), step("gone", 1.0), step("x", None, "no"))
    new = run(step("naive", 9.1), step("tuned", 44.0), step("shipped", None, "wrong result: 3"), step("x", None, "no"))
    lost = {loss.name: loss.reason for loss in results.losses(old, new, 0.1)}
    assert lost == {
        "tuned": "12% less of lib 2 (50 GFLOP/s then, 44 now)",
        "shipped": "no longer runs: wrong result: 3",
    }


def test_a_slower_machine_is_no_loss_but_another_library_is_no_measure():
    old = run(step("naive", 10.0))
    slower = run(step("naive", 5.0), peer_gflops=50.0)
    assert not list(results.losses(old, slower, 0.1))
    (loss,) = results.losses(old, replace(slower, peer="lib 3"), 0.1)
    assert loss.reason == "50% less in GFLOP/s (10 GFLOP/s then, 5 now)"


@pytest.mark.parametrize("change", [{"device": "other"}, {"dtype": "float64"}, {"size": 256}])
def test_different_runs_are_not_compared(change):
    with pytest.raises(StoreError, match="cannot be compared"):
        list(results.losses(run(step("naive", 1.0)), run(step("naive", 1.0), **change), 0.1))


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name, start", [("a.png", b"\x89PNG"), ("a.svg", b"<?xml")])
@pytest.mark.parametrize("logarithmic", [False, True])
def test_pictures(tmp_path, name, start, logarithmic):
    pytest.importorskip("matplotlib")
    steps = step("naive", 1.5), step("tuned", None, "needs blocks of 256 threads")
    plot(run(*steps), tmp_path / name, logarithmic=logarithmic)
    assert (tmp_path / name).read_bytes().startswith(start)


def test_pictures_of_other_kinds_and_without_matplotlib(tmp_path, monkeypatch):
    with pytest.raises(SettingsError, match=r"ends in \.png or \.svg"):
        check_plot(tmp_path / "a.jpeg")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SettingsError, match=r"pip install 'portagpu\[plot\]'"):
        check_plot(tmp_path / "a.png")


def test_a_run(device, quick):
    def wrong(operands):
        return Prepared(enqueue=lambda: None, tile=None, thread_tile=None)

    def failing(operands):
        raise LaunchError("it fell", hint="get up")

    steps = (
        step_named("naive"),
        LibraryStep(name="impossible", change=".", make=wrong, needs=lambda operands: "needs wings"),
        LibraryStep(name="failing", change=".", make=failing),
        LibraryStep(name="wrong", change=".", make=wrong),
        step_named("shipped"),
    )
    told = []
    found = measure.run(device, 40, "float32", Settings.from_environment(), steps=steps, progress=told.append)
    naive, impossible, failed, forgot, shipped = found.steps
    assert naive.gflops > 0 and naive.error <= 1 and naive.global_intensity == 0.25
    assert (impossible.gflops, impossible.problem) == (None, "needs wings")
    assert (failed.gflops, failed.problem) == (None, "it fell")
    assert forgot.gflops is None and "wrong result: inf" in forgot.problem
    assert found.share(shipped) > 0 and shipped.note
    assert any("naive" in text for text in told)


def test_without_float64(device):
    caps = replace(device.capabilities, fp64=False)
    with pytest.raises(DTypeError, match="has no float64"):
        measure.run(replace(device, capabilities=caps), 8, "float64", Settings.from_environment())


def test_without_a_library_there_is_no_share(device, monkeypatch):
    def prepare(problem, a, b):
        raise RuntimeError("out of memory\nat great length")

    peer = Peer(name="lib 2", memory=Memory.DEVICE, prepare=prepare, serves=lambda problem: problem)
    monkeypatch.setattr(measure, "peers_for", lambda device: (peer,))
    with pytest.raises(DeviceError, match="lib 2 cannot multiply these matrices: out of memory\n"):
        measure.run(device, 8, "float32", Settings.from_environment())


def test_sizes(device):
    kinds = [(DeviceType.CPU, 1.0), (DeviceType.GPU, 100.0), (DeviceType.GPU, 20000.0)]
    devices = [
        replace(device, device_type=t, capabilities=replace(device.capabilities, measured_gflops=g)) for t, g in kinds
    ]
    assert [measure.default_size(d) for d in devices] == [1024, 2048, 4096]


def invoke(*words):
    return CliRunner().invoke(cli, ["bench", "ladder", *map(str, words)])


def test_the_command(device, quick, tmp_path, monkeypatch):
    monkeypatch.setattr(measure.run, "__kwdefaults__", {**measure.run.__kwdefaults__, "steps": (step_named("naive"),)})
    path = tmp_path / "new" / "a.json"
    where = ("--device", device.index)
    made = invoke(*where, "--size", 33, "-o", path, "--plot", tmp_path / "a.svg")
    assert made.exit_code == 0, made.output
    assert "naive" in made.output and (tmp_path / "a.svg").exists()
    found = results.load(path)
    assert (found.size, found.dtype, len(found.steps)) == (33, "float32", 1)

    slow = replace(found, steps=tuple(replace(s, gflops=1e-9) for s in found.steps))
    results.save(path, slow)
    same = invoke(*where, "--compare", path)
    assert same.exit_code == 0, same.output
    assert "No step lost more than 10%" in same.output and "33 x 33" in same.output

    results.save(path, replace(found, driver="0.1", steps=tuple(replace(s, gflops=1e9) for s in found.steps)))
    lost = invoke(*where, "--compare", path, "--tolerance", "0.5")
    assert lost.exit_code == 1
    assert "naive: 100% less" in lost.output and "1 step lost" in lost.output and "driver was 0.1" in lost.output


def test_what_cannot_be_compared_or_written_is_told_before_anything_is_measured(device, tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "run", None)
    path = tmp_path / "a.json"
    results.save(path, run(step("naive", 1.0)))
    for words, message in (
        (("--compare", path), "device GPU there"),
        (("-o", path / "b.json"), "cannot be written"),
        (("--plot", "a.gif"), "no kind of plot"),
    ):
        result = invoke("--device", device.index, *words)
        assert message in str(result.exception), words
        assert not result.output


def test_options_belong_behind_the_name():
    result = CliRunner().invoke(cli, ["bench", "--size", "64", "ladder"])
    assert result.exit_code == 2 and "behind 'ladder'" in result.output
