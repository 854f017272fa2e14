"""Libraries are loaded in child processes, and what came of it is remembered."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from portagpu.backends.opencl.drivers import check
from portagpu.backends.opencl.drivers.check import LoadOutcome, check_libraries

_ANSWER = '{"error": null, "path": null, "platforms": [{"name": "P", "version": "V", "devices": ["D"]}]}'
_CALLS = "from pathlib import Path\nimport sys\nwith open(sys.argv[1] + '.calls', 'a') as f: f.write('x')\n"


@pytest.fixture
def library(tmp_path: Path) -> Path:
    path = tmp_path / "libdriver.so"
    path.write_text("made up")
    return path


def _script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    path = tmp_path / "script.py"
    path.write_text(_CALLS + text)
    monkeypatch.setattr(check, "_SCRIPT", path)


def _calls(library: Path) -> int:
    return len(Path(f"{library}.calls").read_text())


def test_what_loads_is_remembered_until_the_file_changes(
    tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _script(tmp_path, monkeypatch, f"Path(sys.argv[2]).write_text('''{_ANSWER}''')")
    name, cache = str(library), tmp_path / "cache"
    for _ in range(2):
        result = check_libraries([name, name], cache)[name]
        assert result.outcome is LoadOutcome.LOADED and not result.harmful
        assert result.platforms[0].devices == ("D",)
    assert _calls(library) == 1
    library.write_text("another build")
    check_libraries([name], cache)
    assert _calls(library) == 2
    check_libraries([name], cache, fresh=True)
    assert _calls(library) == 3


def test_a_library_that_lacks_another_is_tried_again_once_something_is_installed_beside_it(
    tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking = _ANSWER.replace("null", '"libneeded.so: cannot open shared object file"', 1)
    _script(
        tmp_path,
        monkeypatch,
        "there = Path(sys.argv[1]).with_name('libneeded.so').exists()\n"
        f"Path(sys.argv[2]).write_text('''{_ANSWER}''' if there else '''{lacking}''')",
    )
    name, cache = str(library), tmp_path / "cache"
    Path(f"{library}.calls").touch()
    cache.mkdir()
    for _ in range(2):
        assert check_libraries([name], cache)[name].outcome is LoadOutcome.FAILED
    assert _calls(library) == 1, "nothing was installed in between"
    library.with_name("libneeded.so").write_text("made up")
    assert check_libraries([name], cache)[name].outcome is LoadOutcome.LOADED


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", '{"schema": 1}', '{"schema": 1, "outcome": "odd", "time": 0}', "\x00\xff"]
)
def test_a_damaged_entry_is_ignored_and_rewritten(
    tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    _script(tmp_path, monkeypatch, f"Path(sys.argv[2]).write_text('''{_ANSWER}''')")
    cache = tmp_path / "cache"
    check_libraries([str(library)], cache)
    (entry,) = (cache / "drivers").iterdir()
    entry.write_text(damage)
    assert check_libraries([str(library)], cache)[str(library)].outcome is LoadOutcome.LOADED
    assert json.loads(entry.read_text())["outcome"] == "loaded"


def test_a_crash_stays_in_the_child(tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _script(tmp_path, monkeypatch, "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    for _ in range(2):
        result = check_libraries([str(library)], tmp_path)[str(library)]
        assert result.outcome is LoadOutcome.CRASHED and result.harmful
        assert result.error is not None and "signal 9" in result.error
    assert _calls(library) == 1
    monkeypatch.setattr(check, "_CRASH_MEMORY_S", -1.0)
    check_libraries([str(library)], tmp_path)
    assert _calls(library) == 2, "an old crash is looked at again"


def test_a_hanging_library_is_given_up(tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _script(tmp_path, monkeypatch, "import time\ntime.sleep(60)")
    monkeypatch.setattr(check, "_TIME_LIMIT_S", 0.5)
    assert check_libraries([str(library)], tmp_path)[str(library)].outcome is LoadOutcome.HUNG


def test_the_real_script_on_libraries_that_are_no_drivers(tmp_path: Path) -> None:
    text = tmp_path / "libtext.so"
    text.write_text("no library at all")
    missing = str(tmp_path / "libmissing.so")
    results = check_libraries([str(text), missing], tmp_path)
    assert results[str(text)].outcome is LoadOutcome.FAILED
    assert results[missing].outcome is LoadOutcome.FAILED
    assert "cannot open shared object file" in str(results[missing].error)


def test_without_child_processes_nothing_is_known(
    tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "")
    assert check_libraries([str(library)], tmp_path)[str(library)].outcome is LoadOutcome.UNKNOWN
    assert not (tmp_path / "drivers").exists()


def test_an_unwritable_cache_is_no_obstacle(tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _script(tmp_path, monkeypatch, f"Path(sys.argv[2]).write_text('''{_ANSWER}''')")
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert check_libraries([str(library)], blocked)[str(library)].outcome is LoadOutcome.LOADED
