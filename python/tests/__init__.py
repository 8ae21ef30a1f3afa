"""Tests trust one certificate: no server that they meet has one.

Each client would read the 150 of the web twice, which is half of the work of most tests.
"""

from pathlib import Path

import certifi

certifi.where = lambda: str(Path(__file__).with_name("one.pem"))
