"""The example in the documents: its files are read, and its page is whole."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from portagpu.bench.records.cell import Status
from portagpu.report.metrics import cascades, summary
from portagpu.report.reading import load_all
from portagpu.report.views import VIEWS

pytestmark = pytest.mark.one_device

FOLDER = Path(__file__).parents[2] / "docs" / "example-report"


def test_five_implementations_and_eight_targets():
    found, compiled = load_all(sorted(FOLDER.glob("*.json")))
    assert len(found.columns) == len({column.title for column in found.columns}) == 5
    assert len({row.texts[0] for row in compiled}) == 8
    statuses = {place.ours.status for place in found.places.values() if place.ours is not None}
    assert Status.MEASURED in statuses and statuses <= {Status.MEASURED, Status.UNSUPPORTED, Status.OPEN}


def test_the_page_is_whole():
    text = (FOLDER / "report.html").read_text(encoding="utf-8")
    assert len(text) < 2_000_000 and text.rstrip().endswith("</html>")
    assert "PortaGPU on five OpenCL implementations" in text and all(view.title in text for view in VIEWS.values())


def times():
    """Medians from the files themselves: problem, file and device -> role and implementation -> seconds."""
    found = defaultdict(lambda: defaultdict(list))
    for file in sorted(FOLDER.glob("*.json")):
        data = json.loads(file.read_text())
        for cell in data.get("cells", []):
            work, device = cell["workload"], data["devices"][cell["device"]]
            if work["suite"] != "roofs" and cell["status"] == "measured" and not cell.get("arithmetic"):
                problem = (*(work[name] for name in ("suite", "name", "arithmetic", "size")), cell["memory"])
                seconds = float(np.median([one for turn in cell["samples"] for one in turn]))
                place = (problem, file.name, device["name"], device["driver"])
                found[place][cell["role"], cell["implementation"]].append(seconds)
    return found


def test_shares_are_those_that_the_files_give():
    """Computed anew, with nothing of the package: ratios, geometric mean, worst case."""
    found, _ = load_all(sorted(FOLDER.glob("*.json")))
    for view, roles in (("vendor", {"vendor"}), ("peer", {"vendor", "peer"})):
        shares = {}
        for place, by_name in times().items():
            ours = [one for (role, _), all_of in by_name.items() if role == "ours" for one in all_of]
            others = [one for (role, _), all_of in by_name.items() if role in roles for one in all_of]
            if ours and others:
                shares.setdefault((place[0], *place[2:]), []).append(min(others) / min(ours))
        told = summary(found.places.values(), VIEWS[view])
        assert told.counted == len(shares) > 100
        first = [values[0] for values in shares.values()]
        assert told.mean == pytest.approx(math.exp(np.mean(np.log(first))), rel=1e-9)
        assert told.worst.value == pytest.approx(min(first), rel=1e-9)


def test_portability_is_that_which_the_files_give():
    found, _ = load_all(sorted(FOLDER.glob("*.json")))
    best = defaultdict(dict)
    for (problem, _, *device), by_name in times().items():
        ours = [one for (role, _), all_of in by_name.items() if role == "ours" for one in all_of]
        everybody = [one for all_of in by_name.values() for one in all_of]
        if len(everybody) > len(best[problem].get(tuple(device), (0, 0, ()))[2]):
            best[problem][tuple(device)] = (min(ours), min(everybody), everybody)
    devices = {device for by_device in best.values() for device in by_device}
    common = [by for by in best.values() if by.keys() == devices and any(len(one[2]) > 1 for one in by.values())]
    efficiencies = [math.exp(np.mean([math.log(by[one][1] / by[one][0]) for by in common])) for one in devices]
    (ours, *_) = cascades(found)
    assert ours.problems == len(common) and len(devices) == 5
    assert ours.portabilities[-1] == pytest.approx(5 / sum(1 / one for one in efficiencies), rel=1e-9)
