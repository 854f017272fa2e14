"""Result files: what is written is read, older files become today's runs, and others' files are read with suspicion."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from portagpu.bench.records import schema
from portagpu.bench.records.cell import Caches, Cell, Memory, Role, Status
from portagpu.bench.records.files import KIND, cell_json, load, save
from portagpu.bench.records.run import Device, Machine, Run
from portagpu.bench.records.workload import Unit, Workload
from portagpu.bench.running.facts import command_line, machine_facts
from portagpu.errors import StoreError
from portagpu.escaping import visible

pytestmark = pytest.mark.one_device

TEXTS = st.text(max_size=20)
TIMES = st.floats(1e-9, 1e6)
WORKLOADS = st.builds(
    Workload,
    suite=TEXTS,
    name=TEXTS,
    arithmetic=TEXTS,
    size=TEXTS,
    unit=st.sampled_from(Unit),
    flops=st.floats(1, 1e18),
    nbytes=st.floats(1, 1e18),
)
SAMPLES = st.lists(st.lists(TIMES, min_size=1, max_size=3).map(tuple), min_size=1, max_size=4).map(tuple)
MEASURED = st.builds(
    Cell,
    device=st.just(0),
    workload=WORKLOADS,
    implementation=TEXTS,
    role=st.sampled_from(Role),
    memory=st.sampled_from(Memory),
    status=st.just(Status.MEASURED),
    caches=st.sampled_from(Caches),
    samples=SAMPLES,
    first_call=st.none() | TIMES,
    error=st.none() | st.floats(0, 1),
    joules=st.none() | TIMES,
    conditions=st.dictionaries(
        st.text(max_size=9), st.floats(-1e6, 1e6) | TEXTS | st.lists(st.floats(0, 1), max_size=3)
    ),
    stopped=TEXTS,
)
REASONS = st.builds(
    Cell,
    device=st.just(0),
    workload=WORKLOADS,
    implementation=TEXTS,
    role=st.sampled_from(Role),
    memory=st.sampled_from(Memory),
    status=st.sampled_from([one for one in Status if one is not Status.MEASURED]),
    reason=st.text(min_size=1, max_size=20),
)
DEVICE = Device(machine=0, name="GPU", platform="X", driver="1", capabilities={"fp64": True, "compute_units": 4})


def run_of(*cells):
    machine = Machine(processor="p", cores=2, software={"numpy": "2"})
    return Run(identity="a", started="then", machines=(machine,), devices=(DEVICE,), cells=cells)


@given(st.lists(MEASURED | REASONS, max_size=4))
@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_files_round_trip(tmp_path_factory, cells):
    path = tmp_path_factory.getbasetemp() / "round.json"
    run = run_of(*cells)
    save(path, run)
    assert load(path) == run
    assert path.read_text().count("\n") < 60 + len(cells)  # a cell is a line, however many samples it has


CELL = Cell(
    device=0,
    workload=Workload(
        suite="gemm", name="matmul", arithmetic="float32", size="10 x 20 x 30", unit=Unit.GFLOPS, flops=1e9, nbytes=1e6
    ),
    implementation="PortaGPU",
    role=Role.OURS,
    memory=Memory.DEVICE,
    status=Status.MEASURED,
    samples=((0.5, 0.25),),
)


def test_what_a_cell_shows():
    assert CELL.workload.path == "gemm/matmul/float32/10x20x30" and CELL.workload.intensity == 1000
    assert CELL.seconds == 0.375 and CELL.rate == pytest.approx(1 / 0.375)
    wrong = replace(CELL, status=Status.WRONG, reason="far off")
    assert wrong.seconds is None and wrong.rate is None
    micro = replace(CELL.workload, unit=Unit.MICROSECONDS, flops=None)
    assert micro.shown(0.5) == 5e5 and not micro.more_is_better and micro.intensity is None
    with pytest.raises(ValueError, match="no work"):
        replace(CELL.workload, flops=None)


def changed(**changes):
    data = json.loads(TEMPLATE)
    data["cells"][0] |= changes
    return data


@pytest.fixture(scope="module", autouse=True)
def template(tmp_path_factory):
    global TEMPLATE
    path = tmp_path_factory.mktemp("records") / "t.json"
    save(path, run_of(CELL))
    TEMPLATE = path.read_text()


def test_the_schema_is_published_and_names_itself():
    made = json.loads(schema.PATH.read_text())
    assert made["$id"] == schema.IDENTITY and made["properties"]["schema"]["const"] == schema.VERSION
    published = Path(__file__).parents[2] / "docs" / "schema" / schema.PATH.name
    assert published.read_bytes() == schema.PATH.read_bytes()
    data = json.loads(TEMPLATE)
    assert (data["$schema"], data["schema"], data["kind"]) == (schema.IDENTITY, schema.VERSION, KIND)


def test_the_schema_means_the_same_to_another_reader():
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft7Validator(json.loads(schema.PATH.read_text()))
    validator.validate(json.loads(TEMPLATE))
    for broken in (changed(samples=[]), changed(status="failed"), changed(device=-1), changed(surprise=1)):
        assert not validator.is_valid(broken)


BROKEN = {
    "no samples": {"samples": []},
    "empty round": {"samples": [[]]},
    "negative time": {"samples": [[-1.0]]},
    "text for a time": {"samples": [["1"]]},
    "true for a time": {"samples": [[True]]},
    "samples of a failure": {"status": "failed", "reason": "x"},
    "no reason": {"status": "failed", "samples": []},
    "unknown status": {"status": "fine"},
    "unknown device": {"device": 1},
    "negative device": {"device": -1},
    "unknown entry": {"surprise": 1},
    "no unit": {"workload": {"suite": "a", "name": "b", "arithmetic": "", "size": "", "unit": "m/s"}},
    "no work": {"workload": {"suite": "a", "name": "b", "arithmetic": "", "size": "", "unit": "GB/s"}},
    "long text": {"implementation": "x" * 10_000},
    "nested conditions": {"conditions": {"a": {"b": 1}}},
    "endless error": {"error": 10**400},
    "more error than is allowed": {"error": 1.5},
    "half a device": {"device": 0.5},
}


@pytest.mark.parametrize("changes", BROKEN.values(), ids=BROKEN)
def test_damaged_cells_are_refused_with_the_place(changes, tmp_path):
    path = tmp_path / "d.json"
    path.write_text(json.dumps(changed(**changes)))
    with pytest.raises(StoreError, match="is damaged") as told:
        load(path)
    assert "cells[0]" in str(told.value) and visible(told.value.message) == told.value.message


def test_whole_numbers_may_have_a_point(tmp_path):
    """JSON Schema takes 0.0 for an integer, and so do other programs that write files."""
    data = changed(device=0.0)
    data["devices"][0]["machine"] = 0.0
    data["machines"][0] |= {"cores": 4.0, "memory_bytes": 1e9}
    data["seed"] = 3.0
    path = tmp_path / "d.json"
    path.write_text(json.dumps(data))
    run = load(path)
    (machine,), (cell,) = run.machines, run.cells
    found = [cell.device, run.devices[0].machine, machine.cores, machine.memory_bytes, run.seed]
    assert found == [0, 0, 4, 10**9, 3] and all(type(value) is int for value in found)


def test_other_versions_and_kinds(tmp_path):
    path = tmp_path / "o.json"
    for data, why in (
        ({**changed(), "schema": schema.VERSION + 1}, "update PortaGPU"),
        ({**changed(), "kind": "ladder"}, "another kind of file"),
        ([], "not an object"),
    ):
        path.write_text(json.dumps(data))
        with pytest.raises(StoreError, match=why):
            load(path)


OLD = {
    "device": "GPU",
    "driver": "1.0",
    "dtype": "float32",
    "m": 256,
    "n": 256,
    "k": 256,
    "memory": "device arrays",
    "peer": "lib 2",
    "gflops": 50.0,
    "peer_gflops": 100.0,
    "error": 0.1,
    "problem": None,
}


def old(tmp_path, version, *cells, kind=None):
    path = tmp_path / "old.json"
    data = {
        "schema": version,
        "machine": {"date": "2026-01-01", "numpy": "2"},
        "cells" if kind is None else "rows": cells,
    }
    path.write_text(json.dumps({**data, **({} if kind is None else {"kind": kind})}))
    return load(path)


def test_products_of_older_versions(tmp_path):
    samples = {
        "samples": [[1.0, 1.5], [1.25]],
        "peer_samples": [[0.5]],
        "peer_error": 0.2,
        "peer_arithmetic": "float32",
    }
    run = old(tmp_path, 3, {**OLD, **samples, "quartiles": [1, 2, 3], "precision": "tf32"})
    ours, peer = run.cells
    assert (run.started, run.devices[0].name, run.devices[0].platform) == ("2026-01-01", "GPU", "1.0")
    assert ours.workload.path == "gemm/matmul/float32/tf32/256" and ours.samples == ((1.0, 1.5), (1.25,))
    assert (peer.role, peer.samples, peer.error, peer.name) == (Role.VENDOR, ((0.5,),), 0.2, "lib 2, float32")
    ours, peer = old(tmp_path, 2, OLD).cells
    assert ours.rate == pytest.approx(50) and peer.rate == pytest.approx(100) and ours.error == 0.1
    square = {name: value for name, value in OLD.items() if name not in ("m", "n", "k")} | {"size": 512}
    assert old(tmp_path, 1, square).cells[0].workload.size == "512"


def test_failures_of_older_versions(tmp_path):
    gone = {"gflops": None, "peer_gflops": None}
    ours, peer = old(tmp_path, 3, {**OLD, **gone, "problem": "wrong result: 9 times the tolerance"}).cells
    assert ours.status is Status.WRONG and peer.status is Status.WRONG and ours.rate is None
    ours, peer = old(tmp_path, 3, {**OLD, "peer_gflops": None, "problem": "lib 2: no room"}).cells
    assert ours.status is Status.MEASURED and (peer.status, peer.reason) == (Status.FAILED, "lib 2: no room")


def test_a_cell_that_stood_beside_two_peers_is_one(tmp_path):
    run = old(tmp_path, 3, OLD, {**OLD, "peer": "other"}, {**OLD, "device": "CPU"})
    assert [cell.implementation for cell in run.cells] == ["PortaGPU", "lib 2", "other", "PortaGPU", "lib 2"]
    assert [cell.device for cell in run.cells] == [0, 0, 0, 1, 1]


def test_routines_and_textbook_kernels_of_older_versions(tmp_path):
    row = {"device": "GPU", "driver": "1", "size": "9", "peer": "CLBlast", "seconds": 0.1, "peer_seconds": 0.2}
    routine = {**row, "routine": "axpy", "dtype": "float32", "memory": "NumPy arrays", "work": 6e9, "unit": "GB/s"}
    ours, peer = old(tmp_path, 1, routine, kind="BLAS routines").cells
    assert ours.rate == pytest.approx(60) and ours.memory is Memory.HOST and peer.role is Role.PEER
    kernel = {**row, "kernel": "naive matmul", "samples": [0.1, 0.1], "peer_samples": [], "peer_seconds": None}
    ours, peer = old(tmp_path, 1, kernel, kind="textbook kernels").cells
    assert ours.workload.path == "textbook/naive-matmul/9" and ours.seconds == 0.1 and peer.status is Status.FAILED


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(["cells", "devices", "machines"]), st.data(), JSON)
@settings(max_examples=150, deadline=None)
def test_any_value_anywhere_is_read_or_refused(tmp_path_factory, part, data, value):
    made = json.loads(TEMPLATE)
    made["cells"] = [cell_json(replace(CELL, conditions={"a": 1}, repeat="x"))]
    entry = made[part][0]
    entry[data.draw(st.sampled_from(sorted(entry)))] = value
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps(made))
    try:
        load(path)
    except StoreError as error:
        assert visible(error.message) == error.message and len(error.message) < 1000


def test_nothing_tells_whose_machine_it_is():
    facts = machine_facts()
    told = json.dumps([facts.system, facts.processor, dict(facts.software)])
    assert str(Path.home()) not in told and not facts.label
    typed = "bench ann/k.py:f -o/home/ann/x.json --keep=/home/ann/y -o ../ann/z.json --filter gemm/*/4 --filter=a/b"
    line = command_line(["/home/ann/bin/portagpu", *typed.split(), "--dask", "tcp://lab:1", "--dask=tcp://lab:2"])
    told = "portagpu bench k.py:f -ox.json --keep=y -o z.json --filter gemm/*/4 --filter=a/b"
    assert line == f"{told} --dask ADDRESS --dask=ADDRESS"
