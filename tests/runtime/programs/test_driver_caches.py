"""Drivers run what is in their caches: folders that other users can write, now or later, are replaced."""

from __future__ import annotations

import os
import pwd
import stat
import sys
import tempfile
import warnings
from pathlib import Path

import pytest

from portagpu import notices
from portagpu.backends.driver_caches import secure_driver_caches
from portagpu.backends.opencl.drivers import usable_folders
from portagpu.device.cache_folders import CACHE_FOLDERS
from portagpu.errors import PortaGPUWarning, SettingsError
from portagpu.private_files import check_path
from portagpu.settings import Settings

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="owners and modes of folders are POSIX's")

EACH = pytest.mark.parametrize("cache", CACHE_FOLDERS, ids=lambda cache: cache.own)


@pytest.fixture
def settings(tmp_path):
    return Settings.from_environment({"PORTAGPU_CACHE_DIR": str(tmp_path / "ours")})


def secured(settings, cache, **environ):
    """The variable of a cache, and what warned of it."""
    notices._reported.discard(cache.variable)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PortaGPUWarning)
        secure_driver_caches(settings, environ)
    return environ.get(cache.variable), [str(one.message) for one in caught]


def folder(path, mode=0o700):
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(mode)
    return path


def usual(cache, home):
    return home / ".cache" / cache.in_cache if cache.in_cache else home / cache.in_home


@EACH
def test_safe_folders_stay(settings, tmp_path, cache):
    home = folder(tmp_path / "home")
    assert secured(settings, cache, HOME=str(home)) == (None, [])
    folder(usual(cache, home), 0o755)
    assert secured(settings, cache, HOME=str(home)) == (None, [])
    chosen = str(folder(tmp_path / "chosen"))
    assert secured(settings, cache, HOME=str(home), **{cache.variable: chosen}) == (chosen, [])
    (tmp_path / "link").symlink_to(chosen)
    linked = str(tmp_path / "link")
    assert secured(settings, cache, HOME=str(home), **{cache.variable: linked}) == (linked, [])
    assert secured(settings, cache, HOME=str(tmp_path / "none"), XDG_CACHE_HOME=str(home)) == (None, [])


@EACH
@pytest.mark.parametrize("mode", [0o777, 0o757, 0o702, 0o1777])
def test_what_others_can_write_is_replaced(settings, tmp_path, cache, mode):
    own = str(tmp_path / "ours" / cache.own)
    folder(usual(cache, tmp_path / "home"), mode)
    assert secured(settings, cache, HOME=str(tmp_path / "home")) == (own, [])
    assert stat.S_IMODE(Path(own).stat().st_mode) == 0o700
    if mode == 0o1777:  # entries of such a folder are their owners'
        folder(folder(tmp_path / "above", mode) / "chosen")
    else:
        chosen = str(folder(tmp_path / "above" / "chosen"))
        folder(tmp_path / "above", mode)
        found, (message,) = secured(settings, cache, HOME=str(tmp_path), **{cache.variable: chosen})
        assert found == own and f"{cache.variable}={chosen}" in message and "other users may write it" in message
    (tmp_path / "link").symlink_to(usual(cache, tmp_path / "home"))
    chosen = {cache.variable: str(tmp_path / "link")}
    assert secured(settings, cache, HOME=str(tmp_path), **chosen)[0] == own


@EACH
def test_what_belongs_to_others_is_replaced(settings, tmp_path, cache, monkeypatch):
    """A home that ``sudo`` kept: nothing there is this user's."""
    home = folder(tmp_path / "home")
    folder(usual(cache, home), 0o755)
    theirs = os.geteuid() + 1 if os.geteuid() else 12345
    if os.geteuid() == 0:
        os.chown(home, theirs, -1)
        assert secured(settings, cache, HOME=str(home))[0] == str(tmp_path / "ours" / cache.own)
    monkeypatch.setattr(os, "geteuid", lambda: theirs + 1)
    found, _ = secured(settings, cache, HOME=str(home))
    if cache.off is None:  # even PortaGPU's folder is somebody else's here
        assert Path(found).parent == Path(tempfile.gettempdir())


@EACH
def test_no_home(settings, tmp_path, cache):
    """The driver's own choice is below /tmp then, whatever TMPDIR says, and may be anybody's."""
    for home in ({}, {"HOME": ""}, {"HOME": "relative"}, {"XDG_CACHE_HOME": "relative"}):
        assert secured(settings, cache, **home) == (str(tmp_path / "ours" / cache.own), [])


@EACH
def test_no_private_folder_at_all(tmp_path, cache):
    shared = folder(tmp_path / "shared")
    settings = Settings.from_environment({"PORTAGPU_CACHE_DIR": str(shared / "ours")})
    folder(shared, 0o777)
    folder(usual(cache, tmp_path / "home"), 0o777)
    environ = {"HOME": str(tmp_path / "home")}
    secure_driver_caches(settings, environ)
    if cache.off is None:
        assert Path(environ[cache.variable]).parent == Path(tempfile.gettempdir())
    else:
        assert environ[cache.off[0]] == cache.off[1] and cache.variable not in environ
        before = dict(environ)
        secure_driver_caches(settings, environ)
        assert environ == before


def test_no_temporary_folder(settings, monkeypatch):
    def missing():
        raise FileNotFoundError("none")

    monkeypatch.setattr(tempfile, "gettempdir", missing)
    with pytest.raises(SettingsError, match="temporary files") as caught:
        secure_driver_caches(settings, {})
    assert "TMPDIR" in caught.value.hint


def test_pyopencls_text_is_code(tmp_path, monkeypatch):
    monkeypatch.setattr(usable_folders.platformdirs, "user_cache_dir", lambda *names: str(tmp_path / "pytools"))
    monkeypatch.setattr(usable_folders.sys, "modules", {})
    environ = {}
    usable_folders.secure_pyopencl(environ)
    assert not environ
    folder(tmp_path / "pytools", 0o777)
    usable_folders.secure_pyopencl(environ)
    assert environ == {"PYOPENCL_NO_CACHE": "1"}


def test_the_way_to_a_folder(tmp_path):
    check_path(folder(tmp_path / "a" / "b"))
    with pytest.raises(FileNotFoundError):
        check_path(tmp_path / "a" / "c")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(OSError, match="loop"):
        check_path(tmp_path / "loop")
    (tmp_path / "a" / "up").symlink_to("../a/./b/../b")
    check_path(tmp_path / "a" / "up" / ".." / "b")
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "through").symlink_to(tmp_path / "a")
    folder(tmp_path / "open", 0o777)
    for path in (tmp_path / "open" / "through" / "b", tmp_path / "open" / ".." / "a"):
        with pytest.raises(PermissionError, match="other users may write"):
            check_path(path)
    folder(tmp_path / "a", 0o770)  # its group may have others
    with pytest.raises(PermissionError, match="other users may write") if os.getgid() else warnings.catch_warnings():
        check_path(tmp_path / "a" / "b")


@pytest.mark.parametrize("home", [None, "", "relative"])
def test_a_user_without_a_home_or_an_entry(home, tmp_path, monkeypatch):
    def missing(number):
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", missing)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    if home is not None:
        monkeypatch.setenv("HOME", home)
    settings, own = Settings.from_environment({}), tmp_path / f"portagpu-{os.geteuid()}"
    assert (settings.cache_dir, settings.data_dir) == (own / "cache", own / "data")
    named = Settings.from_environment({"PORTAGPU_CACHE_DIR": "/x", "PORTAGPU_DATA_DIR": "/y"})
    assert (named.cache_dir, named.data_dir) == (Path("/x"), Path("/y"))
    environ = {}
    usable_folders.secure_pyopencl(environ)
    assert environ == {"PYOPENCL_NO_CACHE": "1"}
