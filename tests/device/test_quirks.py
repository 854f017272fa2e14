"""The table of quirks."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from portagpu.backends.opencl.quirks import QUIRKS, REMEDIES, Hints, hints_for, remedy_for


def test_every_row_sets_a_hint_and_says_why() -> None:
    names = {field.name for field in fields(Hints)}
    for quirk in QUIRKS:
        assert quirk.field in names and quirk.reason and quirk.match == quirk.match.lower()
    for remedy in REMEDIES:
        assert remedy.symptom == remedy.symptom.lower() and remedy.advice


def test_hints_of_known_platforms() -> None:
    assert hints_for("Intel(R) OpenCL", "Intel(R) Corporation") == Hints(
        compares_ids=False,
        diverging_nests=False,
        cuts_subscripts=False,
        keeps_negations=False,
        blends_values=False,
        skips_loads=False,
        sums_differences=False,
        chooses_arrays=False,
        crashing_compiler=True,
    )
    assert hints_for("Intel(R) OpenCL Graphics", "Intel(R) Corporation") == Hints(thread_registers=128, unit_lanes=8)
    assert hints_for("Portable Computing Language", "GenuineIntel") == Hints(
        single_barriers=False,
        conditional_barriers=False,
        takes_all_cases=False,
        takes_known_floats=False,
        sees_divergence=False,
        declares_all=True,
        compiles_for_binaries=True,
        max_blocks=2**32 - 1,
    )
    cuda = hints_for("NVIDIA CUDA", "NVIDIA Corporation")
    assert cuda.max_blocks_of_axis == 2**31 - 1 and not cuda.copies_lists
    assert cuda.may_take_ptx and cuda.hidden_local_memory == 228 * 1024 and cuda.warp_size_query == "warp_size_nv"
    amd = hints_for("AMD Accelerated Parallel Processing", "Advanced Micro Devices, Inc.")
    assert amd.warp_size_query and amd.named_group_size_query
    simulator = hints_for("Oclgrind", "Oclgrind")
    assert simulator.line_directives and simulator.simulated


@pytest.mark.parametrize(
    ("problem", "part"),
    [
        ("it cannot build a kernel: error: unknown target CPU 'generic'", "newer PoCL"),
        ("it cannot run a kernel: OUT_OF_RESOURCES", "another program"),
        ("something unheard of", "portagpu doctor"),
    ],
)
def test_remedies(problem: str, part: str) -> None:
    assert part in remedy_for(problem)


def test_the_page_of_quirks_has_every_field() -> None:
    page = (Path(__file__).parents[2] / "docs/driver-quirks.md").read_text(encoding="utf-8")
    assert not {field.name for field in fields(Hints) if f"`{field.name}`" not in page}
