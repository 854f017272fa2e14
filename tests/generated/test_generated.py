"""Every operator and function that kernels know, of every dtype, with edge and random values, on each device."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import pytest
from array_cases import array_cases
from complex_cases import complex_cases
from compound_functions import compound_cases
from device_functions import device_function_cases
from engine import run, run_constants
from numbers_cases import number_cases
from operands import NAMES
from operators import operator_cases
from real_functions import real_cases
from whole_numbers import whole_number_cases

from portagpu.device import DeviceRecord

CASES = (
    *real_cases(),
    *operator_cases(),
    *number_cases(),
    *complex_cases(),
    *device_function_cases(),
    *compound_cases(),
    *whole_number_cases(),
    *array_cases(),
)
BY_DTYPES = defaultdict(list)
for _case in CASES:
    for _names in _case.operands:
        BY_DTYPES[_names].append(_case)


def _in_short(names: tuple[str, ...]) -> object:
    """Of operands of several dtypes, most are left to `--thorough`, where they run on one device: what becomes of two
    dtypes is the compiler's, before any driver. Each dtype stands with some in each place.
    """
    numbers = [NAMES.index(name) for name in names]
    if all((one - other) % len(NAMES) in (0, 1, 5, 8) for one, other in pairwise(numbers)):
        return names
    return pytest.param(names, marks=[pytest.mark.thorough, pytest.mark.one_device])


@pytest.mark.in_turn(12)
@pytest.mark.parametrize("names", [_in_short(names) for names in sorted(BY_DTYPES)], ids="-".join)
def test_all_functions_of_these_dtypes(device: DeviceRecord, names: tuple[str, ...]) -> None:
    problems = run(device, BY_DTYPES[names], names)
    assert not problems, "\n" + "\n".join(problems)


def _constant_operands(names: tuple[str, ...]) -> object:
    """Constants of few dtypes in each run: what becomes of the others is decided in the same places."""
    return names if names in CONSTANTS else pytest.param(names, marks=[pytest.mark.exhaustive])


CONSTANTS = {("int32",), ("uint64",), ("float32",), ("int16", "int16"), ("uint32", "uint32"), ("float64", "float64")}


@pytest.mark.in_turn(3)
@pytest.mark.one_device
@pytest.mark.parametrize("names", [_constant_operands(n) for n in sorted(BY_DTYPES) if len(n) < 3], ids="-".join)
def test_all_functions_of_constants(device: DeviceRecord, names: tuple[str, ...]) -> None:
    """Operands that are constants of the text."""
    problems = run_constants(device, BY_DTYPES[names], names)
    assert not problems, "\n" + "\n".join(problems)
