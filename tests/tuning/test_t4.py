"""Tuning results in the form of Kernel Tuner."""

from __future__ import annotations

import json

import fastjsonschema
import pytest
from click.testing import CliRunner

from portagpu.cli import cli
from portagpu.errors import StoreError
from portagpu.tuning import Store
from portagpu.tuning.store import t4
from portagpu.tuning.store.lines import TaskKey
from portagpu.tuning.tunables import outcomes

pytestmark = pytest.mark.one_device

# what T4 1.0.0 publishes: https://github.com/KernelTuner/kernel_tuner, kernel_tuner/schema/T4/1.0.0
VERSION = {"type": "string", "pattern": r"^[0-9]{1,}.[0-9]{1,}.[0-9]{1,}$"}
WORDS = ["timeout", "compile", "runtime", "correctness", "constraints", "correct"]
NUMBER, TEXT, LIST, OBJECT = ({"type": name} for name in ("number", "string", "array", "object"))
TIMES = dict.fromkeys(("compilation_time", "framework", "search_algorithm", "validation"), NUMBER)
MEASUREMENT = {"name": TEXT, "value": {"type": ["number", "string", "array"]}, "unit": TEXT}
RESULT = {
    "timestamp": TEXT,
    "configuration": OBJECT,
    "objectives": LIST,
    "times": {"type": "object", "properties": {**TIMES, "runtimes": LIST}},
    "invalidity": {"enum": WORDS},
    "correctness": NUMBER,
    "measurements": {"type": "array", "items": {"type": "object", "properties": MEASUREMENT}},
}
REQUIRED = ["configuration", "times", "invalidity", "correctness"]
ITEMS = {"type": "array", "items": {"type": "object", "properties": RESULT, "required": REQUIRED}}
RESULTS = {"type": "object", "properties": {"schema_version": VERSION, "results": ITEMS}}
HARDWARE = {"type": "object", "properties": {"hardware_description": LIST, "operating_system": TEXT}}
ENVIRONMENT = {"type": "object", "properties": {"device_query": OBJECT, "requirements": LIST}}
PARTS = {"type": "object", "properties": {"zenodo": OBJECT, "hardware": HARDWARE, "environment": ENVIRONMENT}}
METADATA = {"type": "object", "properties": {"schema_version": VERSION, "metadata": PARTS}}

TASK = TaskKey(device="P|GPU|1.0", kernel="gemm", kernel_version=3, dtype="float32", shape_class="m=8 n=8")
OTHER = TaskKey(device="P|CPU|1.0", kernel="gemm", kernel_version=3, dtype="", shape_class="m=8")


def read(path, schema):
    return fastjsonschema.compile(schema)(json.loads(path.read_text()))


def measurements(result):
    return {one["name"]: (one["value"], one["unit"]) for one in result["measurements"]}


@pytest.fixture
def store(tmp_path):
    found = Store(tmp_path / "tuning" / "gemm.jsonl")
    kinds = [
        outcomes.Measured(0.002, (0.001, 0.002, 0.003), 0.5),
        outcomes.CompileFailed("see /home/somebody/kernels/x.cl:3"),
        outcomes.LaunchFailed("it died"),
        outcomes.WrongResult("3 is not 4"),
        outcomes.TimedOut(5.0),
        outcomes.Spilled(64, 0),
        outcomes.OutOfBounds("behind y"),
    ]
    for number, outcome in enumerate(kinds):
        found.add_trial(TASK, {"x": number, "tile": (1, 2), "padded": True}, outcome)
    found.add_winner(TASK, {"x": 0, "tile": (1, 2), "padded": True}, 0.002)
    return found


def test_every_outcome_has_its_word_and_all_that_is_known(store, tmp_path):
    assert set(t4.INVALIDITY) == set(outcomes.Outcome.__args__) and set(t4.INVALIDITY.values()) == set(WORDS)
    ((path, count),) = t4.export(store, tmp_path / "out.json")
    assert (path, count) == (tmp_path / "out.json", 7)
    data = read(path, RESULTS)
    assert data["schema_version"] == "1.0.0" and all(set(REQUIRED) <= set(result) for result in data["results"])
    words = [result["invalidity"] for result in data["results"]]
    assert words == ["correct", "compile", "runtime", "correctness", "timeout", "constraints", "correctness"]
    assert [result["correctness"] for result in data["results"]] == [1, 0, 0, 0, 0, 0, 0]
    first, failed = data["results"][:2]
    assert first["configuration"] == {"x": 0, "tile": [1, 2], "padded": True} and first["objectives"] == ["time"]
    assert first["times"] == {"runtimes": [1.0, 2.0, 3.0], "compilation_time": 498.0}
    told = measurements(first)
    assert told["time"] == (2.0, "ms") and told["first_run"] == (500.0, "ms") and told["verified"] == (1, "")
    assert told["problem"] == ("float32 m=8 n=8", "") and told["kernel_version"] == (3, "")
    assert failed["times"] == {"runtimes": []} and measurements(failed)["reason"][0].endswith("see x.cl:3")
    assert first["timestamp"].startswith("20") and "somebody" not in path.read_text()


def test_metadata_tells_of_the_device_and_no_more(store, tmp_path):
    t4.export(store, tmp_path / "out")
    data = read(tmp_path / "out.metadata.json", METADATA)["metadata"]
    assert data["hardware"]["hardware_description"] == [{"platform": "P", "device": "GPU", "driver_version": "1.0"}]
    assert data["kernel_name"] == "gemm" and data["environment"]["requirements"][0].startswith("portagpu==")


def test_each_device_has_its_file_and_winners_without_trials_are_there(store, tmp_path, monkeypatch):
    store.add_winner(OTHER, {"x": 9}, 0.004)
    command = ["tune", "export", "--t4", str(tmp_path / "out.json")]
    done = CliRunner().invoke(cli, command, env={"PORTAGPU_DATA_DIR": str(tmp_path)}, catch_exceptions=False)
    assert done.exit_code == 0 and done.output.count("results written") == 2
    (result,) = read(tmp_path / "out-P-CPU-1.0.json", RESULTS)["results"]
    assert result["configuration"] == {"x": 9} and result["times"] == {"runtimes": [4.0]}
    assert len(read(tmp_path / "out-P-GPU-1.0.json", RESULTS)["results"]) == 7
    assert (tmp_path / "out-P-CPU-1.0.metadata.json").exists()
    assert [count for _, count in t4.export(store, tmp_path / "one.json", OTHER.device)] == [1]
    done = CliRunner().invoke(cli, [*command, "--shipped"], env={"PORTAGPU_DATA_DIR": str(tmp_path)})
    assert done.exit_code == 2 and "choose one" in done.output


def test_nothing_is_no_file(tmp_path):
    with pytest.raises(StoreError, match="no results to export"):
        t4.export(Store(tmp_path / "none.jsonl"), tmp_path / "out.json")
    assert not list(tmp_path.iterdir())
