"""Runs of several files as one matrix: which devices are the same, and which cells are compared."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sample_runs import cell, five, run, vendors

from portagpu.bench.records.cell import Caches, Memory, Role, Status
from portagpu.bench.records.run import Machine
from portagpu.bench.records.workload import Unit
from portagpu.errors import SettingsError
from portagpu.report.merging import merge
from portagpu.report.selection import select

pytestmark = pytest.mark.one_device


def titles(matrix):
    return [column.short for column in matrix.columns]


def test_five_machines_are_five_columns():
    matrix = merge(*five())
    assert len(matrix.columns) == 5 and len(set(titles(matrix))) == 5 and not matrix.notes
    problems = [row for row in matrix.rows if not row.is_roof]
    assert sum(not one.row.is_roof for one in matrix.places.values()) == 5 * len(problems)
    assert matrix.columns[0].files == ("machine-1.json",)
    suites = [row.workload.suite for row in matrix.rows]
    assert suites == sorted(suites)


def test_a_file_that_is_given_twice_adds_nothing():
    one = run(cell(), vendors())
    matrix = merge([one, one], ["a.json", "a.json"])
    assert titles(matrix) == ["GPU"] and len(matrix.rows) == 1
    assert len(matrix.places[0, 0].cells) == 2 and matrix.columns[0].files == ("a.json",)


def test_cells_that_a_file_has_twice_are_noted():
    one, other = cell(), cell(2.0)
    matrix = merge([run(one, other)], ["a.json"])
    assert len(matrix.places[0, 0].cells) == 1 and matrix.places[0, 0].ours == other
    assert ["more than once" in note and "a.json" in note for note in matrix.notes] == [True]
    assert not merge([run(one, one)], ["a.json"]).notes
    still_open = cell(status=Status.OPEN, reason="its worker died", samples=())
    assert merge([run(one, still_open)], ["a.json"]).places[0, 0].ours == one


def test_an_earlier_state_of_a_run_adds_nothing():
    then = run(cell(None, status=Status.OPEN, reason="ended"), vendors())
    for order in ([then, run(cell(), vendors())], [run(cell(), vendors()), then]):
        (place,) = merge(order, ["a", "b"]).places.values()
        assert place.ours.status is Status.MEASURED and len(place.cells) == 2


def test_suites_of_one_device_in_several_files_make_one_column():
    other = cell(work={"name": "potrf"})
    matrix = merge([run(cell()), run(other, identity="s")], ["a.json", "b.json"])
    assert titles(matrix) == ["GPU"] and len(matrix.rows) == 2
    assert matrix.columns[0].files == ("a.json", "b.json")


def test_devices_of_one_name_are_told_apart_by_their_files():
    matrix = merge([run(cell()), run(cell(2.0), identity="s")], ["a.json", "b.json"])
    assert titles(matrix) == ["GPU of a.json", "GPU of b.json"]
    assert [column.title for column in matrix.columns] == ["GPU of a.json (p 1.0)", "GPU of b.json (p 1.0)"]
    assert "different numbers" in matrix.notes[0]


def test_devices_of_one_name_are_told_apart_by_what_differs():
    drivers = [run(cell(), devices=("GPU",)), run(cell(2.0), identity="s")]
    drivers[1] = replace(drivers[1], devices=(replace(drivers[1].devices[0], driver="2.0"),))
    assert titles(merge(drivers)) == ["GPU (p 1.0)", "GPU (p 2.0)"]
    labels = [replace(run(cell(n + 1.0), identity=str(n)), machines=(Machine(label=f"lab-{n}"),)) for n in (0, 1)]
    assert titles(merge(labels)) == ["GPU of lab-0", "GPU of lab-1"]


def test_twins_in_one_machine_stay_two():
    twins = run(cell(), cell(2.0, device=1), devices=("GPU", "GPU"))
    matrix = merge([twins], ["a.json"])
    assert titles(matrix) == ["GPU #1", "GPU #2"]
    assert [matrix.places[0, n].ours.seconds for n in (0, 1)] == pytest.approx([1.0, 2.0])


def test_devices_without_cells_have_no_column():
    assert titles(merge([run(cell(), devices=("GPU", "CPU"))])) == ["GPU"]


def test_memory_and_caches_are_problems_of_their_own():
    cells = (cell(), cell(2.0, memory=Memory.HOST), cell(3.0, caches=Caches.COLD))
    matrix = merge([run(*cells)])
    assert len(matrix.rows) == 3
    assert {row.remark for row in matrix.rows} == {"", "NumPy arrays", "cold caches"}


def test_the_fastest_counts_and_asked_arithmetic_goes_first():
    cells = (
        cell(2.0),
        cell(1.0, implementation="PortaGPU tuned"),
        cell(0.1, implementation="x", arithmetic="float16"),
        vendors(3.0),
        vendors(0.5, implementation="lib 3"),
        vendors(0.4, implementation="CLBlast", role=Role.PEER),
        vendors(None, implementation="broken"),
    )
    (place,) = merge([run(*cells)]).places.values()
    assert place.ours.implementation == "PortaGPU tuned"
    assert place.vendor.implementation == "lib 3" and place.rival.implementation == "CLBlast"


def test_cells_of_two_runs_are_not_compared():
    matrix = merge([run(cell()), run(vendors(), identity="s")], ["a", "b"])
    (place,) = matrix.places.values()
    assert len(place.cells) == 1 and "two runs" in matrix.notes[0]


def test_roofs_of_several_files_are_the_best_of_each():
    def roof(seconds):
        work = {"suite": "roofs", "name": "copy", "arithmetic": "", "unit": Unit.GBYTES}
        return cell(seconds, role=Role.ROOF, implementation="probe", work=work)

    matrix = merge([run(cell(), roof(1.0)), run(roof(0.5), identity="s")], ["a", "b"])
    assert titles(matrix) == ["GPU"] and len(matrix.rows) == 2 and not matrix.notes
    assert matrix.columns[0].roofs.bandwidths == {"copy": pytest.approx(2e8)}


def test_parts_are_chosen_by_words_and_devices():
    matrix = merge(*five())
    chosen = select(matrix, ["gemm float64", "potrf"], ["isar", "AURORA"])
    assert len(chosen.columns) == 3
    assert {(row.workload.suite, row.workload.arithmetic) for row in chosen.rows} == {
        ("gemm", "float64"),
        ("blas", "float32"),
    }
    assert all(place.column in chosen.columns for place in chosen.places.values())
    assert {place.row for place in chosen.places.values()} == set(chosen.rows)
    with pytest.raises(SettingsError, match="no cell is left"):
        select(matrix, ["nothing such"], [])


def test_nothing_is_an_empty_matrix():
    matrix = merge([])
    assert not matrix.rows and not matrix.columns and not select(matrix, ["x"], ["y"]).places
