"""The Python code blocks of the guide and of README, as a reader types them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from ..spec import ROOT

# Declarations that the pages leave to the reader.
DECLARED = """
from __future__ import annotations
from exact_change import Client
secret_key: str
api_key: str
headers: dict[str, str]
body: bytes
transaction: str
"""


def test_type_checks_each_code_block_of_the_pages(tmp_path: Path) -> None:
    pages = [ROOT / "docs" / "python.md", ROOT / "python" / "README.md"]
    texts = [page.read_text("utf-8") for page in pages]
    pattern = re.compile(r"^```py\n(.*?)^```$", re.M | re.S)
    blocks = [block for text in texts for block in pattern.findall(text)]
    assert len(blocks) >= 6
    files = [str(tmp_path / f"block_{index}.py") for index in range(len(blocks))]
    for file, block in zip(files, blocks):
        Path(file).write_text(DECLARED + block, "utf-8")
    # Run mypy as the gates do, because their cache then holds the package already.
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", *files],
        cwd=ROOT / "python",
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Success" in checked.stdout, checked.stdout
