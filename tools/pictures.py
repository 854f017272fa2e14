"""Draws the gallery's pictures from what the examples compute: ``python -m tools.pictures`` (needs Matplotlib)."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs/pictures"


def example(name: str) -> Any:
    """The module of an example."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"examples/{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _mandelbrot(axes: Axes) -> None:
    image, _ = example("mandelbrot").main(shape=(320, 480), max_iterations=80)
    axes.imshow(np.log1p(image), cmap="magma", extent=(-2, 1, -1, 1))
    axes.set(xlabel="real part", ylabel="imaginary part")


def _stencil(axes: Axes) -> None:
    plate, _ = example("stencil_2d").main(rows=80, columns=120, iterations=1500)
    shown = axes.imshow(plate, cmap="inferno")
    axes.figure.colorbar(shown, ax=axes, label="temperature", shrink=0.8)


def _fdtd(axes: Axes) -> None:
    field, _ = example("fdtd").main(size=97, steps=150, modes=(3, 5))
    limit = float(np.abs(field).max())
    shown = axes.imshow(field, cmap="RdBu", vmin=-limit, vmax=limit)
    axes.figure.colorbar(shown, ax=axes, label="electric field", shrink=0.8)


def _lattice_boltzmann(axes: Axes) -> None:
    profile, parabola = example("lattice_boltzmann").main()
    heights = np.arange(parabola.size) + 0.5
    axes.plot(parabola, heights, color="0.6", label="parabola")
    axes.plot(profile[:, 0], heights, "o", color="C0", label="computed")
    axes.set(xlabel="speed, cells a step", ylabel="height, cells")
    axes.legend()


def _matrix_profile(axes: Axes) -> None:
    result, _ = example("matrix_profile").main()
    axes.plot(result, color="C0", linewidth=0.9)
    axes.set(xlabel="window", ylabel="correlation with the most similar one")


DRAWN: dict[str, Callable[[Axes], None]] = {
    "mandelbrot": _mandelbrot,
    "stencil_2d": _stencil,
    "fdtd": _fdtd,
    "lattice_boltzmann": _lattice_boltzmann,
    "matrix_profile": _matrix_profile,
}


def main() -> None:
    """Draw all of them."""
    FOLDER.mkdir(exist_ok=True)
    for name, draw in DRAWN.items():
        figure = Figure(figsize=(6, 3.6), layout="constrained")
        draw(figure.add_subplot())
        figure.savefig(FOLDER / f"{name}.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
