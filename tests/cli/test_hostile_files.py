"""Files and names of others: what they hold is refused or escaped, whatever it is."""

from __future__ import annotations

import json
import unicodedata

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from portagpu.cli import cli
from portagpu.errors import StoreError
from portagpu.escaping import for_markdown, visible

EVIL = "\x1b[31mRED\x1b]0;t\x07<script>a</script>|x|\n# h [l](javascript:a) \u202e\x9b31m [red]r[/red] `c`"


def cell(**changed):
    values = {
        "device": "d",
        "driver": "v",
        "dtype": "float32",
        "m": 2,
        "n": 2,
        "k": 2,
        "memory": "device arrays",
        "peer": "p",
    }
    values |= {"memory": "device arrays", "gflops": 2.0, "peer_gflops": 1.0, "error": 0.5, "problem": None}
    return {**values, **changed}


@given(st.text())
def test_escaped_texts_are_one_harmless_line(text):
    for made in (visible(text), for_markdown(text)):
        assert not any(unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for c in made)


DAMAGED = {
    "deep": "[" * 100_000,
    "deep object": '{"schema": 2, "machine": {}, "cells": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "digits": '{"schema": ' + "9" * 100_000 + ', "machine": {}, "cells": []}',
    "binary": bytes(range(256)),
    "encoding": '{"schema": 2}'.encode("utf-16"),
    "not a number": json.dumps({"schema": 2, "machine": {}, "cells": [cell(gflops=float("nan"))]}),
    "overflow": json.dumps({"schema": 2, "machine": {}, "cells": [cell()]}).replace("2.0", "1e999"),
    "schema": '{"schema": true, "machine": {}, "cells": []}',
    "cells": '{"schema": 2, "machine": {}, "cells": 3}',
    "machine": '{"schema": 2, "machine": {"a": 1}, "cells": []}',
}
WRONG = [{"gflops": v} for v in (-1, 10**400, "x", [], {}, True)] + [{"m": v} for v in (0, -1, 1.5, 10**30, None, "2")]
WRONG += [{"device": None}, {"device": "x" * 10**6}, {"problem": 1}, {"dtype": []}]
TIMES = [[[-1.0]], [[0]], [[True]], [["x"]], [[None]], [[10**400]], [[1e9]], [[]], [1.0], {}, "x", 3, None, [[[1.0]]]]
WRONG += [{name: times} for name in ("samples", "peer_samples") for times in TIMES]
DAMAGED |= {
    f"samples {text:.30}": json.dumps({"schema": 3, "machine": {}, "cells": [cell(samples="?")]}).replace('"?"', text)
    for text in ("[[NaN]]", "[[Infinity]]", "[[1e999]]", "[" * 5000 + "]" * 5000, f"[[{'1, ' * 1_000_000}1]]")
}
DAMAGED |= {f"{w!s:.40}": json.dumps({"schema": 2, "machine": {}, "cells": [cell(**w)]}) for w in WRONG}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_damaged_files_end_in_one_line(content, tmp_path):
    file = tmp_path / "r.json"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    for command in (["matrix"], ["bench", "ladder", "--compare"]):
        found = CliRunner().invoke(cli, [*command, str(file)])
        assert isinstance(found.exception, StoreError) and not found.output
        message = found.exception.message
        assert visible(message) == message and len(message) < 1000
