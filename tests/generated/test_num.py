from __future__ import annotations
import pytest
from engine import run
from numbers_cases import number_cases
CASES = number_cases()
SIGNATURES = sorted({names for case in CASES for names in case.operands})
@pytest.mark.parametrize("names", SIGNATURES, ids="-".join)
def test_num(device, names):
    problems = run(device, CASES, names)
    assert not problems, "\n" + "\n".join(problems)
