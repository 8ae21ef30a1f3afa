"""Limits the trusted certificates of all tests to one, because no test server uses TLS.

Otherwise each client reads about 150 certificates twice: half of the time of most tests. Calls of
httpx without a timeout of their own get a minute instead of 5 s, for busy machines.
"""

from pathlib import Path

import certifi
import httpx

certifi.where = lambda: str(Path(__file__).with_name("one.pem"))
vars(httpx.get.__kwdefaults__["timeout"]).update(
    dict.fromkeys(("connect", "read", "write", "pool"), 60.0)
)
