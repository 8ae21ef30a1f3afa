"""Tests of this folder read every vector, so TypeScript reads none alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ..spec import VECTORS, vectors

TESTS = "".join(path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py"))
NAMES = sorted(path.stem for path in VECTORS.glob("*.jsonl"))


@pytest.mark.parametrize("name", NAMES)
def test_reads_every_kind_of_row_of_a_file(name: str) -> None:
    if re.search(rf'\bvectors\(\s*"{name}"', TESTS) is not None:
        return
    for kind in {row["of"] for row in vectors(name)}:
        assert re.search(rf'\bof\(\s*"{name}",\s*"{kind}"', TESTS) is not None, kind


def test_has_thousands_of_rows() -> None:
    assert sum(len(vectors(name)) for name in NAMES) > 5_000
