"""``portagpu check`` for continuous integration: lines, conditions, JSON, SARIF, advice, the exit status."""

from __future__ import annotations

import json
from pathlib import Path

import planted
import pytest
from click.testing import CliRunner
from compilers import compiler_of

from portagpu.backends.opencl.backend import OpenCL
from portagpu.backends.opencl.offline import compilers, ocloc
from portagpu.backends.opencl.offline.targets import TARGETS
from portagpu.checking.records import VERSION
from portagpu.checking.rules import RULES
from portagpu.checking.schema import SCHEMA
from portagpu.cli.check import check_command

_FILE = Path(planted.__file__)
_LINES = _FILE.read_text(encoding="utf-8").splitlines()


def line_of(text):
    return next(number for number, line in enumerate(_LINES, 1) if text in line)


def check(kernel, *words):
    return CliRunner().invoke(check_command, [f"{_FILE}:{kernel}", *map(str, words)])


def names(*wanted):
    """Targets as options, if all of them can be compiled for."""
    for name in wanted:
        compiler_of(TARGETS[name])
    return [word for name in wanted for word in ("--target", name)]


def valid(data):
    pytest.importorskip("fastjsonschema").compile(SCHEMA)(data)
    return data


def test_a_spill_and_a_missing_feature_are_told_with_their_lines():
    done = check("spills", *names("gfx1100", "sm_90"))
    assert done.exit_code == 1
    assert f"planted.py:{line_of('the scratch accesses')}" in done.output
    assert "does not fit registers: " in done.output and "bytes of scratch memory" in done.output
    done = check("matrix", *names("gfx942", "sm_90"))
    assert done.exit_code == 1 and f"planted.py:{line_of('a feature')}" in done.output
    assert "needs a matrix unit" in done.output and "cuda.mfma(" in done.output


def test_json_has_what_others_read(tmp_path):
    place = tmp_path / "checks" / "found.json"
    done = check("spills", *names("gfx1100", "sm_90"), "--format", "json", "-o", place)
    assert done.exit_code == 1 and "gfx1100" in done.output  # the table is here
    data = valid(json.loads(place.read_text()))
    assert data["format"] == "portagpu check" and data["version"] == VERSION
    one = data["results"][0]
    assert (one["target"], one["title"]) == ("gfx1100", TARGETS["gfx1100"].title)
    assert one["compiler"]["name"] == "clang" and one["compiler"]["version"][0].isdigit()
    assert (one["kernel"], one["group"], one["signature"]) == ("spills", "kernel", "(array(float32, 1d, C))")
    assert one["status"] == "compiled" and not one["ok"] and len(one["source_hash"]) == 64
    assert one["figures"]["scratch_bytes"] >= 400 and one["figures"]["mix"]["scratch"] > 0
    (problem,) = one["problems"]
    assert (problem["rule"], problem["level"], problem["line"]) == ("spill", "error", line_of("the scratch accesses"))
    assert data["summary"] == {"compiled": 2, "unsupported": 0, "failed": 2, "not compiled": 0}


def test_json_of_what_a_target_lacks():
    data = valid(json.loads(check("matrix", *names("sm_90"), "--format", "json").stdout))
    (one,) = data["results"]
    assert one["status"] == "unsupported" and one["figures"] is None and one["source_hash"] is None
    assert one["problems"][0]["rule"] == "missing-feature" and one["problems"][0]["line"] == line_of("a feature")


def test_sarif_points_to_lines_of_the_file(monkeypatch):
    monkeypatch.chdir(_FILE.parent)
    log = json.loads(check("spills", *names("gfx1100", "sm_90"), "--format", "sarif").stdout)
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert [rule["id"] for rule in driver["rules"]] == list(RULES)
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "spill"
        assert result["level"] == "error" and result["message"]["text"]
        (place,) = result["locations"]
        physical = place["physicalLocation"]
        assert physical["artifactLocation"] == {"uri": "planted.py", "uriBaseId": "SRCROOT"}
        region = physical["region"]
        assert region["startLine"] in (line_of("a[i] = x["), line_of("the scratch accesses"))
        assert _LINES[region["startLine"] - 1] == region["snippet"]["text"]
        assert 1 <= region["startColumn"] < region["endColumn"]
        assert place["logicalLocations"] == [{"name": "spills", "kind": "function"}]
        related = [one["physicalLocation"]["region"]["startLine"] for one in result["relatedLocations"]]
        assert line_of("def spills") in related
    assert {name for result in run["results"] for name in result["properties"]["targets"]} == {"gfx1100", "sm_90"}
    assert run["originalUriBaseIds"]["SRCROOT"]["uri"].startswith("file:///")


def test_sarif_of_a_file_elsewhere_and_of_what_a_target_lacks(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    log = json.loads(check("matrix", *names("sm_90"), "--format", "sarif").stdout)
    (result,) = log["runs"][0]["results"]
    assert result["ruleId"] == "missing-feature" and "sm_90" in result["message"]["text"]
    physical = result["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"] == {"uri": _FILE.as_uri()}
    assert physical["region"]["startLine"] == line_of("a feature")


def test_sarif_without_problems_has_no_results():
    done = check("wide", *names("gfx1100"), "--format", "sarif")
    assert done.exit_code == 0 and json.loads(done.stdout)["runs"][0]["results"] == []


def test_sarif_of_what_has_no_line(monkeypatch):
    monkeypatch.setattr(OpenCL, "missing_packages", lambda self, target: ("a-compiler",))
    done = CliRunner().invoke(check_command, ["--shipped", "textbook", "--target", "gfx1100", "--format", "sarif"])
    assert done.exit_code == 1
    (run,) = json.loads(done.stdout)["runs"]
    assert run["results"] == [] and run["invocations"][0]["executionSuccessful"] is True
    (told,) = run["invocations"][0]["toolExecutionNotifications"]
    assert told["descriptor"]["id"] == "no-compiler" and "a-compiler" in told["message"]["text"]


def test_conditions_decide_the_exit_status():
    target = names("gfx1100")
    for words, status in (
        (["--require", "loads>=16,stores>=16", "--require", "occupancy>=50%", "--require", "registers<=64"], 0),
        (["--require", "no-spills, no-matrix-unit"], 0),
        (["--require", "matrix-unit"], 1),
        (["--require", "registers<=1"], 1),
    ):
        done = check("wide", *target, *words)
        assert done.exit_code == status, done.output
        if status:
            assert f"does not meet {words[1]}" in done.output and f"planted.py:{line_of('def wide')}" in done.output
    done = check("spills", *target, "--require", "registers<=256")  # spills are not among the conditions
    assert done.exit_code == 0 and "bytes of scratch memory" in done.output
    assert check("spills", *target, "--require", "no-spills").exit_code == 1


def test_wrong_conditions_and_words_are_wrong_command_lines():
    done = check("wide", "--require", "registrs<=3")
    assert done.exit_code == 2 and "did you mean `registers`" in done.output
    assert check("wide", "--format", "xml").exit_code == 2
    assert CliRunner().invoke(check_command, ["--shipped", "nothing"]).exit_code == 2
    assert check("wide", "--shipped", "gemm").exit_code == 2


def test_advice_on_the_block():
    data = valid(json.loads(check("wide", *names("gfx1100", "sm_90"), "--suggest", "--format", "json").stdout))
    for one in data["results"]:
        advice = one["suggestion"]
        assert advice["block"] == [256, 1, 1] and "no block keeps more" in advice["reason"]
        assert {trial["block"][0] for trial in advice["trials"]} >= {64, 128, 256}
        assert all(trial["occupancy"] and not trial["spills"] for trial in advice["trials"])


def test_advice_on_planes_and_cpus():
    words = ["--signature", "void(float32[:, ::1])", "--suggest", "--target", "x86-64-v3"]
    done = check("plane", *words, *names("gfx1100"))
    assert done.exit_code == 0 and "gfx1100: block 16 x 16: 16 of 16 subgroups" in done.output
    assert "on CPUs a block is a loop" in done.output


def test_a_table_is_written_to_a_file_without_colours(tmp_path):
    place = tmp_path / "found.txt"
    assert check("wide", *names("gfx1100"), "-o", place).exit_code == 0
    text = place.read_text()
    assert "gfx1100" in text and "\x1b" not in text and all(line == line.rstrip() for line in text.splitlines())


def test_a_compiler_that_is_too_old_for_a_target_is_said_to_be(monkeypatch):
    if compilers.COMPILERS["ocloc"].missing:
        pytest.skip("ocloc is not installed")
    monkeypatch.setattr(ocloc, "said_by", lambda *words: "<device_type> can be: dg2, pvc\n22.43.24595")
    assert ocloc.unknown(TARGETS["dg2"]) is None
    assert ocloc.unknown(TARGETS["bmg"]) == "this ocloc (22.43.24595) does not know bmg"
    done = check("wide", "--target", "bmg", "--target", "dg2")
    assert done.exit_code == 1 and "this ocloc (22.43.24595) does not know bmg" in done.output
    done = CliRunner().invoke(check_command, ["--list"])
    assert "this ocloc (22.43.24595) does not know bmg" in " ".join(done.output.split())
