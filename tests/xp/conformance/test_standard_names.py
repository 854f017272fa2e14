"""Names and signatures of the array API standard, as array_api_strict has them."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest

from portagpu import cuda, xp
from portagpu.errors import ArgumentTypeError, PortaGPUError
from portagpu.runtime.arrays.array import DeviceNDArray

strict = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")

_OTHERS = {"ArrayAPIStrictFlags", "Device", "ModuleType", "linalg", "fft"}  # its own names, and modules


def _settle_version():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        strict.set_array_api_strict_flags(api_version="2025.12")


_settle_version()


def _names(module):
    found = getattr(module, "__all__", None) or dir(module)
    return [n for n in found if not n.startswith("_") and "flags" not in n and n not in _OTHERS]


def _parameters(function):
    return inspect.signature(function).parameters


def check_signature(ours, theirs):
    """All parameters of theirs, of the same kinds and with like defaults; further ones are optional."""
    wanted, found = _parameters(theirs), _parameters(ours)
    by_place = [n for n, p in wanted.items() if p.kind is p.POSITIONAL_ONLY or p.kind is p.VAR_POSITIONAL]
    assert [n for n, p in found.items() if p.kind is p.POSITIONAL_ONLY or p.kind is p.VAR_POSITIONAL] == by_place
    for name, parameter in wanted.items():
        own = found[name]
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            assert own.kind is parameter.kind, name
        if own.kind is own.POSITIONAL_OR_KEYWORD:
            assert [n for n, p in found.items() if p.kind is own.kind] == [
                n for n, p in wanted.items() if p.kind is own.kind
            ]
        assert parameter.default is parameter.empty or own.default is not own.empty, name
        if isinstance(parameter.default, bool | int | float | str | None) or parameter.default is None:
            assert own.default == parameter.default, name
    for name in found.keys() - wanted.keys():
        assert found[name].default is not inspect.Parameter.empty, name


@pytest.mark.parametrize("name", _names(strict))
def test_names_of_the_namespace(name):
    theirs, ours = getattr(strict, name), getattr(xp, name)
    if inspect.isfunction(theirs):
        check_signature(ours, theirs)
        assert ours.__name__ == name
        assert inspect.getdoc(ours)
    elif isinstance(theirs, float) or theirs is None:
        assert ours is theirs or ours == theirs or (np.isnan(ours) and np.isnan(theirs))


@pytest.mark.parametrize("extension", ["linalg", "fft"])
def test_extensions(extension):
    theirs, ours = getattr(strict, extension), getattr(xp, extension)
    for name in theirs.__all__:
        if inspect.isfunction(getattr(theirs, name)):
            check_signature(getattr(ours, name), getattr(theirs, name))


def test_dtypes_are_numpys():
    for name in xp.__array_namespace_info__().dtypes():
        assert getattr(xp, name) == np.dtype(name)
        assert xp.isdtype(getattr(xp, name), "bool" if name == "bool" else "numeric")


def test_attributes_methods_and_operators():
    array = type(strict.asarray(1))
    for name, member in vars(array).items():
        if name.startswith("_") and not name.endswith("__"):
            continue
        if name in ("__buffer__", "__module__", "__annotations__", "__weakref__", "__dict__", "__firstlineno__"):
            continue
        ours = inspect.getattr_static(DeviceNDArray, name)
        assert isinstance(member, property) <= (not callable(ours)), name


def test_namespace_of_an_array(device):
    x = cuda.to_device(np.arange(3.0, dtype=np.float32))
    assert x.__array_namespace__() is xp is x.__array_namespace__(api_version="2025.12")
    assert x.__array_namespace__(api_version="2022.12").__array_api_version__ == "2025.12"
    with pytest.raises(ArgumentTypeError, match="1999"):
        x.__array_namespace__(api_version="1999.12")
    assert x.device in xp.__array_namespace_info__().devices()
    assert (x.ndim, x.size, x.shape, x.T.shape) == (1, 3, (3,), (3,))
    assert x.to_device(x.device) is x


@pytest.mark.one_device
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "complex64"])
def test_numbers_of_arrays_without_axes(device, dtype):
    x = xp.asarray(np.ones((), dtype))
    assert x.shape == () and x.dtype == dtype
    assert bool(x) is True and complex(x) == 1 and abs(x).item() == 1 if dtype != "bool" else bool(x)
    if dtype == "complex64":
        with pytest.raises(ArgumentTypeError, match="complex"):
            int(x)
        with pytest.raises(ArgumentTypeError, match="complex"):
            float(x)
    else:
        assert int(x) == 1 and float(x) == 1.0
    if np.dtype(dtype).kind in "iu":
        assert [5, 6][x] == 6
    else:
        with pytest.raises(ArgumentTypeError, match="index"):
            [5, 6][x]


_OPERATORS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"]


@pytest.mark.one_device
def test_operators_with_arrays_numbers_and_reflected(device):
    host = {"f": np.asarray([1.5, 2.0, 3.0], np.float32), "i": np.asarray([1, 2, 3], np.int32)}
    for name in _OPERATORS:
        x = host["i" if name in ("and", "or", "xor", "lshift", "rshift") else "f"]
        for method in (f"__{name}__", f"__r{name}__", f"__i{name}__"):
            for other in (x[::-1].copy(), 2):
                d = cuda.to_device(x.copy())
                found = getattr(d, method)(cuda.to_device(other) if isinstance(other, np.ndarray) else other)
                expected = getattr(x.copy(), method)(other)
                np.testing.assert_allclose(found.copy_to_host(), expected, rtol=1e-6)
                assert found.dtype == expected.dtype
                assert (found is d) == method.startswith("__i")


@pytest.mark.one_device
def test_integers_beyond_a_dtype(device):
    x = np.asarray([0, 7, 255], np.uint8)
    d = cuda.to_device(x)
    for function in (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal):
        for number in (-1, 256):
            np.testing.assert_array_equal(function(d, number).copy_to_host(), function(x, number))
            np.testing.assert_array_equal(function(number, d).copy_to_host(), function(number, x))
    for wrong in (lambda: d + 256, lambda: -1 - d, lambda: np.divmod(d, 256)):
        with pytest.raises(PortaGPUError, match="out of bounds for uint8"):
            wrong()
    np.testing.assert_array_equal(xp.clip(d, -5, 300).copy_to_host(), x)
    np.testing.assert_array_equal(xp.clip(d, 300, None).copy_to_host(), [255] * 3)
