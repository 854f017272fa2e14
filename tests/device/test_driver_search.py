"""Where drivers are looked for."""

from __future__ import annotations

from pathlib import Path

from portagpu.backends.opencl.drivers.search import (
    FAMILIES,
    DriverFamily,
    bundled_vendor_folder,
    family_of,
    find_libraries,
    find_soname,
    simulator_preloaded,
)


def test_a_soname_is_found_like_the_dynamic_linker_does(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        (folder / "libdriver.so.1").touch()
    gone = tmp_path / "gone" / "libdriver.so.1"
    cache = b"header\0libdriver.so.1\0" + str(gone).encode() + b"\0" + str(second / "libdriver.so.1").encode() + b"\0"
    assert find_soname("libdriver.so.1", {"LD_LIBRARY_PATH": f":{first}"}, cache) == first / "libdriver.so.1"
    assert find_soname("libdriver.so.1", {}, cache) == second / "libdriver.so.1"
    assert find_soname("libdriver.so.1", {}, b"") is None
    assert find_soname("libdriver.so", {}, cache) is None, "a part of a name is another library"


def test_patterns_cover_the_environment_and_its_packages(tmp_path: Path) -> None:
    prefix, packages = tmp_path / "env", tmp_path / "env" / "lib" / "python3" / "site-packages"
    for path in (prefix / "lib" / "liba.so", packages / "a" / "liba-1.so", packages / "a" / "liba-2.so"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    family = DriverFamily(
        name="A", reason="test", patterns=("{prefix}/lib/liba.so", "{site}/a/liba-*.so", "/nowhere/liba.so")
    )
    found = [path for _, path in find_libraries({}, prefix=prefix, packages=[packages], families=(family,), cache=b"")]
    assert found == [prefix / "lib" / "liba.so", packages / "a" / "liba-1.so", packages / "a" / "liba-2.so"]


def test_a_library_of_the_user_scheme_is_found_beside_its_packages(tmp_path: Path) -> None:
    packages = tmp_path / "lib" / "python3" / "site-packages"
    packages.mkdir(parents=True)
    (tmp_path / "lib" / "libintelocl.so").touch()
    found = list(find_libraries({}, prefix=tmp_path / "other", packages=[packages], cache=b""))
    assert (tmp_path / "lib" / "libintelocl.so") in [path for _, path in found]


def test_families_are_told_by_file_names() -> None:
    for library, family in (
        ("libnvidia-opencl.so.1", "NVIDIA"),
        ("/opt/rocm/lib/libamdocl64.so", "AMD ROCm"),
        ("/x/libintelocl_emu.so", "Intel CPU runtime"),
        ("libigdrcl.so", "Intel GPU runtime"),
        ("/x/libpocl-21062cec.so", "PoCL"),
    ):
        found = family_of(library)
        assert found is not None and found.name == family
    assert family_of("libMesaOpenCL.so.1") is None
    assert all(family.package and family.reason for family in FAMILIES)


def test_the_simulator_is_seen_in_the_environment() -> None:
    assert simulator_preloaded({"LD_PRELOAD": "/usr/lib/oclgrind/liboclgrind-rt.so"})
    assert not simulator_preloaded({"LD_PRELOAD": "/usr/lib/libjemalloc.so"})


def test_the_bundled_folder_exists_or_is_none() -> None:
    folder = bundled_vendor_folder()
    assert folder is None or folder.is_dir()
