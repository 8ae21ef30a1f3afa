"""The code in the guide and in README, as its reader would type it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from ..spec import ROOT

# What the pages leave to their reader.
AROUND = """
from __future__ import annotations
from exact_change import Client
secret_key: str
api_key: str
headers: dict[str, str]
body: bytes
transaction: str
"""


def test_each_block_holds_types_and_names_that_there_are(tmp_path: Path) -> None:
    pages = [ROOT / "docs" / "python.md", ROOT / "python" / "README.md"]
    texts = [page.read_text("utf-8") for page in pages]
    blocks = [one for text in texts for one in re.findall(r"^```py\n(.*?)^```$", text, re.M | re.S)]
    assert len(blocks) >= 6
    files = [str(tmp_path / f"block_{index}.py") for index in range(len(blocks))]
    for file, block in zip(files, blocks):
        Path(file).write_text(AROUND + block, "utf-8")
    # As the gates run it: what they have read of the package is in their cache.
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", *files],
        cwd=ROOT / "python",
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Success" in checked.stdout, checked.stdout
