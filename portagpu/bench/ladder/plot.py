"""A plot of the ladder: each step's share of the vendor library. Needs Matplotlib (`pip install 'portagpu[plot]'`)."""

from __future__ import annotations

import importlib.util
import io
import textwrap
from pathlib import Path

from portagpu.bench.ladder.results import LadderResult
from portagpu.errors import SettingsError
from portagpu.files import write_atomically

FORMATS = ("png", "svg")
_LABEL_BOX = {"facecolor": "white", "edgecolor": "none", "pad": 1}


def check_plot(path: Path) -> None:
    """Before the work starts: raises `SettingsError` without Matplotlib, or for a file of another format."""
    if path.suffix.lower().lstrip(".") not in FORMATS:
        raise SettingsError(f"{path} is no kind of plot", hint="name a file that ends in .png or .svg")
    if importlib.util.find_spec("matplotlib") is None:
        raise SettingsError("plots need Matplotlib", hint="pip install 'portagpu[plot]'")


def plot(result: LadderResult, path: Path, *, logarithmic: bool = False) -> None:
    """Draw horizontal bars, the first step on top, and write the file atomically. Raises `SettingsError`.

    ``logarithmic``: an axis on which equal lengths are equal factors, so that slow steps can be told apart.
    """
    check_plot(path)
    from matplotlib.figure import Figure  # slow to import, and optional

    steps = result.steps
    figure = Figure(figsize=(9, 1.6 + 0.42 * len(steps)), layout="constrained")
    axes = figure.add_subplot()
    shares = [100 * (result.share(step) or 0.0) for step in steps]
    places = range(len(steps))
    axes.barh(places, shares, color="#4477aa")
    left, right = 0.0, 1.3 * max(100.0, *shares)
    if logarithmic:
        left, right = 0.5 * min((share for share in shares if share > 0), default=1.0), 10 * max(100.0, *shares)
        axes.set_xscale("log")
    for place, step, share in zip(places, steps, shares, strict=True):
        text = textwrap.shorten(step.problem or "", 70) if step.gflops is None else _label(share, step.gflops)
        beside = 1.05 * max(share, left) if logarithmic else share + 0.01 * right
        axes.text(beside, place, text, va="center", fontsize=9, bbox=_LABEL_BOX)
    axes.axvline(100, color="#cc3311", linestyle="--", linewidth=1)
    axes.set_yticks(places, [step.name for step in steps])
    axes.invert_yaxis()
    axes.set_xlim(left, right)
    axes.set_xlabel(f"% of {result.peer} ({result.peer_gflops:.4g} GFLOP/s)")
    axes.set_title(f"{result.dtype}, {result.size} x {result.size}, {result.device} ({result.driver})", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    picture = io.BytesIO()
    figure.savefig(picture, format=path.suffix.lower().lstrip("."), dpi=150)
    write_atomically(path, picture.getvalue())


def _label(share: float, gflops: float) -> str:
    return f"{share:.3g}%  ({gflops:.4g} GFLOP/s)"


__all__ = ["FORMATS", "check_plot", "plot"]
