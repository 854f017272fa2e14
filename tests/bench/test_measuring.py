"""The engine: what is planted in a case is told rightly, and never shows a number."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
import pytest
from short_method import SHORT

from portagpu import cuda
from portagpu.bench.conditions import Monitor, NoSensors, Reading
from portagpu.bench.device_clock import clock_of
from portagpu.bench.method.turns import Call
from portagpu.bench.records.cell import Caches, Memory, Role, Status
from portagpu.bench.records.workload import Unit, Workload
from portagpu.bench.running import session
from portagpu.bench.running.case import Case, Contender, Entry, Options
from portagpu.bench.running.measuring import measure, reason_of
from portagpu.errors import MissingCapabilityError, OutOfMemoryError
from portagpu.runtime.execution.context import Context
from portagpu.settings import Settings

pytestmark = pytest.mark.one_device

WORKLOAD = Workload(
    suite="planted", name="sum", arithmetic="float32", size="9", unit=Unit.GFLOPS, flops=1e6, nbytes=8e6
)


def contender(name="PortaGPU", role=Role.OURS, value=1.0, **rest):
    call = rest.pop("call", Call(enqueue=lambda: None, fetch=lambda: value))
    return Contender(implementation=name, role=role, prepare=rest.pop("prepare", lambda: call), **rest)


def case(*contenders, check=lambda found: abs(found - 1) * 10, memory=Memory.HOST):
    return Case(workload=WORKLOAD, memory=memory, contenders=contenders, check=check)


def cells_of(made, *, sensors=None, method=SHORT, **rest):
    return list(measure(made, method, monitor=lambda: Monitor(sensors or NoSensors("none here")), **rest))


def test_right_results_are_measured_beside_each_other():
    ours, peer = cells_of(case(contender(tuning=lambda: "model"), contender("lib", Role.PEER)))
    assert (ours.status, peer.status) == (Status.MEASURED, Status.MEASURED)
    assert ours.rate > 0 and ours.error == 0 and ours.first_call > 0 and len(ours.samples) == len(peer.samples) == 3
    assert (ours.kernel, ours.tuning) == ("", "model") and "after 3 rounds" in ours.stopped


@pytest.mark.parametrize("value, told", [(2.0, "10 times the tolerance"), (math.nan, "not numbers"), (math.inf, "not")])
def test_wrong_results_have_no_numbers(value, told):
    ours, peer = cells_of(case(contender(value=value), contender("lib", Role.PEER)))
    assert ours.status is Status.WRONG and told in ours.reason and ours.samples == () and ours.rate is None
    assert peer.status is Status.MEASURED
    ours, peer = cells_of(case(contender(), contender("lib", Role.PEER, value=value)))
    assert ours.status is Status.MEASURED and peer.status is Status.WRONG and not peer.samples


def test_what_nobody_can_check_has_no_numbers():
    for made in (case(contender(), check=None), case(contender(call=Call(enqueue=lambda: None)))):
        (found,) = cells_of(made)
        assert found.status is Status.UNVERIFIED and found.seconds is None and found.reason


def test_a_contender_may_have_a_check_of_its_own():
    """What computes in another arithmetic, or only moves bytes, is verified, too."""
    for error, status in ((0.5, Status.MEASURED), (2.0, Status.WRONG), (math.nan, Status.WRONG)):
        other = contender("lib", Role.PEER, value=3.0, arithmetic="float32", check=lambda found, error=error: error)
        ours, peer = cells_of(case(contender(), other))
        assert (ours.status, peer.status) == (Status.MEASURED, status)
        assert peer.error == (0.5 if error == 0.5 else 2.0 if error == 2.0 else None)
        assert bool(peer.samples) == bool(peer.first_call) == (status is Status.MEASURED)
    (ours,) = cells_of(case(contender(arithmetic="float32"), check=None))
    assert ours.status is Status.UNVERIFIED


@pytest.mark.parametrize(
    "error, status",
    [
        (MissingCapabilityError("no float64"), Status.UNSUPPORTED),
        (ImportError("no such library"), Status.UNSUPPORTED),
        (OutOfMemoryError("too large\nreally"), Status.FAILED),
        (RuntimeError(""), Status.FAILED),
    ],
)
def test_failures_are_reasons(error, status):
    def fail():
        raise error

    for made in (contender(prepare=fail), contender(call=Call(enqueue=fail, fetch=lambda: 1.0))):
        ours, peer = cells_of(case(made, contender("lib", Role.PEER)))
        assert ours.status is status and ours.reason == (str(error).splitlines() or ["RuntimeError"])[0]
        assert peer.status is Status.MEASURED


@pytest.mark.parametrize(
    "text, told",
    [
        ("\n=====\nFailed to import it.\n\nOriginal error:", "Failed to import it."),
        ("cannot open /home/ann/lib.so: not today", "cannot open lib.so: not today"),
        ("[Errno 2] No such file: '/home/ann/my files/lib.so'", "[Errno 2] No such file: 'lib.so'"),
        ("see https://docs.example/a/b for 3 GB/s and a / b", "see https://docs.example/a/b for 3 GB/s and a / b"),
        ("", "RuntimeError"),
    ],
)
def test_reasons_have_words_and_no_folders(text, told):
    assert reason_of(RuntimeError(text)) == told


def test_one_that_fails_later_leaves_the_others_alone():
    calls = []

    def enqueue():
        calls.append(1)
        if len(calls) > 2:
            raise RuntimeError("gone")

    ours, peer = cells_of(case(contender(), contender("lib", Role.PEER, call=Call(enqueue=enqueue, fetch=lambda: 1.0))))
    assert ours.status is Status.MEASURED and (peer.status, peer.reason) == (Status.FAILED, "gone")


class Planted(NoSensors):
    """Sensors that tell what they are given, one reading after the other, and count energy."""

    name = "planted"

    def __init__(self, *readings, watts=None):
        super().__init__("")
        self._readings, self._watts = list(readings), watts

    def read(self):
        return self._readings.pop(0) if len(self._readings) > 1 else self._readings[0]

    def energy(self):
        return None if self._watts is None else self._watts * time.perf_counter()


@pytest.mark.parametrize(
    "readings, told",
    [
        (
            [Reading(core_clock_mhz=1980.0), Reading(core_clock_mhz=1980.0), Reading(core_clock_mhz=1200.0)],
            "clock fell from 1980 to 1200 MHz",
        ),
        ([Reading(reasons=frozenset({"thermal slowdown"}))], "thermal slowdown in 3 of 3 readings"),
        ([Reading(reasons=frozenset({"power brake", "hardware slowdown"}))], "power brake in 3 of 3 readings"),
    ],
)
def test_throttled_cells_have_no_numbers(readings, told):
    (found,) = cells_of(case(contender()), sensors=Planted(*readings))
    assert (found.status, found.reason) == (Status.THROTTLED, told) and not found.samples and found.joules is None


def test_libraries_in_processes_of_their_own_are_throttled_too():
    """Their turns are on the same machine; of several each has its clocks, which wider vectors lower."""

    class Child:
        def __init__(self, seconds):
            self.seconds = seconds

        def turn(self):
            now.append(Reading(core_clock_mhz=3500.0 if self.seconds > 0.01 else 2400.0))
            return [self.seconds]

    def players():
        return [("narrow", Child(0.02), 0.1), ("wide", Child(0.01), 0.1)]

    now = []

    child = Contender(implementation="lib", role=Role.VENDOR, players=players)
    (found,) = cells_of(case(child), sensors=Planted(Reading(reasons=frozenset({"thermal slowdown"}))))
    assert found.status is Status.THROTTLED and not found.samples
    sensors = Planted()
    sensors.read = lambda: now[-1] if now else Reading(core_clock_mhz=2400.0)
    (found,) = cells_of(case(child), sensors=sensors)
    assert found.implementation == "lib: wide" and found.conditions["core_clock_mhz"] == [2400.0] * 3


def test_a_power_cap_is_a_condition():
    reading = Reading(core_clock_mhz=1500.0, power_w=700.0, reasons=frozenset({"power cap"}))
    (found,) = cells_of(case(contender()), sensors=Planted(reading))
    assert found.status is Status.MEASURED
    assert found.conditions == {
        "source": "planted",
        "core_clock_mhz": [1500.0] * 3,
        "power_w": [700.0] * 3,
        "reasons": ["power cap"],
    }


def test_energy_of_a_call():
    pause = Call(enqueue=lambda: time.sleep(0.001), fetch=lambda: 1.0)
    method = replace(SHORT, energy_seconds=0.02)
    (found,) = cells_of(case(contender(call=pause)), sensors=Planted(Reading(), watts=100.0), method=method)
    assert 0.1 <= found.joules < 10  # 100 W for a millisecond, or for as long as a busy machine took
    (found,) = cells_of(case(contender(call=pause)), sensors=Planted(Reading()), method=method)
    assert found.joules is None


@cuda.jit
def long_sum(x, n):
    i = cuda.grid(1)
    total = np.float32(0)
    for k in range(n):
        total += x[(i + k) % x.size]
    x[i] = total


def test_calls_that_are_not_waited_for_are_found_out(device):
    with Context.for_device(device) as context:
        x = cuda.to_device(np.zeros(64, np.float32))
        good = Call(
            enqueue=lambda: long_sum[1, 64](x, 1_000),
            wait=context.synchronize,
            fetch=lambda: 1.0,
            clock=clock_of(context),
        )
        (found,) = cells_of(case(contender(call=good), memory=Memory.DEVICE))
        assert found.status is Status.MEASURED and found.device_seconds > 0
        (found,) = cells_of(case(contender(call=replace(good, wait=lambda: None)), memory=Memory.DEVICE))
        assert found.status is Status.FAILED and "they were not waited for" in found.reason and not found.samples
        context.synchronize()


def test_cold_caches_are_flushed_before_each_call():
    told = []
    call = Call(enqueue=lambda: told.append("call"), fetch=lambda: 1.0)
    (found,) = cells_of(case(contender(call=call)), caches=Caches.COLD, flush=lambda: told.append("flush"))
    assert found.caches is Caches.COLD and told[:1] == ["call"]
    assert told[1:] == ["flush", "call"] * (len(told) // 2) and len(told) > 3


def test_the_fastest_of_several_players_counts():
    class Player:
        def __init__(self, seconds):
            self.seconds = seconds

        def turn(self):
            if self.seconds is None:
                raise RuntimeError("died")
            return [self.seconds]

    def players():
        return [("slow", Player(2.0), 0.1), ("fast", Player(1.0), 0.3), ("dead", Player(None), 0.0), wrong]

    wrong = "wrong", Player(0.1), math.inf
    (found,) = cells_of(case(Contender(implementation="lib", role=Role.VENDOR, players=players)))
    assert found.implementation == "lib: fast" and found.seconds == 1.0 and found.error == 0.3
    (found,) = cells_of(case(Contender(implementation="lib", role=Role.VENDOR, players=list)))
    assert found.status is Status.UNSUPPORTED
    (found,) = cells_of(case(Contender(implementation="lib", role=Role.VENDOR, players=lambda: [wrong])))
    assert found.status is Status.WRONG and not found.samples
    cold = case(Contender(implementation="lib", role=Role.VENDOR, players=players))
    (found,) = cells_of(cold, caches=Caches.COLD, flush=lambda: None)
    assert found.status is Status.UNSUPPORTED and "process of its own" in found.reason


def test_a_player_that_fails_is_not_the_fastest():
    """Though it was, for as long as it lived."""

    class Player:
        def __init__(self, seconds, turns):
            self.seconds, self.turns = seconds, turns

        def turn(self):
            self.turns -= 1
            if self.turns < 0:
                raise RuntimeError("died")
            return [self.seconds]

    def players():
        return [("dies", Player(0.001, 2), 0.0), ("lives", Player(1.0, 99), 0.0)]

    (found,) = cells_of(case(Contender(implementation="lib", role=Role.VENDOR, players=players)))
    assert found.implementation == "lib: lives" and len(found.samples) == 3


# sessions -------------------------------------------------------------------------------------------------------------


def jobs(device, *entries):
    return [session.Job(number=0, device=device, entry=entry) for entry in entries]


def entry(name, measured, **rest):
    def make(context):
        measured.append(name)
        yield Case(
            workload=replace(WORKLOAD, name=name),
            memory=Memory.HOST,
            contenders=(contender(),),
            check=lambda found: 0.0,
        )

    workload = replace(WORKLOAD, name=name)
    return Entry(path=workload.path, make=make, workload=workload, **rest)


def performed(device, run, todo, **rest):
    kept = []
    progress = session.Progress(keep=kept.append, **rest)
    made = session.perform(run, todo, Options(), SHORT, Settings.from_environment(), progress)
    return made, kept


def test_a_run_is_kept_after_each_workload_with_what_is_still_open(device):
    told = []
    todo = jobs(device, entry("a", told), entry("b", told), entry("c", told, obstacle="no such unit"))
    run, kept = performed(device, session.new_run([device], Options(), SHORT), todo)
    assert told == ["a", "b"] and [c.workload.name for c in run.cells] == ["a", "b", "c"]
    assert [c.status for c in kept[0].cells] == [Status.MEASURED, Status.OPEN, Status.OPEN]
    assert (run.cells[2].status, run.cells[2].reason) == (Status.UNSUPPORTED, "no such unit")
    assert run.finished and not kept[0].finished and kept[-1] == run


def test_a_run_goes_on_with_what_it_lacks(device):
    told = []
    todo = jobs(device, entry("a", told), entry("b", told))
    _, kept = performed(device, session.new_run([device], Options(), SHORT), todo)
    del told[:]
    run, _ = performed(device, kept[0], todo)
    assert told == ["b"] and [c.status for c in run.cells] == [Status.MEASURED] * 2
    assert run.cells[0] == kept[0].cells[0] and run.identity == kept[0].identity


def test_operands_that_do_not_fit_are_a_reason(device):
    def make(context):
        raise OutOfMemoryError("no room")

    (found,) = session.measured(
        session.Job(number=0, device=device, entry=Entry(path="planted/sum/float32/9", make=make)),
        Options(),
        SHORT,
        Settings.from_environment(),
    )
    assert (found.status, found.reason) == (Status.FAILED, "no room") and found.workload.path == "planted/sum/float32/9"
