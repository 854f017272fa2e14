"""What is shown of a cell, and figures of many: roofs, ratios with intervals, means, portability, cascades."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from sample_runs import cell, five, run, samples, vendors

from portagpu.bench.records.cell import Memory, Role, Status
from portagpu.bench.records.workload import Unit
from portagpu.report.merging import merge
from portagpu.report.metrics import cascades, efficiency, geometric_mean, portability, row_portability, summary
from portagpu.report.roofs import Roofs
from portagpu.report.views import VIEWS

pytestmark = pytest.mark.one_device


def place(*cells, **changes):
    (found,) = [one for one in merge([run(*cells, **changes)]).places.values() if not one.row.is_roof]
    return found


def value(key, *cells):
    return VIEWS[key].of(place(*cells)).value


def roof(name, arithmetic, rate):
    work = {"suite": "roofs", "name": name, "arithmetic": arithmetic, "flops": None, "nbytes": None, "size": ""}
    work |= {"flops": rate, "unit": Unit.GFLOPS} if name == "flops" else {"nbytes": rate, "unit": Unit.GBYTES}
    return cell(1.0, role=Role.ROOF, implementation="probe", work=work)


def test_rates_have_intervals_with_three_rounds():
    figure = VIEWS["rate"].of(place(cell()))
    assert figure.value == pytest.approx(1.0) and 0.99 < figure.low <= figure.value <= figure.high < 1.01
    figure = VIEWS["rate"].of(place(cell(samples=((1.0,), (1.0,)))))
    assert figure.value == 1.0 and figure.low is None


def test_times_are_shown_as_times_and_compared_by_speed():
    work = {"unit": Unit.MICROSECONDS, "flops": None, "nbytes": None}
    cells = cell(2e-6, work=work), vendors(1e-6, work=work)
    assert value("rate", *cells) == pytest.approx(2.0) and value("vendor", *cells) == pytest.approx(0.5)


def test_shares_of_vendor_and_best_peer():
    cells = (cell(1.0), vendors(0.8), vendors(0.5, implementation="CLBlast", role=Role.PEER))
    assert value("vendor", *cells) == pytest.approx(0.8) and value("peer", *cells) == pytest.approx(0.5)
    assert VIEWS["peer"].of(place(*cells)).note == "CLBlast"
    assert VIEWS["vendor"].of(place(cell())).why == "no vendor library"
    assert "failed" in VIEWS["vendor"].of(place(cell(), vendors(None))).why


def test_an_interval_of_a_ratio_covers_it_as_often_as_it_says():
    generator, inside = np.random.default_rng(3), 0
    for _ in range(200):
        ours, theirs = (samples(generator, seconds, 0.02, rounds=15) for seconds in (1.0, 0.8))
        figure = VIEWS["vendor"].of(place(cell(samples=ours), vendors(samples=theirs)))
        inside += figure.low <= 0.8 <= figure.high
    assert inside >= 180  # a bootstrap of 15 rounds is somewhat narrow: 95% are 190


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.MEASURED])
def test_no_view_shows_a_number_of_what_was_not_measured(status):
    found = place(
        cell(None, status=status, reason="why"), vendors(), roof("copy", "", 1e9), roof("flops", "float32", 1e9)
    )
    for view in VIEWS.values():
        figure = view.of(found)
        assert figure.value is None and figure.why


def test_energy_first_call_and_bytes():
    cells = cell(0.5, joules=3.0, first_call=0.25)
    assert value("energy", cells) == pytest.approx(3000.0)  # of 1e9 operations
    assert value("cold", cells) == pytest.approx(250.0) and value("bandwidth", cells) == pytest.approx(0.2)
    for key in ("energy", "cold"):
        assert value(key, cell()) is None


def test_the_roof_is_the_lower_of_peak_and_bandwidth():
    roofs = (roof("flops", "float32", 4e9), roof("copy", "", 1e9))
    assert value("roof", cell(1.0), *roofs) == pytest.approx(0.25)  # 1e9 operations at 4e9
    assert VIEWS["roof"].of(place(cell(1.0), *roofs)).note == "limited by float32"
    low = {"nbytes": 8e8}  # 0.8 s at 1e9 bytes/s
    assert value("roof", cell(1.0, work=low), *roofs) == pytest.approx(0.8)
    assert VIEWS["roof"].of(place(cell(1.0, work=low), *roofs)).note == "limited by memory"


def test_probes_are_rows_that_are_compared_with_nobody():
    probe = roof("copy", "", 1e9)
    matrix = merge([run(probe, replace(probe, role=Role.PEER, implementation="NumPy"), cell())])
    (place,) = [one for one in matrix.places.values() if one.row.is_roof]
    assert VIEWS["rate"].of(place).value == pytest.approx(1.0)
    assert {VIEWS[key].of(place).why for key in ("vendor", "peer", "roof")} == {"a roof"}
    assert not cascades(matrix)
    assert row_portability((place,), VIEWS["rate"]) is None is row_portability((place,), VIEWS["roof"])


def test_what_is_faster_than_its_arithmetics_roof_has_another():
    """As products in matrix units are, where only the vector units were probed."""
    roofs = (roof("flops", "float32", 5e8), roof("copy", "", 1e9))
    figure = VIEWS["roof"].of(place(cell(1.0), *roofs))
    assert figure.value is None and figure.why == "faster than the measured roof of float32"
    in_cache = (roof("flops", "float32", 4e9), roof("copy", "", 5e7))
    assert VIEWS["roof"].of(place(cell(1.0), *in_cache)).value == pytest.approx(2.0)


def test_roofs_that_were_not_measured_are_named():
    assert "float32" in VIEWS["roof"].of(place(cell(), roof("copy", "", 1e9))).why
    assert "memory" in VIEWS["roof"].of(place(cell(), roof("flops", "float32", 1e9))).why
    assert "transfers" in VIEWS["roof"].of(place(cell(memory=Memory.HOST), roof("copy", "", 1e9))).why


@pytest.mark.parametrize(
    ("arithmetic", "peak"),
    [("float32", 1.0), ("float16", 9.0), ("float16>float32", 9.0), ("float32/tf32", 5.0), ("int8", None)],
)
def test_peaks_are_those_of_what_is_computed(arithmetic, peak):
    peaks = {"float32": 1.0, "float16": 2.0, "float16 matrix unit": 9.0, "tf32 matrix unit": 5.0}
    assert Roofs(peaks=peaks).peak(arithmetic) == peak


def test_means_and_portability():
    assert geometric_mean([0.5, 2.0]) == pytest.approx(1.0) and geometric_mean([]) is None
    assert portability([1.0, 0.5]) == pytest.approx(2 / 3)
    assert portability([1.0, 0.0]) == 0.0 and portability([1.0, None]) is None and portability([]) is None


def test_a_summary_has_the_worst_case():
    cells = [cell(n, work={"size": str(n)}) for n in (1.0, 4.0)] + [
        vendors(1.0, work={"size": str(n)}) for n in (1.0, 4.0)
    ]
    found = summary(merge([run(*cells)]).places.values(), VIEWS["vendor"])
    assert found.mean == pytest.approx(0.5) and found.counted == 2
    assert found.worst.value == pytest.approx(0.25) and found.where.row.workload.size == "4.0"
    empty = summary([None], VIEWS["vendor"])
    assert empty.mean is None and empty.where is None


def test_efficiency_is_against_the_best_and_unknown_is_not_zero():
    both = place(cell(1.0), vendors(0.5))
    assert efficiency(both, "PortaGPU") == pytest.approx(0.5) and efficiency(both, "lib 2") == 1.0
    assert efficiency(both, "CLBlast") == 0.0  # not there
    for status, expected in (
        (Status.WRONG, 0.0),
        (Status.UNSUPPORTED, 0.0),
        (Status.THROTTLED, None),
        (Status.OPEN, None),
    ):
        assert efficiency(place(cell(None, status=status, reason="x"), vendors()), "PortaGPU") == expected
    assert efficiency(None, "PortaGPU") is None


def two_devices():
    """PortaGPU at 1/2 and 1; the library on one of them alone."""
    return merge([run(cell(2.0), vendors(1.0), cell(1.0, device=1), devices=("A", "B"))])


def test_cascades_fall_and_end_in_the_metric():
    ours, theirs = cascades(two_devices())
    assert ours.implementation == "PortaGPU" and ours.devices == (1, 0)
    assert ours.efficiencies == pytest.approx((1.0, 0.5)) and ours.portabilities == pytest.approx((1.0, 2 / 3))
    assert theirs.efficiencies == (1.0, 0.0) and theirs.portabilities == (1.0, 0.0)  # B does not have it
    assert row_portability(two_devices().row_places(0), VIEWS["vendor"]) == pytest.approx(2 / 3)


def test_what_others_support_nowhere_is_no_problem_of_theirs():
    """But of ours; and what they tried in vain is theirs, too."""
    other = {"work": {"size": "512"}}
    refused = {"status": Status.UNSUPPORTED, "reason": "no such instruction"}

    def told(role, **changes):
        cells = []
        for device in (0, 1):
            cells += [cell(1.0, device=device), vendors(2.0, device=device), cell(1.0, device=device, **other)]
            names = {"implementation": "a third", "role": role}
            cells += [vendors(1.0, device=device, **other), cell(4.0, device=device, **names)]
            cells.append(cell(None, device=device, **names, **other, **changes))
        found = cascades(merge([run(*cells, devices=("A", "B"))]))
        return next((one.problems, one.portabilities[-1]) for one in found if one.implementation == "a third")

    assert told(Role.PEER, **refused) == (1, pytest.approx(0.25))
    assert told(Role.OURS, **refused) == (2, 0.0)
    assert told(Role.PEER) == (2, 0.0)


def test_problems_that_nobody_else_has_are_no_proof():
    matrix = merge([run(cell(), cell(1.0, device=1), devices=("A", "B"))])
    assert not cascades(matrix) and row_portability(matrix.row_places(0), VIEWS["vendor"]) is None


def test_a_device_that_does_not_run_one_problem_makes_the_metric_zero():
    matrix = merge(*five())
    ours = cascades(matrix)[0]
    assert ours.role is Role.OURS and ours.portabilities[-1] == 0.0 and ours.portabilities[-2] > 0.5
    falling = ours.efficiencies
    assert list(falling) == sorted(falling, reverse=True)


def test_portability_by_roofs_takes_no_more_than_the_whole():
    roofs = (roof("flops", "float32", 4e10), roof("copy", "", 4e8))
    matrix = merge([run(cell(1.0), *roofs), run(cell(0.1), *roofs, devices=("B",), identity="s")])
    assert row_portability(matrix.row_places(0), VIEWS["roof"]) == pytest.approx(2 / (4 + 1))
    assert math.isclose(VIEWS["roof"].of(matrix.places[0, 1]).value, 2.5)
