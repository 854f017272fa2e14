"""Conditions of ``--require``: what they mean, and what is said of those that are none."""

from __future__ import annotations

import pytest

from portagpu.backends.offline import InstructionMix, OfflineFigures
from portagpu.checking.requirements import QUANTITIES, WORDS, parse
from portagpu.errors import SettingsError

MIX = InstructionMix(form="PTX", total=90, matrix=2, loads={4: 1, 16: 3}, stores={8: 1}, barriers=1)


def figures(**others):
    known = {"registers": 64, "matrix_registers": 0, "scalar_registers": None, "spilled": 0, "scratch_bytes": 0}
    more = {"local_bytes": 1024, "lanes": 32, "occupancy": 12, "slots": 16, "limiter": "registers", "mix": MIX}
    return OfflineFigures(**{**known, **more, **others})


MET = "registers<=64 registers>=64 registers==64 registers=64 registers!=63 registers<65 registers>63 occupancy>=12"
MET += " occupancy>=75% loads>=16 stores<=8 local<2048 matrix>1 matrix-unit no-spills compiles barriers=1 scratch=0"
UNMET = "registers<64 registers>64 registers!=64 occupancy>12 occupancy>=76% loads>16 stores>=16 no-matrix-unit"


@pytest.mark.parametrize("text", MET.split())
def test_met(text):
    assert parse([text])[0].failure(figures(), is_gpu=True) is None


@pytest.mark.parametrize("text", UNMET.split())
def test_unmet(text):
    said = parse([text])[0].failure(figures(), is_gpu=True)
    assert said.startswith(f"{text}: ")
    assert "limited by registers" in said or "occupancy" not in text


def test_several_in_one_text_with_blanks_and_other_spellings():
    found = parse(["registers <= 64, no_spills", "Loads>=16", "no-spills"])
    assert [one.text for one in found] == ["registers<=64", "no-spills", "loads>=16"]


def test_spills_of_gpus_alone_are_meant():
    spilled = figures(spilled=3, scratch_bytes=12)
    (one,) = parse(["no-spills"])
    assert one.failure(spilled, is_gpu=True) == "no-spills: 3 registers spilled, 12 bytes of scratch memory"
    assert one.failure(spilled, is_gpu=False) is None


def test_numbers_that_nobody_tells_fail_on_gpus_where_they_exist():
    unknown = figures(registers=None, occupancy=None, slots=None, mix=None)
    for text in ("registers<=64", "occupancy>=1", "loads>=16", "matrix-unit"):
        assert "not known" in parse([text])[0].failure(unknown, is_gpu=True)
    for text in ("registers<=64", "occupancy>=1", "scalar-registers<=3"):
        assert parse([text])[0].failure(unknown, is_gpu=False) is None
    assert parse(["scalar-registers<=3"])[0].failure(figures(), is_gpu=True) is None  # there are none


@pytest.mark.parametrize(
    "text, hint",
    [
        ("registrs<=64", "did you mean `registers`"),
        ("no-spils", "did you mean `no-spills`"),
        ("registers", "registers<=64"),
        ("occupancy", "occupancy>=4"),
        ("registers<=many", "no whole number"),
        ("registers<=1.5", "no whole number"),
        ("registers<=50%", "only occupancy"),
        ("matrix-unit>=1", "stands alone"),
        ("registers<=" + "9" * 4000, "no whole number"),
        ("", "a word"),
        ("<=3", "a word"),
        ("registers <= 64 x", "a word"),
    ],
)
def test_what_is_no_condition(text, hint):
    with pytest.raises(SettingsError, match="is no condition") as caught:
        parse([text])
    assert hint in caught.value.hint


def test_names_do_not_clash():
    assert not set(WORDS) & set(QUANTITIES)
