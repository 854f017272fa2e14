"""What tuning brings: searches in a folder of their own, and the products measured as users compute them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from portagpu.bench import tuned
from portagpu.bench.tuned import Gain, gains
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.selection import registry
from portagpu.blas.gemm.selection.choice import explain
from portagpu.blas.gemm.selection.registry import default_config
from portagpu.blas.gemm.tuning.tuner import task_key
from portagpu.cli import cli
from portagpu.device.families import device_class
from portagpu.errors import StoreError, TuningError
from portagpu.settings import Settings
from portagpu.tuning import Store, choice

pytestmark = pytest.mark.one_device(fast=True)

SMALL = Problem(m=48, n=40, k=56, dtype="float32")


@pytest.mark.thorough
@pytest.mark.usefixtures("short_turns")
def test_a_search_and_three_states(device, tmp_path, monkeypatch):
    kept = tmp_path / "kept.jsonl"
    settings = Settings.from_environment()
    told = []
    (gain,) = gains(device, (SMALL,), settings, short=2, long=12, keep=kept, progress=told.append)
    assert min(gain.untuned, gain.short, gain.long) > 0 and gain.error <= 1
    assert gain.trials[0] <= gain.trials[1] and gain.trials[1] >= 1
    assert gain.rule == "model"
    store = Store(kept)
    (task,) = store.winners()
    assert len(store.trials(task)) >= gain.trials[1] and task.device == device.key
    assert (
        not Path(settings.data_dir, "tuning", "gemm.jsonl").exists()
        or task not in Store(Path(settings.data_dir, "tuning", "gemm.jsonl")).tasks()
    )
    assert any("measuring" in text for text in told)


@pytest.mark.thorough
@pytest.mark.usefixtures("short_turns")
def test_the_models_choice_beside_shipped_results(device, tmp_path, monkeypatch):
    best = default_config(SMALL, device.capabilities)
    other = next(c for c in registry.candidates(SMALL, device.capabilities) if c != best)
    shipped = Store(tmp_path / "shipped.jsonl")
    shipped.add_winner(task_key(SMALL, device_class(device)), registry.to_json(other), 1e-6)
    monkeypatch.setattr(choice, "shipped_stores", lambda: (shipped,))
    choices = []
    chosen = tuned.own_call

    def own_call(context, *rest):
        choices.append(explain(SMALL, context).point)
        return chosen(context, *rest)

    monkeypatch.setattr(tuned, "own_call", own_call)
    settings = replace(Settings.from_environment(), shipped=True)
    (gain,) = gains(device, (SMALL,), settings, short=1, long=1.5)
    assert gain.rule == "shipped result" and gain.model > 0
    assert (choices[0], choices[-1]) == (registry.to_json(other), registry.to_json(best))


@pytest.mark.parametrize("text", ["# Notes", '{"v": 0}\n'])
def test_a_file_of_something_else_gets_no_results(device, tmp_path, text):
    """And is told before a search."""
    notes = tmp_path / "notes.md"
    notes.write_text(text)
    with pytest.raises(StoreError, match="is no file of tuning results"):
        next(gains(device, (SMALL,), Settings.from_environment(), keep=notes))
    result = CliRunner().invoke(cli, ["bench", "tuned", "--device", str(device.index), "--keep", str(notes)])
    assert isinstance(result.exception, StoreError) and not result.output and notes.read_text() == text
    result = CliRunner().invoke(cli, ["bench", "tuned", "--device", str(device.index), "--keep", "/proc/kept.jsonl"])
    assert isinstance(result.exception, StoreError) and "name another file: --keep" in str(result.exception)


def test_complex_products_are_not_tuned(device):
    with pytest.raises(TuningError, match="made of real ones"):
        next(gains(device, (Problem(m=8, n=8, k=8, dtype="complex64"),), Settings.from_environment()))


def test_the_table_names_the_worst():
    one = Gain(problem=SMALL, untuned=90.0, short=99.0, long=100.0, rule="model", trials=(20, 80))
    two = Gain(problem=SMALL, untuned=99.0, short=80.0, long=100.0, rule="shipped result", model=50.0)
    assert tuned.row(one) == "| float32 | 48 x 40 x 56 | 90 | 99 | 100 | 0.90 | 0.99 | 20, 80 | model |"
    assert tuned.row(two).endswith("| shipped result; the model's choice: 0.50 |")
    assert {line.count("|") for line in (*tuned.heading(60, 300).splitlines(), tuned.row(one))} == {10}
    assert tuned.summary([one, two]) == [
        "untuned: at worst 90% of a long search (float32 48 x 40 x 56); wanted: 85%",
        "a short search: at worst 80% of a long search (float32 48 x 40 x 56); wanted: 96%",
    ]


def test_the_command_refuses_a_long_short_search():
    result = CliRunner().invoke(cli, ["bench", "tuned", "--short", "2m", "--long", "60s"])
    assert result.exit_code == 2 and "beginning of the long one" in result.output
