"""The languages that kernels are exported in: each has a writer, from an `Export` to files' texts by their names."""

from __future__ import annotations

import enum
import errno
import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.errors import StoreError
from portagpu.exporting.export import Wishes, export
from portagpu.files import write_atomically


class Language(enum.Enum):
    """A language; the value is the module of its writer, which has `BACKEND`, `PORTABLE` and `texts`."""

    OPENCL = "portagpu.exporting.opencl"
    SYCL = "portagpu.exporting.sycl"


def write_export(
    language: Language,
    folder: Path,
    kernel: Dispatcher[Any],
    *,
    signature: str | None = None,
    constants: Mapping[str, Any] | None = None,
    wishes: Wishes | None = None,
) -> list[Path]:
    """Write a kernel's files into a folder, which is made if it is not there; each file is replaced atomically.

    Raises what `portagpu.exporting.export.export` does, and `StoreError` where files cannot be written.
    """
    writer = importlib.import_module(language.value)
    made = export(
        kernel,
        backend=writer.BACKEND,
        caps=writer.PORTABLE,
        signature=signature,
        constants=constants,
        wishes=wishes or Wishes(),
    )
    texts: dict[str, str] = writer.texts(made)
    paths = []
    for name, text in texts.items():
        path = folder / name
        try:
            write_atomically(path, text.encode())
        except OSError as error:
            hint = "give the kernel a shorter name" if error.errno == errno.ENAMETOOLONG else "name another folder"
            raise StoreError(f"{path} cannot be written: {error.strerror}", hint=hint) from error
        paths.append(path)
    return paths
