"""Files of caches: what other users could have chosen is not read, and nothing is written over a link."""

from __future__ import annotations

import multiprocessing
import os
import socket
import stat
from pathlib import Path

import pytest

from portagpu import private_files
from portagpu.errors import StoreError
from portagpu.files import FileCache
from portagpu.private_files import read_private, read_private_json, write_private
from portagpu.tuning.store import file as store_file
from portagpu.tuning.store.store import Store

MAGIC = b"MAGIC\n"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture
def cache(tmp_path):
    return FileCache(tmp_path / "caches" / "programs", ".bin", MAGIC, 10**6)


def mode_of(path):
    return stat.S_IMODE(path.lstat().st_mode)


def test_modes(cache):
    before = os.umask(0)
    try:
        cache.write("a", b"data")
    finally:
        os.umask(before)
    assert cache.read("a") == b"data"
    assert mode_of(cache.path("a")) == 0o600
    assert mode_of(cache.folder) == mode_of(cache.folder.parent) == 0o700


def test_links_are_neither_followed_nor_kept(cache, tmp_path):
    cache.write("a", b"data")
    victim = tmp_path / "victim"
    victim.write_bytes(cache.path("a").read_bytes())
    cache.path("a").unlink()
    cache.path("a").symlink_to(victim)
    before = victim.stat()
    assert cache.read("a") is None
    cache.touch("a")
    assert victim.stat().st_mtime_ns == before.st_mtime_ns
    cache.write("a", b"other")
    assert cache.read("a") == b"other" and not cache.path("a").is_symlink()
    assert victim.read_bytes().endswith(b"data") and victim.stat().st_ino == before.st_ino


def test_a_folder_behind_a_link_of_the_users_own(tmp_path):
    (tmp_path / "far").mkdir(mode=0o700)
    (tmp_path / "near").symlink_to(tmp_path / "far")
    cache = FileCache(tmp_path / "near", ".bin", MAGIC, 10**6)
    cache.write("a", b"data")
    assert cache.read("a") == b"data" and (tmp_path / "far" / "a.bin").exists()


def _pipe(path):
    os.mkfifo(path)


def _socket(path):
    here = Path.cwd()
    os.chdir(path.parent)  # names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def _sparse(path):
    with path.open("wb") as file:
        file.truncate(2**36)


def _folder(path):
    path.mkdir()


def _to_terminal(path):
    path.symlink_to("/dev/tty")


def _device(path):
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", [_pipe, _socket, _sparse, _folder, _to_terminal, _device])
def test_what_could_wait_or_never_end(cache, make):
    cache.write("a", b"data")
    cache.path("a").unlink()
    make(cache.path("a"))
    assert cache.read("a") is None
    cache.write("a", b"data")
    assert cache.read("a") == (None if make is _folder else b"data")
    cache.sweep()


def test_entries_that_others_may_write(cache):
    cache.write("a", b"data")
    for mode in (0o620, 0o602, 0o666):
        cache.path("a").chmod(mode)
        assert cache.read("a") is None
    cache.path("a").chmod(0o644)
    assert cache.read("a") == b"data"
    cache.folder.chmod(0o777)
    assert cache.read("a") is None
    cache.write("b", b"data")  # the folder is ours, and is ours alone from now on
    assert mode_of(cache.folder) == 0o700 and cache.read("a") == cache.read("b") == b"data"


@as_root
def test_entries_and_folders_of_others(cache):
    cache.write("a", b"data")
    os.chown(cache.path("a"), 65534, 65534)
    assert cache.read("a") is None
    cache.write("a", b"mine")
    assert cache.read("a") == b"mine"
    os.chown(cache.folder, 65534, 65534)
    told = []
    theirs = FileCache(cache.folder, ".bin", MAGIC, 10**6, lambda folder, error: told.append(error))
    assert theirs.read("a") is None
    theirs.write("b", b"data")
    assert isinstance(told[0], PermissionError) and not cache.path("b").exists()


def test_root_may_fill_caches_for_others(monkeypatch, cache):
    cache.write("a", b"data")
    owner = cache.path("a").stat().st_uid
    monkeypatch.setattr(private_files, "_ROOT", owner)
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert cache.read("a") == b"data"
    cache.write("a", b"other")
    assert cache.read("a") == b"data"
    monkeypatch.setattr(private_files, "_ROOT", owner + 2)
    assert cache.read("a") is None


def test_an_entry_under_another_name(cache):
    """In a folder that was open to others, one entry may stand in for another."""
    cache.write("a", b"data")
    cache.path("a").rename(cache.path("b"))
    assert cache.read("b") is None


def test_a_file_that_grows_while_it_is_read(tmp_path, monkeypatch):
    write_private(tmp_path / "f", b"0123456789")
    monkeypatch.setattr(private_files, "check_regular", lambda handle, path, most: None)
    with pytest.raises(OSError, match="more than 5 bytes"):
        read_private(tmp_path / "f", 5)


def test_json_that_is_none(tmp_path):
    path = tmp_path / "f.json"
    for text in (b"", b"[1]", b"{", b"\xff", b"[" * 10**5):
        write_private(path, text)
        assert read_private_json(path) is None
    write_private(path, b'{"a": 1}')
    assert read_private_json(path) == {"a": 1}
    path.unlink()
    os.mkfifo(path)
    assert read_private_json(path) is None


def test_nothing_is_left_of_what_cannot_be_written(tmp_path, monkeypatch):
    def refuse(*args, **options):
        raise OSError("full")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="full"):
        write_private(tmp_path / "f", b"data")
    assert not list(tmp_path.iterdir())


def test_stores(tmp_path, monkeypatch):
    path = tmp_path / "new" / "store.jsonl"
    Store(path).check_writable()
    assert mode_of(path) == 0o600 and mode_of(path.parent) == 0o700
    linked = tmp_path / "linked.jsonl"
    linked.symlink_to(path)
    Store(linked).check_writable()  # one's own link
    monkeypatch.setattr(store_file.os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(StoreError, match="another user"):
        Store(linked).check_writable()


def _read_store(path):
    assert not Store(path).tasks()


def test_a_pipe_for_a_store(tmp_path):
    path = tmp_path / "store.jsonl"
    os.mkfifo(path)
    reader = multiprocessing.get_context("spawn").Process(target=_read_store, args=(path,))
    reader.start()
    reader.join(60)
    if reader.is_alive():
        reader.kill()
    assert reader.exitcode == 0
    with pytest.raises(StoreError, match="no regular file"):
        Store(path).check_writable()
