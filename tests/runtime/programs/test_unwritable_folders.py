"""Homes and folders that cannot be written: kernels run, at most slower, and one warning says so."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from portagpu.backends import driver_caches, temporary_folders
from portagpu.backends.driver_caches import is_usable, secure_driver_caches
from portagpu.backends.opencl.drivers import usable_folders
from portagpu.settings import Settings

PROGRAM = """
import ctypes, os, sys
if os.geteuid() == 0 and sys.platform == "linux":  # else modes mean nothing: no CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    for capability in (1, 2):
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
    if "again" not in sys.argv:
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:], "again"])
import numpy as np
import portagpu
from portagpu import cuda

@cuda.jit(cache=True)
def k(x):
    x[0] = 1

found = []
for device in cuda.list_devices():
    with cuda.select_device(device):
        x = np.zeros(1)
        k[1, 1](x)
        found.append(int(x[0]))
print("worked on", *found)
"""
PRIVATE = {"HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "PORTAGPU_CACHE_DIR", "PORTAGPU_DATA_DIR", "PORTAGPU_WARNINGS"}


def run(path, count, **variables):
    """What a program that runs a kernel on each device says on stderr."""
    program = path / "program.py"
    program.write_text(PROGRAM)
    environment = {k: v for k, v in os.environ.items() if k not in {*PRIVATE, "POCL_CACHE_DIR", "PYOPENCL_NO_CACHE"}}
    done = subprocess.run(
        [sys.executable, str(program)], env={**environment, **variables}, capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["worked", "on", *["1"] * count]
    return done.stderr


@pytest.fixture(scope="module")
def count():
    from portagpu.device import devices

    return sum(device.works for device in devices())


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="modes of folders are POSIX's")
def test_a_home_that_cannot_be_written(tmp_path, count):
    home = tmp_path / "home"
    home.mkdir(mode=0o500)
    blocked = tmp_path / "file"
    blocked.write_text("a file where a folder should be")
    said = run(tmp_path, count, HOME=str(home), TMPDIR=str(tmp_path / "missing"), PORTAGPU_DATA_DIR=str(blocked))
    assert said.count("cannot be kept") == 1 and "program.py:20" in said
    assert not list(home.iterdir())


# what is decided, without drivers -----------------------------------------------------------------------------------


def prepare(settings, environ):
    usable_folders.secure_pyopencl(environ)
    secure_driver_caches(settings, environ)


def of_pyopencl_and_pocl(environ):
    return {name: environ[name] for name in ("HOME", "PYOPENCL_NO_CACHE", "POCL_CACHE_DIR") if name in environ}


@pytest.fixture
def settings(tmp_path):
    return Settings.from_environment({"PORTAGPU_CACHE_DIR": str(tmp_path / "ours")})


@pytest.fixture
def usual(tmp_path, monkeypatch):
    """The folder that is PyOpenCL's, and a home."""
    monkeypatch.setattr(
        usable_folders.platformdirs, "user_cache_dir", lambda *names: str(tmp_path / "home" / "pytools")
    )
    monkeypatch.setattr(usable_folders, "sys", SimpleNamespace(modules={}))
    return tmp_path / "home"


def test_nothing_changes_where_all_can_be_written(settings, usual):
    environ = {"HOME": str(usual)}
    prepare(settings, environ)
    assert environ == {"HOME": str(usual)}
    assert not [path for path in usual.rglob("*") if path.is_file()]
    assert not settings.cache_dir.exists()


def test_a_home_that_is_a_file(settings, usual):
    usual.write_text("no folder")
    environ = {"HOME": str(usual)}
    loaded = SimpleNamespace(_PYOPENCL_NO_CACHE=False)
    usable_folders.sys.modules["pyopencl"] = loaded
    prepare(settings, environ)
    own = settings.cache_dir / "pocl"
    kept = {"HOME": str(usual), "PYOPENCL_NO_CACHE": "1", "POCL_CACHE_DIR": str(own)}
    assert of_pyopencl_and_pocl(environ) == kept
    assert loaded._PYOPENCL_NO_CACHE and stat.S_IMODE(own.stat().st_mode) == 0o700


def test_what_the_user_says_counts(settings, usual, tmp_path):
    usual.write_text("no folder")
    (tmp_path / "chosen").mkdir()
    environ = {"HOME": str(usual), "PYOPENCL_NO_CACHE": "0", "POCL_CACHE_DIR": str(tmp_path / "chosen")}
    before = dict(environ)
    prepare(settings, environ)
    assert of_pyopencl_and_pocl(environ) == before


def test_nothing_can_be_written_but_temporary_files(usual, tmp_path, monkeypatch):
    usual.write_text("no folder")
    settings = Settings.from_environment({"PORTAGPU_CACHE_DIR": str(usual)})
    monkeypatch.setattr(driver_caches.tempfile, "tempdir", str(tmp_path))
    removed = []
    monkeypatch.setattr(temporary_folders.atexit, "register", lambda *call: removed.append(call))
    environ = {"HOME": str(usual)}
    prepare(settings, environ)
    chosen = environ["POCL_CACHE_DIR"]
    assert chosen.startswith(str(tmp_path)) and Path(chosen).is_dir()
    for remove, *given in removed:
        remove(*given)
    assert not Path(chosen).exists()


def test_full_disks(tmp_path, monkeypatch):
    assert is_usable(tmp_path)

    def full(*given):
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        assert not is_usable(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda handle, data: 100)
        assert not is_usable(tmp_path)
    if hasattr(os, "statvfs"):
        monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_bavail=1, f_frsize=4096))
        assert not is_usable(tmp_path)
    assert not list(tmp_path.iterdir())
