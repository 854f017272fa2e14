"""The documents that are made from the package are what the package is, and nothing is forgotten in them."""

from __future__ import annotations

import functools
import importlib
import inspect
import re

import pytest

from portagpu import cuda
from portagpu.dialect.names import Intrinsic, Namespace, VectorMaker
from tools import not_portable
from tools.documents import DOCS
from tools.not_portable_cases import GROUPS
from tools.reference import original_names, pages
from tools.reference.lowered import lower
from tools.reference.profiles import CPU, PROFILES, PTX, SUBGROUPS
from tools.reference.samples import cell, lowerings, samples

CASES = [case for cases in GROUPS.values() for case in cases]
CALLED = [n for n in pages.names() if pages.described(n).parameters is not None]
HOST = {n: getattr(cuda, n) for n in cuda.__all__}
for _name in ("random", "devicearray", "args"):
    _module = importlib.import_module(f"portagpu.cuda.{_name}")
    HOST |= {f"{_name}.{n}": getattr(_module, n) for n in _module.__all__}
FUNCTIONS = {n: v for n, v in HOST.items() if inspect.isfunction(v)}


@pytest.mark.opencl  # whose messages the page shows
def test_errors_of_what_is_not_portable(device):
    assert (DOCS / "not-portable.md").read_text(encoding="utf-8") == not_portable.text(), "python -m tools.documents"


@cuda.jit
def some_kernel(x):
    x[0] = 1


def exists(name):
    first, *rest = name.split(".")
    try:
        functools.reduce(getattr, rest, some_kernel if first == "Dispatcher" else getattr(cuda, first))
    except AttributeError:
        return False
    return True


def test_every_documented_name_of_the_original_is_here_or_listed():
    listed = {name for case in CASES for name in case.names}
    named = [*original_names.DEVICE, *original_names.HOST]
    named += [f"{cls}.{name}" for cls, names in original_names.MEMBERS.items() for name in names]
    assert len(named) > 200
    assert not [name for name in named if name not in listed and not exists(name)]


def test_libdevice_is_here():
    assert len(original_names.LIBDEVICE) > 300
    assert not [n for n in original_names.LIBDEVICE if not exists(f"libdevice.{n}")]


@pytest.mark.parametrize("name", CALLED)
def test_signatures_are_what_the_compiler_takes(name):
    """The documented parameters, by keyword, are accepted; the message about another one names the same."""
    meaning = pages.described(name)
    if pages.section_of(name) == pages.HARDWARE:  # fragments and barriers: tests/kernels has their calls
        error = lower(f"cuda.{name}(nonsense=1)", (), {}, CPU).error
        assert error is not None and error.hint is not None
        assert _said(error.hint) == ", ".join(p.partition(":")[0] for p in meaning.parameters or ())
        return
    for sample in samples(name, meaning, optional=True):
        assert lower(sample.call, sample.rest, sample.arguments, CPU).error is None
    call, _, end = sample.call.rpartition(")")
    wrong = call + (", " if meaning.parameters else "") + "nonsense=1)" + end
    error = lower(wrong, sample.rest, sample.arguments, CPU).error
    assert error is not None and error.hint is not None
    documented = [p.partition(":")[0] for p in meaning.parameters or ()]
    assert _said(error.hint) == ", ".join(documented)


def _said(hint):
    """The parameters that a message names."""
    said = re.search(r"call it as .*\(([\w, ]*)\)$", hint)
    assert said is not None, hint
    return said[1]


def test_coefficients_are_not_shown():
    """What is said of a function is short, also where tables of coefficients come with it."""
    for name in ("j0", "jn", "y1f", "yn"):
        assert cell(_of(f"libdevice.{name}")) == "a function in the dialect"
    assert "{ 0.0f, 1.0f, 2.0f, 3.0f }" in cell(_of("const.array_like"))
    assert max(map(len, (DOCS / "reference-libdevice.md").read_text(encoding="utf-8").splitlines())) < 500


def test_lowerings_differ_where_devices_do():
    found = {device: dict.fromkeys(["int32"], v[0][1]) for device, v in _of("shfl_xor_sync").items()}
    assert found["NVIDIA"]["int32"].text == "PTX `shfl.sync.bfly.b32`"
    assert "shared memory" in found["CPU"]["int32"].text
    assert cell(_of("popc")) == "`(int)popcount(x)`"
    assert _of("fp16.hsin")["CPU"][0][1].text != _of("fp16.hsin")["AMD, Intel GPU"][0][1].text
    assert dict(_of("atomic.add")["CPU"])["int64"].extensions == ("cl_khr_int64_base_atomics",)
    assert list(PROFILES.values()) == [CPU, SUBGROUPS, PTX]


def _of(name):
    return lowerings(name, pages.described(name))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_host_functions_say_what_they_take(name):
    """A docstring that names every parameter."""
    text = inspect.getdoc(FUNCTIONS[name])
    assert text and text.rstrip().endswith((".", "``")), name
    if text.startswith("Raise `"):
        return
    parameters = [p for p in inspect.signature(FUNCTIONS[name]).parameters if p not in ("args", "context")]
    assert not [p for p in parameters if f"``{p}" not in text]


def test_names_of_kernels_have_help_of_their_own():
    common = {cls.__doc__ for cls in (Intrinsic, VectorMaker, Namespace)}
    for name in cuda.__all__:
        value = getattr(cuda, name)
        assert inspect.getdoc(value), name
        if isinstance(value, Intrinsic | VectorMaker | Namespace):
            assert value.__doc__ not in common, name
    for name in pages.names():
        text = Intrinsic(name).__doc__
        assert text.startswith(pages.described(name).signature(f"cuda.{name}")), name
    assert Intrinsic("nothing").__doc__ == Intrinsic.__doc__


def test_methods_have_docstrings():
    classes = [v for v in HOST.values() if inspect.isclass(v) and v.__module__.startswith("portagpu")]
    assert len(classes) > 8
    for cls in classes:
        for name, value in vars(cls).items():
            if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                assert inspect.getdoc(value), f"{cls.__name__}.{name}"
