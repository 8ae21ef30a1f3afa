"""Limits the trusted certificates of all tests to one, because no test server uses TLS.

Otherwise each client reads about 150 certificates twice: half of the time of most tests.
"""

from pathlib import Path

import certifi

certifi.where = lambda: str(Path(__file__).with_name("one.pem"))
