"""Chromium without a window, for tests of pages; in continuous integration it must be there."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextlib.contextmanager
def chromium() -> Iterator:
    """A browser; the test is skipped where there is none, unless BROWSER=required says that there must be."""
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    missing = "Chromium" if path is None else "playwright" if importlib.util.find_spec("playwright") is None else ""
    if missing:
        if os.environ.get("BROWSER") == "required":
            pytest.fail(f"{missing} is not installed")
        pytest.skip(f"{missing} is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visit:
    """A page that was opened from a file, and what it did that it should not."""

    def __init__(self, browser, path: Path, *, width: int = 1440, height: int = 900, **options):
        steady = {"viewport": {"width": width, "height": height}, "reduced_motion": "reduce"}  # no colour on its way
        self.context = browser.new_context(**steady, **options)
        self.page = self.context.new_page()
        self.faults: list[str] = []
        self.page.on("console", lambda message: self.faults.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", lambda request: self._requested(request.url, path.as_uri()))
        self.page.goto(path.as_uri())

    def _requested(self, url: str, own: str) -> None:
        if url != own and not url.startswith("data:,"):
            self.faults.append(f"request of {url[:100]}")

    def close(self) -> None:
        """Close it; it must not have done anything wrong."""
        self.context.close()
        assert self.faults == []
