"""The example in the documents: its files are read, and its page is whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from portagpu.bench.records.cell import Status
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
