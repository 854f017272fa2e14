"""Writes the documents and stubs that are made from the package: ``python -m tools.documents``, in the root."""

from __future__ import annotations

from pathlib import Path

from portagpu.bench.records import schema
from tools import (
    api_pages,
    cli_page,
    environment_page,
    gallery_page,
    not_portable,
    passes_page,
    rooms,
    routines_table,
    stubs,
    variants_table,
)
from tools.reference import pages

DOCS = Path(__file__).parents[1] / "docs"
MADE = {
    "reference.md": pages.host_text,
    "reference-kernels.md": pages.kernels_text,
    "reference-python.md": pages.python_text,
    "reference-libdevice.md": pages.libdevice_text,
    "reference-hardware.md": pages.hardware_text,
    "api-matmul.md": api_pages.matmul_text,
    "api-solvers.md": api_pages.solvers_text,
    "api-tuning.md": api_pages.tuning_text,
    "api-errors.md": api_pages.errors_text,
    "cli.md": cli_page.text,
    "environment.md": environment_page.text,
    "gallery.md": gallery_page.text,
    "not-portable.md": not_portable.text,
    "passes.md": passes_page.text,
    "architecture.md": rooms.text,
    "gemm.md": variants_table.text,
    "blas.md": routines_table.text,
    f"schema/{schema.PATH.name}": schema.text,
}


def main() -> None:
    """Write the files."""
    for name, text in MADE.items():
        (DOCS / name).write_text(text(), encoding="utf-8")
    for name, text in stubs.MADE.items():
        (stubs.PACKAGE / name).write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
